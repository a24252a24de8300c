#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/build_id.h"
#include "model/id.h"
#include "model/quality.h"
#include "model/string_table.h"
#include "model/table.h"

namespace tephra::model {

// What kind of code a mapping holds, which decides who can name its addresses.
enum class CodeKind : uint8_t {
  kNone,            // row 0: no mapping is known, the address is a user address or of unknown kind
  kFile,            // a file of user space; addresses are file offsets
  kVdso,            // the code the kernel maps into every process; addresses are offsets into its image
  kAnonymous,       // user memory without a file; addresses are absolute
  kJit,             // one generated function that a process named; path is that name; addresses are absolute
  kKernel,          // the kernel image; addresses are absolute
  kKernelModule,    // addresses are absolute
  kKernelCode,      // one piece of generated kernel code that brought its own name (BPF, ftrace); path is that name
  kKernelUnmapped,  // a kernel address outside every known mapping
  kImported,        // names only, from a format without addresses
};

constexpr bool is_kernel(CodeKind kind) {
  return kind == CodeKind::kKernel || kind == CodeKind::kKernelModule || kind == CodeKind::kKernelCode ||
         kind == CodeKind::kKernelUnmapped;
}

// Tells files apart when there is no build id. Zero where unknown.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t generation = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

// A code object: what was mapped, not where. Processes that map the same file share the row. Identity is the build id,
// else the file identity, together with the path and kind; never the path alone.
struct Mapping {
  StringId path;
  BuildId build_id;
  FileIdentity file;
  CodeKind kind = CodeKind::kNone;
  // kKernel: where the symbol _text was when the recording was made, to detect another boot. kAnonymous,
  // kJit and kKernelCode: where the mapping began. kFile: the address of the file's first byte, as far as the profile
  // is of one process and says so. Else 0.
  uint64_t base = 0;
  uint64_t size = 0;  // kFile: how far it is mapped, from its first byte on, where the profile says so
  // kAnonymous and kJit: the process whose memory it is, since the same address is other code elsewhere. Else 0.
  int32_t pid = 0;
  bool unproven = false;  // kJit: the name is from a file that may be of another process
  auto operator<=>(const Mapping&) const = default;
};

struct Function {
  StringId name;            // as shown: demangled, without parameters unless full names were asked for
  StringId system_name;     // as in the symbol table; empty when nothing was found
  bool named = false;       // false: `name` is a stand-in such as "[unknown] libfoo.so+0x1200"
  uint32_t start_line = 0;  // where the function begins in its source file, 0 when unknown
  auto operator<=>(const Function&) const = default;
};

// Whether an address is where execution was, or where a call will return to. Only symbols/ subtracts one from the
// latter before it looks the address up.
enum class AddressKind : uint8_t { kInstruction, kReturn };

// Facts about the code at a frame's address, found by symbols/ in call-frame information. Bits of Frame::facts.
enum FrameFact : uint8_t {
  kOutermost = 1,      // no caller: the return address is undefined here, or it is a known entry of a program or thread
  kFrameNotSetUp = 2,  // the frame pointer does not hold this function's frame at this instruction
  kNotDescribed = 4,   // no call-frame information that is at hand describes the code
};

struct Frame {
  MappingId mapping;
  AddressKind kind = AddressKind::kInstruction;
  bool inlined = false;  // the function was inlined into the next outer frame, which has the same address
  uint8_t facts = 0;
  uint64_t address = 0;  // relative as the mapping's kind says
  FunctionId function;   // FunctionId{}: not looked up yet
  StringId file;         // source file and line of the address, 0 when unknown
  uint32_t line = 0;
  // How far `address` (itself, also when it is a return address) is into the symbol of the symbol table that holds it;
  // inlined frames repeat that of the frame they are inlined into. 0 when the symbol's start is unknown.
  uint32_t symbol_offset = 0;
  auto operator<=>(const Frame&) const = default;
};

// One row of the prefix tree of stacks: a frame and the stack of its callers. Parents come before children.
struct Stack {
  StackId parent;
  FrameId frame;
};

struct Event {
  StringId name;  // "cpu-clock", "sched:sched_switch"
  StringId unit;  // of a sample's value: "ns", "bytes", "count"
  // What Samples::count counts ("alloc_objects"); empty: samples.
  StringId counted;
  bool uncounted = false;  // the profile does not say how many samples a row stands for: its count is 1
  auto operator<=>(const Event&) const = default;
};

// What else a profile says about a sample: a text, or a number with its unit.
struct Label {
  StringId key;
  StringId text;
  int64_t number = 0;
  StringId unit;
  auto operator<=>(const Label&) const = default;
};

// The labels of a sample, sorted.
struct LabelSet {
  std::vector<Label> labels;
  bool operator==(const LabelSet&) const = default;
};

// A thread under one name: a thread that renames itself, or whose id is used again, has several rows.
struct Thread {
  int32_t pid = -1;
  int32_t tid = -1;
  StringId comm;
  bool kernel_thread = false;
  auto operator<=>(const Thread&) const = default;
};

// Samples as columns of equal length. A row stands for `count` samples that agree in every kept column; `value` is the
// sum of their weights (periods). `time` and `cpu` are empty unless the reader was asked to keep them.
struct Samples {
  std::vector<StackId> stack;
  std::vector<EventId> event;
  std::vector<ThreadId> thread;
  std::vector<uint64_t> count;
  std::vector<uint64_t> value;
  std::vector<uint64_t> time;
  std::vector<int32_t> cpu;
  std::vector<LabelSetId> labels;  // empty: no sample has any
  // How a walk by call-frame rules ended: enum tephra_walk_end, and TEPHRA_WALK_GUESSED beside it. Empty: none was
  // walked.
  std::vector<uint8_t> walk_end;

