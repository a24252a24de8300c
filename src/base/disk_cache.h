#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file.h"
#include "base/result.h"

namespace tephra::base {

// Files that can be made anew at any time, below $XDG_CACHE_HOME/tephra (else ~/.cache/tephra): one folder a kind, one
// file a key. An entry is whole or absent, also when several processes write it or one is killed; what is damaged, of
// another version, of another name, of another user or not a regular file is as if absent. Folders of another user and
// links to folders are not used at all.
class DiskCache {
 public:
  // Of this user; without a home nothing is stored and nothing found. TEPHRA_NO_CACHE in the environment has the same
  // effect.
  static DiskCache of_user();
  // Below `folder`, which need not exist yet. Empty: stores nothing.
  explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}

  // An entry, mapped. Its content begins at a multiple of 64 bytes.
  class Entry {
   public:
    Bytes bytes() const { return content_; }

   private:
    friend class DiskCache;
    explicit Entry(FileContent file) : file_(std::move(file)) {}
    FileContent file_;
    Bytes content_;
  };

  // `kind` is a word, `key` is hex digits (a build id); `version` is that of the content's layout.
  std::optional<Entry> find(std::string_view kind, std::string_view key, uint32_t version) const;
  // Failing to store is no error to anyone but a test. Deletes the oldest entries of the kind when they exceed
  // `kind_limit` bytes together. Entries of other processes are seen when this one looks the next time, which is at the
  // latest when it has stored a sixteenth of the limit. Threads may store at the same time.
  Status store(std::string_view kind, std::string_view key, uint32_t version, Bytes content,
               uint64_t kind_limit = uint64_t{2} << 30) const;

  const std::string& folder() const { return folder_; }

 private:
  // What the folders of the kinds hold. Copies of a cache share it.
  struct Account {
    struct Kind {
      uint64_t found = 0;   // bytes, when they were last listed
      uint64_t stored = 0;  // by us since
    };
    std::mutex mutex;
    std::map<std::string, Kind, std::less<>> kinds;
  };
  // The folder of a kind; nothing where it is missing, of another user or a link.
  FileDescriptor folder_of(std::string_view kind, std::string_view key) const;
  FileDescriptor make_folder_of(const std::string& kind) const;
  void limit(int folder, std::string_view kind, uint64_t stored, uint64_t kind_limit) const;

  std::string folder_;
  std::shared_ptr<Account> account_ = std::make_shared<Account>();
};

}  // namespace tephra::base
