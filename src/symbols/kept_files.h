#pragma once

#include <map>
#include <optional>
#include <utility>

#include "base/file.h"
#include "model/profile.h"
#include "symbols/regular_file.h"

namespace tephra::symbols {

// Files that ran, held open: they can be read whatever became of their names. By build id, else by device and inode.
// Filled by one thread; may be asked by several once that is done.
class KeptFiles {
 public:
  using Place = std::pair<uint64_t, uint64_t>;  // device and inode

  // `fd` is the file with this build id, as far as one knew when it was opened.
  void add(const model::BuildId& build_id, base::FileDescriptor fd);
  // A file without a build id. Nothing else tells that its content is still what was mapped, so its size and times are
  // kept beside it.
  void add(const model::FileIdentity& identity, base::FileDescriptor fd);

  // The content of the file that ran; nothing when it was not kept, or was written to since. One with a build id is
  // still to be compared with it: what was written over has another.
  std::optional<RegularContent> open(const model::BuildId& build_id, const model::FileIdentity& identity) const;

  bool contains(const model::BuildId& build_id) const { return by_build_id_.contains(build_id); }
  bool contains(const model::FileIdentity& identity) const { return by_place_.contains(place_of(identity)); }
  size_t size() const { return by_build_id_.size() + by_place_.size(); }

 private:
  struct State {
    int64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    bool operator==(const State&) const = default;
  };
  struct Unmarked {
    base::FileDescriptor fd;
    State state;
  };
  static Place place_of(const model::FileIdentity& identity) { return {identity.device, identity.inode}; }
  static std::optional<State> state_of(int fd);

  std::map<model::BuildId, base::FileDescriptor> by_build_id_;
  std::map<Place, Unmarked> by_place_;
};

}  // namespace tephra::symbols
