#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/number_hash.h"
#include "stream/jit_pieces.h"

namespace tephra::stream {

// A source line of generated code.
struct JitLine {
  uint32_t offset = 0;  // from the start of the function
  uint32_t line = 0;
  std::string_view file;
};

// The call-frame information of generated code: .eh_frame, and where it was.
struct JitUnwinding {
  base::Bytes eh_frame;
  uint64_t address = 0;
  uint64_t hash = 0;  // of both: equal ones are equal

  static JitUnwinding of(base::Bytes eh_frame, uint64_t address);
};

// The generated code of all processes over time: which function was at an address at a moment. Built from events in the
// order of time; after seal() immutable, so threads may share it. Names and files are views into what was read.
class JitCode {
 public:
  // What a source knows is asked in this order.
  enum class Source : uint8_t { kJitdump, kPerfMap };

  struct Function {
    std::string_view name;
    uint32_t first_line = 0;
    uint32_t line_count = 0;
    uint32_t description = 0;  // for description_of()
    bool unproven = false;     // told by a file that may be of another process
  };

  // How the callers of a function are found.
  struct Description {
    uint32_t unwinding = 0;  // for unwinding()
    uint64_t address = 0;    // where that has the function, which may have been moved since
  };

  // The process got new memory.
  void exec(int32_t pid, uint64_t moment);
  // The child has what its parent had until then.
  void fork(int32_t child, int32_t parent, uint64_t moment);
  // `lines` are in the order of their offsets. The number of the function, for load().
  uint32_t add_function(std::string_view name, const std::vector<JitLine>& lines, bool unproven);
  // The number of the call-frame information, for describe().
  uint32_t add_unwinding(const JitUnwinding& unwinding);
  void describe(uint32_t function, const Description& description);
  // A function came to be at [start, end) after `earliest` and before `latest`. The calls of one process and source are
  // in the order of `earliest`.
  void load(int32_t pid, Source source, uint64_t start, uint64_t end, uint32_t function, uint64_t earliest,
            uint64_t latest);
  // What began at `start` is there no more.
  void unload(int32_t pid, Source source, uint64_t start, uint64_t moment);
  void seal();

  bool empty() const { return tracks_.size() <= 1; }

  // A state of the code of a process: a number that is the same as long as nothing changes. 0: no code is known.
  using View = uint32_t;
  struct ViewPeriod {
    View value = 0;
    uint64_t from = 0;
    uint64_t until = UINT64_MAX;
    bool covers(uint64_t moment) const { return from <= moment && moment < until; }
  };
  ViewPeriod view(int32_t pid, uint64_t moment) const;

  struct Found {
    const Function* function = nullptr;  // null: nothing is known about the address
    uint64_t base = 0;                   // where the function begins
    bool doubtful = false;               // it was one of several functions; `function` is null
  };
  Found find(View view, uint64_t address) const;
  bool has_unwinding() const { return !descriptions_.empty(); }
  // Null where none is known.
  const Description* description_of(const Function& function) const {
    return function.description == 0 ? nullptr : &descriptions_[function.description - 1];
  }
  const JitUnwinding& unwinding(uint32_t number) const { return unwinding_[number]; }
  // The line at an offset into a function, or null.
  const JitLine* line_at(const Function& function, uint64_t offset) const;

 private:
  static constexpr size_t kSources = 2;
  // The code of one process from one exec to the next.
  struct Track {
    uint32_t parent = 0;  // whose code it began with, as it was at `fork_moment`
    uint64_t fork_moment = 0;
    std::array<JitLayer, kSources> layers;
    std::vector<uint64_t> moments;  // of changes
    View first_view = 0;            // that of the time before the first change
  };
  // From a moment on a process has the code of a track; a child that was forked has it as it was at `frozen`.
  struct Epoch {
    uint64_t moment = 0;
    uint32_t track = 0;
    uint64_t frozen = UINT64_MAX;
  };

  Track& own_track(int32_t pid, uint64_t moment);
  Epoch now(int32_t pid) const;
  // Whether it does not matter which of two functions was at an address.
  bool same(const Function& a, const Function& b) const;
  static void note_change(Track& track, uint64_t moment);

  std::vector<Track> tracks_{1};  // 0: none
  std::unordered_map<int32_t, std::vector<Epoch>, base::NumberHash> epochs_;
  std::vector<Function> functions_;
  std::vector<JitLine> lines_;
  std::vector<Description> descriptions_;
  std::vector<JitUnwinding> unwinding_;
};

}  // namespace tephra::stream