  size_t size() const { return stack.size(); }
};

// How stacks were taken, as RecordingFacts::engine says it.
inline constexpr std::string_view kEngineFramePointers = "frame pointers";
inline constexpr std::string_view kEngineStackCopies = "stack copies";
inline constexpr std::string_view kEngineInKernel = "call-frame tables in the kernel";
inline constexpr std::string_view kEngineBranches = "branch records";
inline constexpr std::string_view kEngineImported = "imported";  // by another tool, which does not say how

struct EmbeddedNames;

// How often an event was sampled, as profiles without single samples tell it. Zero where unknown.
struct SamplingPeriod {
  std::string event;
  std::string unit;
  int64_t value = 0;
  bool operator==(const SamplingPeriod&) const = default;
};

// Copies of the user stack of one size: how many samples carry one, and of how many the stack was found to go on beyond
// it.
struct CopySize {
  uint32_t bytes = 0;
  uint64_t samples = 0;
  uint64_t cut = 0;
  bool operator==(const CopySize&) const = default;
};

// How well what is told of threads, running and waiting together, comes to the time that they were there.
struct TimeAccount {
  uint64_t threads = 0;   // of which that can be told
  uint64_t not_told = 0;  // of which it cannot: when they began is not recorded
  uint64_t off = 0;       // of `threads`: by more than one hundredth
  double worst = 0;       // the largest difference, as a share of a life; lives too short to tell are left out
  int32_t worst_tid = 0;
  uint64_t worst_told_ns = 0;
  uint64_t worst_life_ns = 0;
  bool operator==(const TimeAccount&) const = default;
};

// Facts about the recording as a whole. Empty or zero where unknown.
struct RecordingFacts {
  std::string format;  // "perf.data", "folded"
  std::string engine;  // how stacks were taken: one of kEngine…, or "none"
  std::string clock;   // the clock of Samples::time
  std::string host;
  std::string os_release;
  std::string arch;
  std::string command_line;
  uint64_t first_time = 0;  // of the samples that were read
  uint64_t last_time = 0;
  int64_t started_unix_ns = 0;
  int64_t duration_ns = 0;
  SamplingPeriod period;
  std::string default_event;  // which event to show first; empty: the first
  // Regular expressions of functions whose callees are not worth showing, and of those that are nevertheless (pprof).
  std::string drop_frames;
  std::string keep_frames;
  std::vector<std::string> comments;
  // What the recorder told of itself and the machine, nothing where it did not.
  std::optional<double> recorder_cpu_seconds;
  std::optional<double> steal_share;        // of the CPU time in which the hypervisor ran something else, 0 to 1
  std::optional<TimeAccount> time_account;  // where all time of threads was recorded
  std::vector<CopySize> copy_sizes;         // where the recorder chose how much of a stack to copy: in the order of use
  // Names that the recorder found, for symbols/ to use; null where it stored none, and once they are in the profile.
  std::shared_ptr<const EmbeddedNames> names;
};

// A profile: plain tables, immutable once built (see ProfileAssembler). Row 0 is "none" in strings (the empty text),
// mappings (kNone), functions (not looked up), frames (unused), stacks (the empty stack) and label sets (no label);
// events and threads have no such row.
struct Profile {
  StringTable strings;
  Table<Mapping, MappingId> mappings;
  Table<Function, FunctionId> functions;
  Table<Frame, FrameId> frames;
  Table<Stack, StackId> stacks;
  Table<Event, EventId> events;
  Table<Thread, ThreadId> threads;
  Table<LabelSet, LabelSetId> label_sets;
  Samples samples;
  Quality quality;
  RecordingFacts facts;

  std::string_view text(StringId id) const { return strings[id]; }
  std::string_view function_name(FrameId frame) const { return strings[functions[frames[frame].function].name]; }
  CodeKind code_kind(FrameId frame) const { return mappings[frames[frame].mapping].kind; }
  bool in_kernel(FrameId frame) const { return is_kernel(code_kind(frame)); }
};

// Sums over all samples; every view must come to the same.
struct Totals {
  uint64_t count = 0;
  uint64_t value = 0;
  bool operator==(const Totals&) const = default;
};
Totals totals(const Profile& profile);
// Whether the sums over all samples fit into 64 bits, as everything that adds up relies on.
bool sums_fit(const Profile& profile);
Totals totals(const Profile& profile, EventId event);

}  // namespace tephra::model
