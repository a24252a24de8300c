#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tephra::stream {

struct Recording;
struct ReadingOptions;

// The event that page faults are shown as: how much memory became resident, in bytes.
inline constexpr std::string_view kResidentMemory = "resident-memory";

// What a fault did. The names are those of the label "class".
enum class FaultClass : uint8_t {
  kHeap,         // the memory that brk gives
  kAnonymous,    // other memory without a file
  kStack,        // of the program or of a thread
  kFile,         // a page of a file
  kShared,       // of tmpfs, or memory that processes share
  kCopyOnWrite,  // a copy of a page that others may still have
  kSwapIn,       // read back from swap
  kZeroPage,     // the one page of zeros, for memory that was only read: nothing became resident
  kPermission,   // the page was there, and may now be used in another way: nothing became resident
  kUnknown,
};
inline constexpr size_t kFaultClasses = 10;

std::string_view name_of(FaultClass fault_class);

// What a fault was, by what its sample tells (TEPHRA_FAULT_* of abi/fault_record.h).
FaultClass classify_fault(uint32_t facts, bool major);

// Whether it made memory resident; the others weigh nothing.
bool adds_memory(FaultClass fault_class);

// An entry of add_readings: shows samples of minor and major faults that tell their page as kResidentMemory, each
// weighing its page, with the labels "class" and "fault" (minor, major). Those whose page's size was not told weigh
// nothing, and have the label "page" = "size unknown".
base::Status add_fault_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
