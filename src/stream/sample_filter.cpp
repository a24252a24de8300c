#include "stream/sample_filter.h"

#include <algorithm>
#include <utility>

namespace tephra::stream {
namespace {

bool lists(const std::vector<int32_t>& wanted, int32_t value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

// The option that a word is or begins with, where it is one for processes or threads.
std::string_view option_for_tasks(std::string_view word) {
  for (const std::string_view option : {"--pid", "--tid"}) {
    if (word == option || (word.starts_with(option) && word[option.size()] == '=')) return option;
  }
  if (word.starts_with("-p") || word.starts_with("-t")) return word.substr(0, 2);
  return {};
}

// Whether "1,2,3" has the number.
bool lists_number(std::string_view list, int32_t wanted) {
  const std::string text = std::to_string(wanted);
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (item == text) return true;
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return false;
}

}  // namespace

bool SampleFilter::takes(const Origin& origin) const {
  return origin.time >= begin_time && origin.time <= end_time && lists(pids, origin.pid) && lists(tids, origin.tid) &&
         lists(cpus, origin.cpu);
}

bool records_process(std::string_view command_line, int32_t pid) {
  bool value_follows = false;
  while (!command_line.empty()) {
    std::string_view word = command_line.substr(0, command_line.find(' '));
    command_line.remove_prefix(std::min(word.size() + 1, command_line.size()));
    if (word == "--") return false;
    const bool is_value = std::exchange(value_follows, false);
    if (!is_value) {
      const std::string_view option = option_for_tasks(word);
      if (option.empty()) continue;
      word.remove_prefix(option.size());
      if (word.starts_with('=')) word.remove_prefix(1);
      value_follows = word.empty();
    }
    if (lists_number(word, pid)) return true;
  }
  return false;
}

}  // namespace tephra::stream
