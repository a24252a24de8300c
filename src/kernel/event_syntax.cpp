#include "kernel/event_syntax.h"

#include <algorithm>
#include <charconv>

namespace tephra::kernel {
namespace {

constexpr size_t kMaxLength = 1 << 16;
constexpr std::string_view kBreakpoint = "mem:";

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Where the first of `stops` stands outside of quotes, from `at` on; the text's size when nowhere.
size_t find_unquoted(std::string_view text, std::string_view stops, size_t at) {
  for (bool quoted = false; at < text.size(); ++at) {
    if (text[at] == '\'') quoted = !quoted;
    if (!quoted && stops.find(text[at]) != std::string_view::npos) break;
  }
  return at;
}

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'') value = value.substr(1, value.size() - 2);
  return std::string(value);
}

// Modifiers may have a colon before them behind a brace or a slash.
std::string_view without_colon(std::string_view modifiers) {
  modifiers = trim(modifiers);
  if (modifiers.starts_with(':')) modifiers.remove_prefix(1);
  return trim(modifiers);
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  base::Result<std::vector<EventGroupText>> split() {
    std::vector<EventGroupText> groups;
    do {
      TEPHRA_TRY(EventGroupText group, at_group() ? read_group() : read_single());
      groups.push_back(std::move(group));
    } while (take(','));
    if (at_ < text_.size()) return wrong("unexpected " + std::string(1, text_[at_]));
    return groups;
  }

 private:
  base::Error wrong(const std::string& why) const {
    return base::usage_error("cannot read the events", std::string(text_.substr(0, 200)),
                             why + " at character " + std::to_string(at_ + 1),
                             "Events are separated by commas, groups are written {a,b}, terms name/term=1,term=2/.");
  }

  void skip_spaces() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  bool take(char letter) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }

  // A group may have a name before its brace, which nothing shows: "front{a,b}".
  bool at_group() {
    skip_spaces();
    const size_t stop = text_.find_first_of("{},/:", at_);
    return stop != std::string_view::npos && text_[stop] == '{';
  }

  base::Result<EventGroupText> read_group() {
    at_ = text_.find('{', at_) + 1;
    EventGroupText group{.braces = true};
    do {
      if (at_group()) return wrong("a group inside a group");
      TEPHRA_TRY(EventText event, read_event());
      group.events.push_back(std::move(event));
    } while (take(','));
    if (!take('}')) return wrong("a { without its }");
    const size_t end = std::min(text_.size(), text_.find_first_of(",{}/", at_));
    group.modifiers = without_colon(text_.substr(at_, end - at_));
    at_ = end;
    return group;
  }

  base::Result<EventGroupText> read_single() {
    EventGroupText group;
    TEPHRA_TRY(EventText event, read_event());
    group.events.push_back(std::move(event));
    return group;
  }

  base::Result<EventText> read_event() {
    skip_spaces();
    const size_t begin = at_;
    // The slash of a breakpoint stands before its length.
    const bool breakpoint = text_.substr(at_).starts_with(kBreakpoint);
    at_ = std::min(text_.size(), text_.find_first_of(breakpoint ? ",{}" : ",{}/", at_));
    EventText event;
    event.name = trim(text_.substr(begin, at_ - begin));
    if (event.name.empty()) return wrong("no event");
    if (!breakpoint && at_ < text_.size() && text_[at_] == '/') TEPHRA_CHECK_OK(read_terms(event));
    event.written = trim(text_.substr(begin, at_ - begin));
    return event;
  }

  base::Status read_terms(EventText& event) {
    const size_t end = find_unquoted(text_, "/", at_ + 1);
    if (end == text_.size()) return wrong("terms without a closing slash");
    TEPHRA_TRY(event.terms, split_terms(text_.substr(at_ + 1, end - at_ - 1)));
    event.has_terms = true;
    at_ = std::min(text_.size(), text_.find_first_of(",{}/", end + 1));
    event.modifiers = without_colon(text_.substr(end + 1, at_ - end - 1));
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

base::Result<std::vector<EventTerm>> split_terms(std::string_view text) {
  std::vector<EventTerm> terms;
  if (trim(text).empty()) return terms;
  for (size_t begin = 0;;) {
    const size_t end = find_unquoted(text, ",", begin);
    const std::string_view term = trim(text.substr(begin, end - begin));
    const size_t equals = term.find('=');
    EventTerm split{.name = std::string(trim(term.substr(0, equals)))};
    if (split.name.empty()) return base::usage_error("an event's term has no name", std::string(text.substr(0, 200)));
    if (equals != std::string_view::npos) {
      split.has_value = true;
      split.value = unquoted(trim(term.substr(equals + 1)));
    }
    terms.push_back(std::move(split));
    if (end == text.size()) return terms;
    begin = end + 1;
  }
}

base::Result<std::vector<EventGroupText>> split_events(std::string_view text) {
  if (text.size() > kMaxLength) {
    return base::usage_error("cannot read the events", std::string(text.substr(0, 50)) + "…",
                             "the list is longer than " + std::to_string(kMaxLength) + " characters");
  }
  return Splitter(text).split();
}

std::optional<uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace tephra::kernel
