#include "symbols/kept_files.h"

#include <sys/stat.h>

#include "symbols/regular_file.h"

namespace tephra::symbols {

std::optional<KeptFiles::State> KeptFiles::state_of(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return State{info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

void KeptFiles::add(const model::BuildId& build_id, base::FileDescriptor fd) {
  by_build_id_.try_emplace(build_id, std::move(fd));
}

void KeptFiles::add(const model::FileIdentity& identity, base::FileDescriptor fd) {
  const auto state = state_of(fd.get());
  if (state) by_place_.try_emplace(place_of(identity), Unmarked{std::move(fd), *state});
}

std::optional<RegularContent> KeptFiles::open(const model::BuildId& build_id,
                                              const model::FileIdentity& identity) const {
  int fd = -1;
  if (!build_id.empty()) {
    const auto found = by_build_id_.find(build_id);
    if (found != by_build_id_.end()) fd = found->second.get();
  } else if (const auto found = by_place_.find(place_of(identity)); found != by_place_.end()) {
    if (state_of(found->second.fd.get()) == found->second.state) fd = found->second.fd.get();
  }
  if (fd < 0) return std::nullopt;
  auto content = content_of_regular(fd, "a file that ran");
  if (!content) return std::nullopt;
  return std::move(content).value();
}

}  // namespace tephra::symbols
