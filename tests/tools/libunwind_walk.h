#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/profile.h"
#include "stream/address_space.h"
#include "stream/unwinder.h"
#include "symbols/file_finder.h"

namespace tephra::tools {

// Walks copies of x86-64 stacks with libunwind, as a second opinion. Files are read through `files`, mappings through
// `spaces`; both must outlive it, and so must `profile`.
class LibunwindWalk {
 public:
  LibunwindWalk(symbols::FileFinder& files, const stream::AddressSpaces& spaces, const model::Profile& profile);
  ~LibunwindWalk();

  // The addresses, leaf first, callers as return addresses.
  std::vector<uint64_t> walk(const stream::RawStack& raw, stream::AddressSpaces::State space, size_t most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tephra::tools
