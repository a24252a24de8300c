// Unwinds every copy of a stack in a recording with tephra's walk and with libunwind, and where the in-kernel unwinder
// took the same sample, with its walk too; prints how far they agree, a line for each way in which ours ended.
//
//   compare_unwinders [-v N] FILE      -v: shows the first N that differ
//
// "same": frame by frame. "longer", "shorter": ours has all of theirs and more, or the other way round. "other": they
// part. Exit status 1 when any are other.

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "base/disk_cache.h"
#include "base/file.h"
#include "formats/format.h"
#include "libunwind_walk.h"
#include "stream/decoder.h"
#include "stream/side_band.h"
#include "unwind/offline_unwinder.h"
#include "unwind/stack_walker.h"

namespace {

using namespace tephra;

constexpr uint64_t kSameMoment = 100'000;  // ns between the two records of one sample
constexpr const char* kEnds[] = {"not told",   "outermost",   "depth",   "no mapping", "no rule", "unsupported",
                                 "unreadable", "implausible", "no file", "32 bit",     "copy end"};

enum class Agreement { kSame, kLonger, kShorter, kOther };

Agreement compare(const std::vector<uint64_t>& ours, const std::vector<uint64_t>& theirs) {
  const size_t common = std::min(ours.size(), theirs.size());
  if (!std::equal(ours.begin(), ours.begin() + static_cast<ptrdiff_t>(common), theirs.begin())) {
    return Agreement::kOther;
  }
  if (ours.size() == theirs.size()) return Agreement::kSame;
  return ours.size() > theirs.size() ? Agreement::kLonger : Agreement::kShorter;
}

struct Counts {
  uint64_t by[4]{};
};

class Table {
 public:
  explicit Table(const char* peer) : peer_(peer) {}
  Agreement add(int end, const std::vector<uint64_t>& ours, const std::vector<uint64_t>& theirs) {
    const Agreement agreement = compare(ours, theirs);
    ++rows_[end].by[static_cast<size_t>(agreement)];
    return agreement;
  }
  void print() const {
    std::printf("%-12s  %-12s %10s %10s %10s %10s\n", peer_, "our end", "same", "longer", "shorter", "other");
    for (const auto& [end, row] : rows_) {
      std::printf("%-12s  %-12s %10lu %10lu %10lu %10lu\n", "", kEnds[end], row.by[0], row.by[1], row.by[2], row.by[3]);
    }
  }
  uint64_t others() const {
    uint64_t sum = 0;
    for (const auto& [end, row] : rows_) sum += row.by[static_cast<size_t>(Agreement::kOther)];
    return sum;
  }
  bool empty() const { return rows_.empty(); }

 private:
  const char* peer_;
  std::map<int, Counts> rows_;
};

void show(const char* who, const std::vector<uint64_t>& addresses, const stream::AddressSpaces& spaces,
          stream::AddressSpaces::State space, const model::Profile& profile) {
  std::printf("  %s:\n", who);
  for (const uint64_t address : addresses) {
    const stream::MappedRange* range = spaces.find(space, address);
    const std::string path = range == nullptr ? "?" : std::string(profile.text(profile.mappings[range->mapping].path));
    std::printf("    %lx %s+0x%lx\n", address, path.c_str(),
                range == nullptr ? 0 : address - range->start + range->offset);
  }
}

std::vector<uint64_t> user_part(const base::Words& chain) {
  std::vector<uint64_t> addresses;
  bool user = false;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (chain[i] >= stream::kFirstChainMarker) {
      user = chain[i] == static_cast<uint64_t>(PERF_CONTEXT_USER);
    } else if (user) {
      addresses.push_back(chain[i]);
    }
  }
  return addresses;
}

// A sample that was walked in the kernel.
struct KernelWalk {
  uint64_t ip;
  int end;
  std::vector<uint64_t> addresses;
};
using Walked = std::map<std::pair<int32_t, uint64_t>, KernelWalk>;  // by thread and time

class Comparison {
 public:
  Comparison(const stream::Recording& recording, unsigned shown)
      : recording_(recording), decoder_(recording), shown_left_(shown) {
    assembler_.facts() = recording.facts;
  }

