#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::base {

// Writes a tar archive (POSIX, with pax headers for what the old ones cannot say) that every tar unpacks. Entries
// belong to root and have no times of their own, so the same content is the same archive.
class TarWriter {
 public:
  using Sink = std::function<Status(Bytes)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  // Paths are relative; parents need not be added. A path that leads out of the archive is refused.
  Status file(std::string_view path, Bytes content, bool executable = false);
  // Another name of a file that was added before; takes no room.
  Status link(std::string_view path, std::string_view target);
  Status finish();

  // Whether the path stays inside the folder that an archive is unpacked into.
  static bool is_inside(std::string_view path);

 private:
  struct Entry {
    std::string_view path;
    std::string_view target;
    uint64_t size = 0;
    uint32_t mode = 0644;
    char type = '0';
  };
  Status put(const Entry& entry, Bytes content);
  Status put_header(const Entry& entry);
  Status put_padded(Bytes content);

  Sink sink_;
};

}  // namespace tephra::base
