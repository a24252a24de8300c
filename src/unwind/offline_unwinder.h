#pragma once

#include "stream/unwinder.h"
#include "unwind/table_store.h"

namespace tephra::unwind {

// Unwinds the copies of stacks in a recording, by the tables of a store, which must outlive it.
class OfflineUnwinder final : public stream::Unwinder {
 public:
  explicit OfflineUnwinder(TableStore& tables) : tables_(tables) {}

  std::unique_ptr<Walker> walker(const stream::AddressSpaces& spaces, const stream::JitCode& code,
                                 const model::Profile& so_far, std::string_view machine) override;

 private:
  TableStore& tables_;
};

}  // namespace tephra::unwind
