#pragma once

#include <string>

#include "base/file.h"
#include "base/result.h"

namespace tephra::formats {

// The bytes of a profile as its format has them: unpacked where the file is compressed.
class InputFile {
 public:
  // `path` may be "-" for standard input, or a folder that `perf record --threads` wrote.
  static base::Result<InputFile> open(const std::string& path);

  base::Bytes bytes() const { return content_.bytes(); }
  // As those of base::FileContent.
  void forget(base::Bytes part) const { content_.forget(part); }
  void fetch(base::Bytes part) const { content_.fetch(part); }

 private:
  explicit InputFile(base::FileContent content) : content_(std::move(content)) {}
  base::FileContent content_;
};

}  // namespace tephra::formats
