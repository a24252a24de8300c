#include "formats/jit_notes.h"

#include "formats/plain_text.h"

namespace tephra::formats {
namespace {

using base::Bytes;

constexpr std::string_view kAdvice =
    "Give tephra the recording that was made meanwhile: it finds such files by itself (docs/jit.md).";

std::string jitdump_refusal(Bytes bytes) {
  const std::string_view text = base::as_text(bytes);
  return text.starts_with("DTiJ") || text.starts_with("JiTD") ? "" : "it does not begin with the mark of a jitdump";
}

base::Result<model::Profile> read_jitdump(Bytes) {
  return base::failed("cannot read", "", "it is a jitdump: the code that a process generated, and no samples",
                      std::string(kAdvice));
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// "7f1e0c001000 1a0 name": where code begins, how long it is, what it is called.
bool is_entry(std::string_view line) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const size_t first = line.find(' ');
  if (first == std::string_view::npos || !is_hex(line.substr(0, first))) return false;
  std::string_view rest = line.substr(first + 1);
  if (rest.starts_with("0x")) rest.remove_prefix(2);
  const size_t second = rest.find(' ');
  // The letters of a table of symbols ("ffffffff81000000 T _text") are no sizes.
  const bool size =
      second != std::string_view::npos && is_hex(rest.substr(0, second)) && rest.find_first_of("0123456789") < second;
  return size && second + 1 < rest.size();
}

std::string perf_map_refusal(Bytes bytes) {
  constexpr int kLooked = 5;
  const PlainText plain(beginning(bytes));
  std::string_view text = plain.text();
  int entries = 0;
  for (; !text.empty() && entries < kLooked; ++entries) {
    if (!is_entry(take_line(text))) return "its lines are no addresses, sizes and names";
  }
  return entries > 0 ? "" : "it has no lines";
}

base::Result<model::Profile> read_perf_map(Bytes) {
  return base::failed("cannot read", "", "it is a perf map: the names of code that a process generated, and no samples",
                      std::string(kAdvice));
}

}  // namespace

const Format kJitdump{.name = "jitdump",
                      .summary = "generated code; no profile by itself",
                      .endings = {},
                      .refusal = jitdump_refusal,
                      .read = read_jitdump};

const Format kPerfMap{.name = "perf-map",
                      .summary = "names of generated code; no profile by itself",
                      .endings = {},
                      .refusal = perf_map_refusal,
                      .read = read_perf_map};

}  // namespace tephra::formats
