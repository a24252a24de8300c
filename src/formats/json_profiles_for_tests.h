#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/fixtures_for_tests.h"
#include "formats/format.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

// Public profiles, in a folder beside the project that is not part of it.
inline std::filesystem::path json_fixtures(const char* format) { return base::fixtures(format); }

inline base::Result<model::Profile> read_text(const Format& format, std::string_view text) {
  return format.read(base::as_bytes(text));
}

inline base::Result<model::Profile> read_path(const Format& format, const std::filesystem::path& path) {
  const auto content = base::FileContent::open(path);
  if (!content.ok()) return content.error();
  EXPECT_EQ(format.refusal(content.value().bytes()), "") << path;
  return format.read(content.value().bytes());
}

// A stack as "a;b;c", outermost first.
inline std::string stack_text(const model::Profile& profile, model::StackId stack) {
  std::string text;
  for (; stack; stack = profile.stacks[stack].parent) {
    const model::FrameId frame = profile.stacks[stack].frame;
    const bool named = static_cast<bool>(profile.frames[frame].function);
    const std::string name =
        named ? std::string(profile.function_name(frame)) : "+" + std::to_string(profile.frames[frame].address);
    text = text.empty() ? name : name + ";" + text;
  }
  return text;
}

// "event|thread|stack" with the sums of count and value: what any format must keep.
inline std::map<std::string, model::Totals> sums(const model::Profile& profile) {
  std::map<std::string, model::Totals> all;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    const model::Thread& thread = profile.threads[profile.samples.thread[i]];
    const std::string key = std::string(profile.text(profile.events[profile.samples.event[i]].name)) + "|" +
                            std::to_string(thread.pid) + "/" + std::to_string(thread.tid) + " " +
                            std::string(profile.text(thread.comm)) + "|" +
                            stack_text(profile, profile.samples.stack[i]);
    all[key].count += profile.samples.count[i];
    all[key].value += profile.samples.value[i];
  }
  return all;
}

// The stacks and values in the order of the rows.
inline std::vector<std::pair<std::string, uint64_t>> rows_of(const model::Profile& profile) {
  std::vector<std::pair<std::string, uint64_t>> rows;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    rows.emplace_back(stack_text(profile, profile.samples.stack[i]), profile.samples.value[i]);
  }
  return rows;
}

// Some samples of several threads and events, by numbers that look random; with times where `timed`.
inline model::Profile made_up_profile(unsigned seed, bool timed) {
  model::ProfileAssembler assembler;
  auto random = [state = uint64_t{seed} * 2654435761u + 1]() mutable {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 33);
  };
  const auto text = [&](const std::string& value) { return assembler.string(value); };
  const model::EventId events[] = {assembler.event({text("cpu-clock"), text("ns")}),
                                   assembler.event({text("cycles"), text("count")}),
                                   assembler.event({text("inuse_space"), text("bytes"), text("inuse_objects")})};
  const model::ThreadId threads[] = {assembler.thread({10, 10, text("main \"é\"")}),
                                     assembler.thread({10, 11, text("worker")}), assembler.thread({})};
  const model::MappingId file =
      assembler.mapping({.path = text("/usr/lib/libx.so"),
                         .build_id = *model::BuildId::from_hex("00112233445566778899aabbccddeeff00112233"),
                         .kind = model::CodeKind::kFile});
  const model::MappingId kernel =
      assembler.mapping({.path = text("[kernel.kallsyms]"), .kind = model::CodeKind::kKernel});
  uint64_t time = 1'000'000'000;
  for (unsigned i = 0; i < 60; ++i) {
    model::StackId stack;
    for (unsigned depth = random() % 5; depth > 0; --depth) {
      const std::string name = "function<" + std::to_string(random() % 6) + ">";
      model::Frame frame{.mapping = random() % 4 == 0 ? kernel : file};
      frame.function = assembler.function({.name = text(name), .named = true, .start_line = random() % 2 * 7});
      frame.file = random() % 2 == 0 ? text("src/" + name + ".cpp") : model::StringId{};
      frame.line = frame.file ? 1 + random() % 90 : 0;
      frame.address = frame.mapping == file ? 0x1000 + random() % 64 : 0;
      stack = assembler.stack(stack, assembler.frame(frame));
    }
    model::ProfileAssembler::Sample sample{
        .stack = stack, .event = events[random() % 3], .thread = threads[random() % 3]};
    sample.count = timed ? 1 : 1 + random() % 5;
    sample.value = seed % 5 == 4 ? 0 : 1 + random() % 1'000'000;
    time += random() % 1000;
    if (timed) sample.time = time;
    assembler.sample(sample);
  }
  assembler.facts().comments = {"verdict: good. 60 samples"};
  return std::move(assembler).finish();
}

}  // namespace tephra::formats
