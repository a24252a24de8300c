#pragma once

// For programs that watch tasks: what their skeletons have in common. Only where there is BPF.

#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "abi/watching.h"
#include "base/result.h"
#include "kernel/watching.h"

namespace tephra::kernel {

// Settings as they can be had.
WatchSettings usable(WatchSettings settings);

// Before loading.
void set_watching(const WatchSettings& settings, tephra_watch_settings& constants);
// Sizes of maps, and the maps of walks, which are shared. 0, or an error of libbpf.
int set_watching_maps(bpf_object* object, const WatchSettings& settings);

struct DestroyLink {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using BpfLink = std::unique_ptr<bpf_link, DestroyLink>;

// After loading. `what` begins errors: "cannot time waits inside the kernel".
class WatchingObject {
 public:
  WatchingObject(bpf_object* object, const char* what) : object_(object), what_(what) {}

  // Whose eyes process ids are seen with, and who is listed.
  base::Status list(const Whom& whom) const;
  // A program that was not loaded is left out.
  base::Status attach(const bpf_program* program);
  void detach() { links_.clear(); }
  // Runs the program for every task; the records that it writes are handed over.
  base::Status iterate(const bpf_program* program, const std::function<void(base::Bytes)>& hear) const;
  // Comes back when no program that had begun before runs any more.
  base::Status wait_for_programs() const;

  // How often programs were not run, because they ran on that CPU already.
  uint64_t missed() const;

  // A map by name; it is there.
  int map(const char* name) const;

  // Hands over and removes all of a map that nothing is added to meanwhile.
  template <typename Key, typename Sum, typename Hear>
  base::Status take_all(int map, const Hear& hear) const {
    std::vector<Key> keys(1024);
    std::vector<Sum> sums(keys.size());
    Place place{};
    bool first = true;
    for (;;) {
      auto count = static_cast<uint32_t>(keys.size());
      const int error = take_batch(map, first, place, keys.data(), sums.data(), count);
      if (error == ENOSPC) {  // more in one bucket than there is room for
        keys.resize(keys.size() * 2);
        sums.resize(keys.size());
        continue;
      }
      if (error != 0 && error != ENOENT) return base::system_error(what_, "sums", error);
      for (uint32_t at = 0; at < count; ++at) hear(keys[at], sums[at]);
      if (error == ENOENT) return {};
      first = false;
    }
  }

 private:
  using Place = std::array<std::byte, 256>;
  // The errno, ENOENT with the last of them. `count`: how many there is room for, then how many there were.
  static int take_batch(int map, bool first, Place& place, void* keys, void* sums, uint32_t& count);

  bpf_object* object_;
  const char* what_;
  std::vector<BpfLink> links_;
};

}  // namespace tephra::kernel
