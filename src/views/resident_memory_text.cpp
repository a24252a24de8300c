#include "views/resident_memory_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using Row = analysis::ResidentMemory::Row;

// What a class means, where its name does not say it.
std::string_view meaning(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
      {"heap", "malloc's, by brk"},
      {"anonymous", "mapped memory without a file: malloc's large blocks and arenas, other heaps"},
      {"stack", "of the program and its threads, as they grow"},
      {"file", "pages of mapped files"},
      {"shared", "memory that processes share, and tmpfs"},
      {"copy-on-write", "written pages of which there was another owner: after fork, of private files"},
      {"swap-in", "read back from swap"},
      {"zero-page", "memory that was only read so far: one page of zeros for all"},
      {"permission", "the page was there, and may now be written or used"},
      {"unknown", "not known: what was mapped there, or whether it was a copy"},
  };
  for (const auto& [key, text] : kMeanings) {
    if (key == name) return text;
  }
  return "";
}

std::string_view faults_word(uint64_t count) { return count == 1 ? "fault" : "faults"; }

std::string line(const Row& row, size_t name_width, size_t faults_width) {
  const std::string major = row.major == 0 ? "" : fmt::format(", {} of them major", base::with_separators(row.major));
  const std::string_view text = meaning(row.name);
  return fmt::format("  {:<{}}  {:>9}  in {:>{}} {}{}{}{}\n", printable(row.name.empty() ? "unknown" : row.name),
                     name_width, base::bytes_text(row.bytes), base::with_separators(row.faults), faults_width,
                     faults_word(row.faults), major, text.empty() ? "" : "  ", text);
}

constexpr std::string_view kLimits =
    "This is where pages were touched first, not where memory was asked for, and nothing of what was given back. A\n"
    "fault weighs the page that it made usable; neighbours that the kernel maps with it (16 pages of a file) are not\n"
    "counted. Who holds the memory of malloc is another question, for a heap profile (tephra heap, in versions that\n"
    "have it).\n";

}  // namespace

std::string resident_memory_text(const analysis::ResidentMemory& memory) {
  if (memory.rows.empty()) return "";
  size_t name_width = 0;
  size_t faults_width = base::with_separators(memory.all.faults).size();
  for (const Row& row : memory.rows) name_width = std::max(name_width, columns(printable(row.name)));
  std::string text = fmt::format("where memory became resident: {} in {} {}\n", base::bytes_text(memory.all.bytes),
                                 base::with_separators(memory.all.faults), faults_word(memory.all.faults));
  for (const Row& row : memory.rows) text += line(row, name_width, faults_width);
  if (memory.size_unknown != 0) {
    text += fmt::format("{} had no page any more when its size was read: they count no bytes\n",
                        base::counted(memory.size_unknown, "fault"));
  }
  return text + std::string(kLimits);
}

}  // namespace tephra::views
