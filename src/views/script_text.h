#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"
#include "stream/event.h"
#include "stream/recording.h"
#include "stream/tracepoint_format.h"
#include "views/script_fields.h"

namespace tephra::views {

struct ScriptOptions {
  std::vector<uint32_t> fields;  // of each event of the recording; see select_script_fields
  bool call_chains = true;
  bool nanoseconds = false;    // times with nine decimals rather than six
  bool relative_time = false;  // times since the first sample
};

// Comment lines about the recording, as perf script --header begins and ends them.
std::string script_header(const stream::Recording& recording, const model::RecordingFacts& facts,
                          std::string_view verdict);

// Writes samples as perf script does. The profile is the recording's, symbolized, with one row a sample. Text goes to
// `flush` in large pieces; call finish() for the last.
class ScriptWriter {
 public:
  ScriptWriter(const stream::Recording& recording, const model::Profile& profile,
               const stream::TracepointFormats& formats, ScriptOptions options,
               std::function<void(std::string_view)> flush);

  // `row` is the sample's row in the profile.
  void sample(size_t row, const stream::Sample& sample);
  void finish();

 private:
  void write_who(uint32_t fields, bool chain, const model::Thread& thread, const stream::Origin& origin);
  void write_time(uint64_t time);
  void write_trace(const stream::Sample& sample);
  void write_chain(uint32_t fields, model::StackId stack);
  void write_place(uint32_t fields, uint64_t ip, model::StackId stack);
  const std::string& frame_line(uint32_t fields, model::FrameId frame);
  std::string make_frame_line(uint32_t fields, model::FrameId frame) const;
  void append(std::string_view text) { buffer_.append(text); }

  const stream::Recording& recording_;
  const model::Profile& profile_;
  const stream::TracepointFormats& formats_;
  const ScriptOptions options_;
  const std::function<void(std::string_view)> flush_;
  size_t name_width_ = 0;
  fmt::memory_buffer buffer_;
  std::string scratch_;
  bool first_ = true;
  uint64_t first_time_ = 0;
  // Lines of frames, made once for each set of fields: frames return all the time.
  struct FrameLines {
    uint32_t fields;
    std::vector<std::string> lines;
  };
  std::vector<FrameLines> frame_lines_;
};

}  // namespace tephra::views
