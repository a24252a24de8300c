#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "formats/contentionz.h"
#include "formats/go_count.h"
#include "formats/gperftools_cpu.h"
#include "formats/heap_dump.h"
#include "formats/java_profile.h"
#include "formats/jemalloc_heap.h"
#include "formats/threadz.h"

namespace tephra::formats {
namespace {

using model::Profile;

Profile read(const Format& format, std::string_view text) {
  EXPECT_EQ(format.refusal(base::as_bytes(text)), "");
  auto profile = format.read(base::as_bytes(text));
  EXPECT_TRUE(profile.ok()) << (profile.ok() ? "" : profile.error().message());
  return profile.ok() ? std::move(profile).value() : Profile{};
}

std::string why_not(const Format& format, std::string_view text) {
  const auto profile = format.read(base::as_bytes(text));
  return profile.ok() ? "" : profile.error().why;
}

// One line a row: event, count, value, and the frames from the leaf on; r marks return addresses.
std::string described(const Profile& profile) {
  std::string out;
  for (size_t row = 0; row < profile.samples.size(); ++row) {
    out += fmt::format("{} {} {}:", profile.text(profile.events[profile.samples.event[row]].name),
                       profile.samples.count[row], profile.samples.value[row]);
    for (model::StackId at = profile.samples.stack[row]; at; at = profile.stacks[at].parent) {
      const model::FrameId id = profile.stacks[at].frame;
      const model::Frame& frame = profile.frames[id];
      out += fmt::format(" {:x}{}", frame.address, frame.kind == model::AddressKind::kReturn ? "r" : "");
      if (frame.mapping && profile.mappings[frame.mapping].path) {
        out += fmt::format("@{}", profile.text(profile.mappings[frame.mapping].path));
      }
      if (frame.function) out += fmt::format("={}", profile.function_name(id));
    }
    out += "\n";
  }
  return out;
}

// A CPU profile: words of a size and an order.
std::string words(const std::vector<uint64_t>& numbers, size_t width, bool little) {
  std::string out;
  for (const uint64_t number : numbers) {
    for (size_t i = 0; i < width; ++i) {
      const size_t shift = 8 * (little ? i : width - 1 - i);
      out += static_cast<char>(number >> shift & 0xff);
    }
  }
  return out;
}

const std::vector<uint64_t> kCpu{0, 3, 0,      10000,  0,              // the header
                                 2, 3, 0x1010, 0x1020, 0x1030,         // a stack, twice
                                 1, 2, 0x1040, 0x1030, 0,      1, 0};  // another, and the end
constexpr std::string_view kMap = "1000-2000 r-xp 00000800 08:01 7 /bin/prog\n";

TEST(GperftoolsCpuTest, ReadsWordsOfAnySizeAndOrder) {
  for (const size_t width : {4, 8}) {
    for (const bool little : {true, false}) {
      const Profile profile = read(kGperftoolsCpu, words(kCpu, width, little) + std::string(kMap));
      EXPECT_EQ(described(profile),
                "cpu 2 20000000: 810@/bin/prog 820r@/bin/prog 830r@/bin/prog\n"
                "cpu 1 10000000: 840@/bin/prog 830r@/bin/prog\n");
      EXPECT_EQ(profile.facts.period, (model::SamplingPeriod{"cpu", "ns", 10'000'000}));
      EXPECT_EQ(profile.quality, model::Quality{});
    }
  }
}

TEST(GperftoolsCpuTest, KeepsWhatIsBeforeACut) {
  const std::string whole = words(kCpu, 8, true);
  const Profile profile = read(kGperftoolsCpu, std::string_view(whole).substr(0, 8 * 11));
  EXPECT_EQ(model::totals(profile).count, 2u);
  EXPECT_EQ(profile.quality[model::Reason::file_truncated], 1u);
}

TEST(GperftoolsCpuTest, LeavesOutTheSignalHandlerAndSaysSo) {
  std::vector<uint64_t> numbers{0, 3, 0, 100, 0};
  for (uint64_t i = 0; i < 40; ++i) numbers.insert(numbers.end(), {1, 4, 0x1000 + i, 0x7010, 0x1100 + i, 0x1200});
  numbers.insert(numbers.end(), {0, 1, 0});
  const std::string map = std::string(kMap) + "7000-8000 r-xp 00000000 08:01 9 /lib/libc.so.6\n";
  const Profile profile = read(kGperftoolsCpu, words(numbers, 8, true) + map);
  EXPECT_EQ(described(profile).substr(0, 62), "cpu 1 100000: 800@/bin/prog 900r@/bin/prog a00r@/bin/prog\ncpu ");
  EXPECT_EQ(profile.facts.comments,
            std::vector<std::string>{"left out of 40 stacks: 0x7010, which is of the signal handler of the profiler"});
}

// All stacks may come through the same call of the program itself.
TEST(GperftoolsCpuTest, KeepsTheProgramsOwnFrames) {
  std::vector<uint64_t> numbers{0, 3, 0, 100, 0};
  for (uint64_t i = 0; i < 40; ++i) numbers.insert(numbers.end(), {1, 2, 0x1000 + i, 0x1200});
  numbers.insert(numbers.end(), {0, 1, 0});
  const Profile profile = read(kGperftoolsCpu, words(numbers, 8, true) + std::string(kMap));
  EXPECT_EQ(described(profile).substr(0, 44), "cpu 1 100000: 800@/bin/prog a00r@/bin/prog\nc");
  EXPECT_TRUE(profile.facts.comments.empty());
}

TEST(GperftoolsCpuTest, LeavesOutALeafThatIsThereTwice) {
  const std::vector<uint64_t> numbers{0, 3, 0, 100, 0, 1, 3, 0x1010, 0x1010, 0x1020, 1, 2, 0x1030, 0x1040, 0, 1, 0};
  EXPECT_EQ(described(read(kGperftoolsCpu, words(numbers, 8, true) + std::string(kMap))),
            "cpu 1 100000: 810@/bin/prog 820r@/bin/prog\ncpu 1 100000: 830@/bin/prog 840r@/bin/prog\n");
}

TEST(GperftoolsCpuTest, RefusesNumbersThatDoNotFit) {
  const std::vector<uint64_t> numbers{0, 3, 0, 10000, 0, UINT64_MAX, 1, 0x10, 0, 1, 0};
  EXPECT_EQ(why_not(kGperftoolsCpu, words(numbers, 8, true)), "it counts a stack 18446744073709551615 times");
  EXPECT_NE(kGperftoolsCpu.refusal(base::as_bytes("heap profile:")), "");
}

TEST(HeapDumpTest, ScalesSampledRecordsOneByOne) {
  const Profile profile = read(kHeapDump,
                               "heap profile:    3:  1200 [   3:  1200] @ heapz_v2/524288\n"
                               "  1: 1000 [ 1: 1000] @ 0x1010 0x1020\n"
                               "  2: 200 [ 2: 200] @ 0x1010 0x1020\n"
                               "\nMAPPED_LIBRARIES:\n1000-2000 r-xp 00000000 08:01 7 /bin/prog\n");
  const auto scaled = [](double count, double size) {
    const double scale = 1 / (1 - std::exp(-size / 524288));
    return fmt::format("{} {}", static_cast<uint64_t>(count * scale), static_cast<uint64_t>(count * size * scale));
  };
  EXPECT_EQ(described(profile), fmt::format("space {}: 10r@/bin/prog 20r@/bin/prog\nspace {}: 10r@/bin/prog "
                                            "20r@/bin/prog\n",
                                            scaled(1, 1000), scaled(2, 100)));
  EXPECT_EQ(profile.text(profile.events[model::EventId{0}].counted), "objects");
  ASSERT_EQ(profile.samples.labels.size(), 2u);
  EXPECT_EQ(profile.label_sets[profile.samples.labels[1]].labels.at(0).number, 100);
}

TEST(HeapDumpTest, TellsWhatWasFreedWhereItIsKnown) {
  const Profile profile = read(kHeapDump,
                               "heap profile: 1: 10 [2: 30] @ heapprofile\n"
                               "1: 10 [2: 30] @ 0x10\n0: 0 [1: 5] @ 0x20\n");
  EXPECT_EQ(described(profile), "alloc_space 2 30: 10r\ninuse_space 1 10: 10r\nalloc_space 1 5: 20r\n");
  EXPECT_EQ(profile.facts.default_event, "inuse_space");
}

TEST(HeapDumpTest, GoStatesTwiceThePeriod) {
  const Profile profile = read(kHeapDump, "heap profile: 1: 8 [1: 8] @ heap/1048576\n1: 8 [1: 8] @ 0x10\n");
  EXPECT_EQ(profile.facts.period.value, 524288);
}

TEST(HeapDumpTest, GrowthAndFragmentationAreNotSampled) {
  for (const std::string_view kind : {"growth", "growthz", "fragmentation", "fragmentationz"}) {
    const Profile profile =
        read(kHeapDump, fmt::format("heap profile: 1: 8 [2: 9] @ {}\n 1: 8 [ 2: 9] @ 0x10\n", kind));
    EXPECT_EQ(described(profile), "space 1 8: 10r\n") << kind;
  }
}

TEST(HeapDumpTest, NamesThatGoWritesAreUsed) {
  const Profile profile = read(kHeapDump,
                               "heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x4011 0x4021\n"
                               "#\t0x4010\tmain.inner+0x10\t/src/main.go:7\n"
                               "#\t0x4010\tmain.outer+0x10\t/src/main.go:12\n"
                               "#\t0x4020\tmain.main+0x5\t/src/main.go:30\n\n# runtime.MemStats\n# Alloc = 8\n");
  EXPECT_EQ(described(profile), "space 1 8: 4011r=main.inner 4011r=main.outer 4021r=main.main\n");
  const model::Frame& leaf = profile.frames[profile.stacks[profile.samples.stack[0]].frame];
  EXPECT_TRUE(leaf.inlined);
  EXPECT_EQ(leaf.line, 7u);
}

TEST(HeapDumpTest, RefusesOtherLines) {
  const std::string header = "heap profile: 1: 8 [1: 8] @ heap_v2/1\n";
  EXPECT_EQ(why_not(kHeapDump, header + "nonsense\n"), "'nonsense' is no line of a heap dump");
  EXPECT_EQ(why_not(kHeapDump, header + "0: 8 [0: 0] @ 0x1\n"), "'0: 8 [0: 0] @ 0x1' is no line of a heap dump");
  EXPECT_EQ(why_not(kHeapDump, header + "-1: -8 [0: 0] @ 0x1\n"), "'-1: -8 [0: 0] @ 0x1' is no line of a heap dump");
  EXPECT_EQ(why_not(kHeapDump, header + "1: 8 [0: 0] @ 0x11112222333344445\n"),
            "'1: 8 [0: 0] @ 0x11112222333344445' is no line of a heap dump");
  EXPECT_NE(kHeapDump.refusal(base::as_bytes("heap profile: something\n")), "");
  EXPECT_NE(kHeapDump.refusal(base::as_bytes("heap profile: 1: 8 [1: 8] @ elsewhere\n")), "");
}

// Wherever it is cut: what is left is read, and less than the header says is told.
TEST(HeapDumpTest, SaysThatLinesAreMissing) {
  const std::string header = "heap profile: 3: 30 [9: 90] @ heapprofile\n";
  const std::string lines = "1: 10 [1: 10] @ 0x1011\n2: 20 [2: 20] @ 0x1021\n";
  const std::string whole = header + lines;
  EXPECT_EQ(read(kHeapDump, whole).quality, model::Quality{});
  EXPECT_EQ(read(kHeapDump, header + "MAPPED_LIBRARIES:\n").quality, model::Quality{});
  const size_t last_numbers = whole.rfind('@') + 1;
  for (size_t size = header.size(); size < last_numbers; ++size) {
    const Profile profile = read(kHeapDump, whole.substr(0, size));
    EXPECT_EQ(profile.quality[model::Reason::file_truncated], 1u) << size;
    EXPECT_EQ(profile.samples.size() == 0, size < header.size() + 15) << size;
  }
}

TEST(JemallocHeapTest, IsOneSampleForEachThread) {
  const Profile profile = read(kJemallocHeap,
                               "heap_v2/1\n  t*: 3: 30 [0: 0]\n  t0: 3: 30 [0: 0]\n"
                               "@ 0x1011 0x1021\n  t*: 3: 30 [0: 0]\n  t0: 1: 10 [0: 0]\n  t7: 2: 20 [0: 0]\n"
                               "@ 0x1031\n  t*: 1: 5 [0: 0]\n"
                               "\nMAPPED_LIBRARIES:\n1000-2000 r-xp 00000000 08:01 7 /bin/prog\n");
  EXPECT_EQ(described(profile),
            "space 1 10: 11r@/bin/prog 21r@/bin/prog\nspace 2 20: 11r@/bin/prog 21r@/bin/prog\nspace 1 5: "
            "31r@/bin/prog\n");
  EXPECT_EQ(profile.quality, model::Quality{});
  std::vector<std::string> threads;
  for (const model::Label& label : profile.label_sets[profile.samples.labels[1]].labels) {
    threads.push_back(fmt::format("{}={}{}", profile.text(label.key), profile.text(label.text), label.number));
  }
  std::ranges::sort(threads);
  EXPECT_EQ(threads, (std::vector<std::string>{"bytes=10", "thread=70"}));
}

TEST(JemallocHeapTest, TellsWhatWasFreedWhereItIsCounted) {
  const Profile profile = read(kJemallocHeap,
                               "heap_v2/1\n  t*: 1: 8 [3: 24]\n@ 0x1011\n  t*: 1: 8 [3: 24]\n  t0: 1: 8 [3: 24]\n"
                               "MAPPED_LIBRARIES:\n");
  EXPECT_EQ(described(profile), "alloc_space 3 24: 1011r\ninuse_space 1 8: 1011r\n");
}

TEST(JemallocHeapTest, IsReadWhereverItIsCut) {
  const std::string header = "heap_v2/1\n";
  const std::string whole = header +
                            "  t*: 3: 30 [0: 0]\n  t0: 3: 30 [0: 0]\n@ 0x11 0x21\n  t*: 3: 30 [0: 0]\n"
                            "  t0: 1: 10 [0: 0]\n  t7: 2: 20 [0: 0]\n\nMAPPED_LIBRARIES:\n";
  for (size_t size = header.size(); size < whole.size() - 2; ++size) {
    const Profile profile = read(kJemallocHeap, whole.substr(0, size));
    EXPECT_EQ(profile.quality[model::Reason::file_truncated], 1u) << size;
  }
  EXPECT_EQ(read(kJemallocHeap, whole).quality, model::Quality{});
}

TEST(JemallocHeapTest, SaysThatTheEndIsMissing) {
  const Profile profile = read(kJemallocHeap, "heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x11\n  t*: 1: 8 [0: 0]\n");
  EXPECT_EQ(described(profile), "space 1 8: 11r\n");
  EXPECT_EQ(profile.quality[model::Reason::file_truncated], 1u);
  EXPECT_EQ(why_not(kJemallocHeap, "heap_v2/1\nxyz\n"), "'xyz' is no line of a heap dump");
}

TEST(ContentionzTest, TurnsCyclesIntoTime) {
  const Profile profile = read(kContentionz,
                               "--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 10\n"
                               "ms since reset = 5\ndiscarded samples = 0\n  400 3 @ 0x11 0x21\n"
                               "--- Memory map: ---\n  0-100: prog\n");
  EXPECT_EQ(described(profile), "delay 30 2000: 11r@prog 21r@prog\n");
  EXPECT_EQ(profile.facts.duration_ns, 5'000'000);
  EXPECT_EQ(profile.facts.period, (model::SamplingPeriod{"contentions", "count", 10}));
}

TEST(ContentionzTest, ReadsGosMutexProfiles) {
  const Profile profile = read(kContentionz,
                               "--- mutex:\ncycles/second=1000000000\nsampling period=1\n70 2 @ 0x11 0x21\n"
                               "#\t0x10\tsync.(*Mutex).Unlock+0x1\t/go/mutex.go:9\n#\t0x20\tmain.work+0x2\t/w.go:3\n");
  EXPECT_EQ(described(profile), "delay 2 70: 11r=sync.(*Mutex).Unlock 21r=main.work\n");
}

TEST(ContentionzTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(why_not(kContentionz, "--- contentionz 1 ---\nformat = java\n"),
            "'format = java' is no line of a contention profile");
  EXPECT_EQ(why_not(kContentionz, "--- contentionz 1 ---\n1 x @ 0x1\n"),
            "'1 x @ 0x1' is no line of a contention profile");
}

TEST(JavaProfileTest, ReadsNamesBehindTheSamples) {
  const Profile profile =
      read(kJavaProfile,
           "--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 10\n"
           "ms since reset = 6\n  70 2 @ 0x1 0x2 0x3 0x4\n\n  0x1 com.example.Lock.take (Lock.java:12)\n"
           "  0x2 native_wait (/usr/lib/libwait.so)\n  0x3 GC\n 0x4 generated stub/JIT\n");
  EXPECT_EQ(described(profile), "delay 20 700: 1=com.example.Lock.take 2=native_wait 3=GC 4=STUB\n");
  EXPECT_EQ(profile.text(profile.events[model::EventId{0}].unit), "microseconds");
  const model::Frame& leaf = profile.frames[profile.stacks[profile.samples.stack[0]].frame];
  EXPECT_EQ(profile.text(leaf.file), "Lock.java");
  EXPECT_EQ(leaf.line, 12u);
  EXPECT_EQ(profile.facts.duration_ns, 6'000'000);
}

TEST(JavaProfileTest, ScalesTheHeapUp) {
  const Profile profile =
      read(kJavaProfile, "--- heapz 1 ---\nformat = java\nresolution = bytes\n 1000 1 @ 0x1\n 0x1 a.B.c (B.java:3)\n");
  const double scale = 1 / (1 - std::exp(-1000.0 / 524288));
  EXPECT_EQ(described(profile), fmt::format("inuse_space {} {}: 1=a.B.c\n", static_cast<uint64_t>(scale),
                                            static_cast<uint64_t>(1000 * scale)));
}

TEST(JavaProfileTest, ReadsCpuProfiles) {
  const std::vector<uint64_t> numbers{0, 3, 1, 100, 0, 3, 2, 0x1, 0x2, 0, 1, 0};
  const Profile profile =
      read(kGperftoolsCpu, words(numbers, 8, true) + "0x1 a.B.inner (B.java:3)\n0x2 a.B.outer (B.java:9)\n");
  EXPECT_EQ(described(profile), "cpu 3 300000: 1=a.B.inner 2=a.B.outer\n");
}

TEST(JavaProfileTest, MayHoldNoSamples) {
  for (const std::string_view end : {"", "\n", "\n\n"}) {
    const Profile profile =
        read(kJavaProfile, "--- contentionz 1 ---\nformat = java\nresolution = microseconds" + std::string(end));
    EXPECT_EQ(profile.samples.size(), 0u);
    EXPECT_EQ(profile.events.size(), 1u);
  }
}

TEST(JavaProfileTest, RefusesOthers) {
  EXPECT_NE(kJavaProfile.refusal(base::as_bytes("--- contentionz 1 ---\ncycles/second = 1\n")), "");
  EXPECT_EQ(why_not(kJavaProfile, "--- heapz 1 ---\nformat = java\nresolution = bytes\n5 0 @ 0x1\n"),
            "'5 0 @ 0x1' is no line of a profile of Java");
}

TEST(ThreadzTest, CountsThreadsOfTheSameStack) {
  const Profile profile =
      read(kThreadz,
           "--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n  PC:  0x10: work\n  0x20: "
           "main\n--- Thread 80 (name: w/2) stack: ---\n  [same as previous thread]\n"
           "--- Memory map: ---\n  00-100: prog\n");
  EXPECT_EQ(described(profile), "thread 2 2: 10@prog 20r@prog\n");
}

TEST(ThreadzTest, MayBeginWithAThread) {
  const Profile profile = read(kThreadz, "--- Thread 7f (name: main/1) stack: ---\n  0x10\n  creator: 0x20 0x30\n");
  EXPECT_EQ(described(profile), "thread 1 1: 10 20r 30r\n");
  EXPECT_EQ(why_not(kThreadz, "--- threadz 1 ---\n--- something ---\n"), "'--- something ---' begins no thread");
}

TEST(GoCountTest, ReadsGoroutines) {
  const Profile profile =
      read(kGoCount, "goroutine profile: total 3\n2 @ 0x11 0x21\n#\t0x10\tmain.wait+0x1\t/w.go:5\n\n1 @ 0x21\n");
  EXPECT_EQ(described(profile), "goroutine 2 2: 11r=main.wait 21r\ngoroutine 1 1: 21r\n");
  EXPECT_EQ(why_not(kGoCount, "goroutine profile: total 3\nfoo\n"), "'foo' is no count of a stack");
  EXPECT_EQ(why_not(kGoCount, "goroutine profile: total 3\n3 @ foo\n"), "'3 @ foo' is no count of a stack");
  EXPECT_NE(kGoCount.refusal(base::as_bytes("heap profile: 1: 2 [3: 4] @ heap/1\n")), "");
}

TEST(GoCountTest, ReadsThreadsWithoutAStack) {
  const Profile profile = read(kGoCount, "threadcreate profile: total 5\n4 @ \n#\t0x0\n\n1 @ 0x21\n");
  EXPECT_EQ(described(profile), "threadcreate 4 4:\nthreadcreate 1 1: 21r\n");
  EXPECT_EQ(described(read(kGoCount, "threadcreate profile: total 5\n5 @\n#\t0x0\n\n")), "threadcreate 5 5:\n");
}

}  // namespace
}  // namespace tephra::formats