  bool run() {
    const stream::SideBand side_band = stream::read_side_band(recording_, decoder_, assembler_);
    Walked walked;
    for_each(side_band, [&](const stream::Sample& sample, uint64_t) {
      const int end = (sample.misc & TEPHRA_WALK_END_MASK) >> TEPHRA_WALK_END_SHIFT;
      if (end != 0) walked[{sample.origin.tid, sample.origin.time}] = {sample.ip, end, user_part(sample.callchain)};
    });
    const auto walker =
        unwinder_.walker(side_band.history.spaces(), side_band.history.jit(), assembler_.so_far(), "x86_64");
    tools::LibunwindWalk libunwind(files_, side_band.history.spaces(), assembler_.so_far());
    for_each(side_band, [&](const stream::Sample& sample, uint64_t position) {
      const auto& layout = recording_.events[sample.origin.event].layout;
      if (sample.user_registers.empty() || sample.user_stack.empty()) return;
      const stream::RawStack raw{sample.user_registers_abi, layout.sample_regs_user, sample.user_registers,
                                 sample.user_stack, sample.user_stack_full};
      const uint64_t moment = stream::moment_of(decoder_, sample.origin.time, position);
      const auto space = side_band.history.address_space(sample.origin.pid, moment).value;
      std::vector<uint64_t> ours;
      const int end =
          walker->walk(raw, {space, side_band.history.jit().view(sample.origin.pid, moment).value}, ours).how;
      std::erase_if(ours, [](uint64_t word) { return word >= stream::kFirstChainMarker; });
      const auto theirs = libunwind.walk(raw, space, unwind::StackWalker::kMostFrames);
      const Agreement agreement = libunwind_.add(end, ours, theirs);
      if ((agreement == Agreement::kOther || agreement == Agreement::kShorter) && shown_left_ > 0) {
        --shown_left_;
        std::printf("sample at %lu of %d differs (%s):\n", sample.origin.time, sample.origin.tid, kEnds[end]);
        show("tephra", ours, side_band.history.spaces(), space, assembler_.so_far());
        show("libunwind", theirs, side_band.history.spaces(), space, assembler_.so_far());
      }
      const KernelWalk* twin = twin_of(walked, sample);
      if (twin == nullptr) return;
      if (in_kernel_.add(twin->end, twin->addresses, ours) == Agreement::kOther && shown_left_ > 0) {
        --shown_left_;
        std::printf("sample at %lu of %d differs (%s):\n", sample.origin.time, sample.origin.tid, kEnds[end]);
        show("in the kernel", twin->addresses, side_band.history.spaces(), space, assembler_.so_far());
        show("over the copy", ours, side_band.history.spaces(), space, assembler_.so_far());
      }
    });
    libunwind_.print();
    if (!in_kernel_.empty()) in_kernel_.print();
    return libunwind_.others() == 0 && in_kernel_.others() == 0;
  }

 private:
  template <class Visit>
  void for_each(const stream::SideBand& side_band, Visit visit) {
    for (const stream::Chunk& chunk : side_band.chunks) {
      stream::RecordWalker records(chunk.bytes);
      stream::Record record;
      stream::Sample sample;
      for (size_t at = 0; records.next(record); at = records.position()) {
        if (record.type == PERF_RECORD_SAMPLE && decoder_.decode_sample(record, sample))
          visit(sample, chunk.position + at);
      }
    }
  }

  // The nearest that was at the same address: one of the two records may be lost.
  static const KernelWalk* twin_of(const Walked& walked, const stream::Sample& sample) {
    const uint64_t time = sample.origin.time;
    const KernelWalk* nearest = nullptr;
    uint64_t least = kSameMoment;
    const auto end = walked.upper_bound({sample.origin.tid, time + kSameMoment});
    for (auto at = walked.lower_bound({sample.origin.tid, time - std::min(time, kSameMoment)}); at != end; ++at) {
      const uint64_t distance = at->first.second > time ? at->first.second - time : time - at->first.second;
      if (at->second.ip != sample.ip || distance > least) continue;
      least = distance;
      nearest = &at->second;
    }
    return nearest;
  }

  const stream::Recording& recording_;
  stream::Decoder decoder_;
  model::ProfileAssembler assembler_;
  symbols::FileFinder files_;
  base::DiskCache cache_{""};
  unwind::TableStore tables_{files_, cache_};
  unwind::OfflineUnwinder unwinder_{tables_};
  Table libunwind_{"libunwind"};
  Table in_kernel_{"in kernel"};
  unsigned shown_left_;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned shown = 0;
  const char* path = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "-v" && i + 1 < argc) {
      shown = static_cast<unsigned>(std::atoi(argv[++i]));
    } else {
      path = argv[i];
    }
  }
  if (path == nullptr) {
    std::fprintf(stderr, "usage: compare_unwinders [-v N] FILE\n");
    return 2;
  }
  const auto content = base::FileContent::open(path);
  const auto format = content ? formats::recognise(content->bytes(), path) : content.error();
  if (!format || (*format)->open == nullptr) {
    std::fprintf(stderr, "compare_unwinders: cannot read %s\n", path);
    return 2;
  }
  const auto recording = (*format)->open(content->bytes());
  if (!recording) return 2;
  return Comparison(*recording, shown).run() ? 0 : 1;
}
