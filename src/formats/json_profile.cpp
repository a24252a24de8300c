#include "formats/json_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace tephra::formats {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kNamedMembers = 6;  // that a message lists
constexpr size_t kLongestName = 24;

// Goes over the members of an object, or the elements of an array, without looking into them or checking them.
class Skimmer {
 public:
  explicit Skimmer(std::string_view text) : text_(text) { skip_space(); }

  bool take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    skip_space();
    return true;
  }

  // A name in quotes and its colon; escapes are left as they are.
  bool take_name(std::string_view& name) {
    if (text_.empty() || text_[0] != '"') return false;
    const std::string_view from = text_;
    skip_text();
    name = from.substr(1, from.size() - text_.size() - 2);
    skip_space();
    return take(':');
  }

  // The text from the value on that is next.
  std::string_view rest() const { return text_; }

  void skip_value() {
    size_t depth = 0;
    while (!text_.empty()) {
      const char c = text_[0];
      if (c == '"') {
        skip_text();
      } else if (c == '{' || c == '[') {
        ++depth;
        text_.remove_prefix(1);
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
        text_.remove_prefix(1);
      } else if (c == ',' && depth == 0) {
        break;
      } else {
        const size_t end = text_.find_first_of(depth == 0 ? ",\"{}[]" : "\"{}[]", 1);
        text_.remove_prefix(std::min(end, text_.size()));
      }
      if (depth == 0 && (c == '"' || c == '}' || c == ']')) break;
    }
    skip_space();
  }

 private:
  void skip_space() { text_.remove_prefix(std::min(text_.find_first_not_of(kSpace), text_.size())); }

  void skip_text() {
    for (size_t at = 1;; ++at) {
      at = text_.find_first_of("\"\\", at);
      if (at >= text_.size()) {
        text_ = {};
        return;
      }
      if (text_[at] == '"') {
        text_.remove_prefix(at + 1);
        return;
      }
      ++at;  // what is escaped
    }
  }

  std::string_view text_;
};

// The members that were seen so far, and what they say.
class Members {
 public:
  void add(std::string_view name) { names_.push_back(name); }
  bool has(std::string_view name) const { return std::find(names_.begin(), names_.end(), name) != names_.end(); }

  JsonProfile kind() const {
    const bool times = has("startTime") || has("timeDeltas") || has("timestamps");
    if (has("traceEvents")) return JsonProfile::kTraceJson;
    if (has("profiles") && has("shared")) return JsonProfile::kSpeedscopeJson;
    if (has("threads") && (has("meta") || has("libs"))) return JsonProfile::kFirefoxJson;
    if ((has("nodes") || has("head")) && times) return JsonProfile::kCpuProfileJson;
    return JsonProfile::kNone;
  }

  std::string listed() const {
    std::string list;
    for (size_t i = 0; i < names_.size() && i < kNamedMembers; ++i) {
      list += fmt::format("{}`{}`", i == 0 ? "" : ", ", names_[i].substr(0, kLongestName));
    }
    return list + (names_.size() > kNamedMembers ? ", …" : "");
  }

 private:
  std::vector<std::string_view> names_;
};

struct Judgement {
  JsonProfile kind = JsonProfile::kNone;
  std::string why;  // where it is none
};

constexpr size_t kMostMembers = 1000;  // of an object that could be a profile

// Whether an object's members decide what it is; `stop` is where reading may stop.
JsonProfile kind_of_members(Skimmer& skimmer, Members& members, bool inner) {
  std::string_view name;
  for (size_t i = 0; i < kMostMembers && skimmer.take_name(name); ++i) {
    members.add(name);
    if (name == "$schema" && skimmer.rest().substr(0, 80).find("speedscope") != std::string_view::npos) {
      return JsonProfile::kSpeedscopeJson;
    }
    if (members.kind() != JsonProfile::kNone) return members.kind();
    // Recordings of Firefox's developer tools hold the profile in a member.
    if (Skimmer profile(skimmer.rest()); !inner && name == "profile" && profile.take('{')) {
      Members within;
      if (kind_of_members(profile, within, true) == JsonProfile::kFirefoxJson) return JsonProfile::kFirefoxJson;
    }
    skimmer.skip_value();
    if (!skimmer.take(',')) break;
  }
  return JsonProfile::kNone;
}

Judgement judge_array(Skimmer& skimmer) {
  if (skimmer.rest().starts_with(']')) return {JsonProfile::kNone, "it is an empty array"};
  if (!skimmer.take('{')) return {JsonProfile::kNone, "it is an array of something else than objects"};
  Members members;
  std::string_view name;
  for (size_t i = 0; i < kMostMembers && skimmer.take_name(name); ++i) {
    members.add(name);
    if (name == "ph") return {JsonProfile::kTraceJson, {}};
    skimmer.skip_value();
    if (!skimmer.take(',')) break;
  }
  return {JsonProfile::kNone, fmt::format("it is an array of objects with {}", members.listed())};
}

Judgement judge(base::Bytes bytes) {
  std::string_view text = without_snapshot_header(base::as_text(bytes));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  Skimmer skimmer(text);
  if (skimmer.take('[')) return judge_array(skimmer);
  if (!skimmer.take('{')) return {JsonProfile::kNone, "it is not JSON"};
  Members members;
  if (const JsonProfile kind = kind_of_members(skimmer, members, false); kind != JsonProfile::kNone) return {kind, {}};
  const std::string listed = members.listed();
  return {JsonProfile::kNone,
          listed.empty() ? "it is an object without members" : fmt::format("it is an object of {}", listed)};
}

std::string_view wanted_members(JsonProfile kind) {
  switch (kind) {
    case JsonProfile::kSpeedscopeJson:
      return "speedscope's `$schema`, or `profiles` and `shared`";
    case JsonProfile::kFirefoxJson:
      return "`meta` and `threads`";
    case JsonProfile::kCpuProfileJson:
      return "`nodes` and `startTime` or `timeDeltas`";
    case JsonProfile::kTraceJson:
      return "`traceEvents`, and no array of events with `ph`";
    case JsonProfile::kNone:
      break;
  }
  return "";
}

}  // namespace

int32_t task_id(const base::Json& json) {
  int64_t id = json.integer(-1);
  if (json.is_text()) id = base::whole_number<int64_t>(json.text()).value_or(-1);
  return id < 0 || id > INT32_MAX ? -1 : static_cast<int32_t>(id);
}

std::string_view without_snapshot_header(std::string_view text) {
  constexpr std::string_view kLine = "---\n";
  if (!text.starts_with(kLine)) return text;
  const size_t end = text.substr(0, 4096).find("\n---\n");
  return end == std::string_view::npos ? text : text.substr(end + 1 + kLine.size());
}

std::string json_refusal(base::Bytes bytes, JsonProfile wanted) {
  const Judgement judgement = judge(bytes);
  if (judgement.kind == wanted) return {};
  const std::string without = fmt::format("without {}", wanted_members(wanted));
  if (judgement.kind != JsonProfile::kNone) return fmt::format("it is JSON {}", without);
  return judgement.why == "it is not JSON" ? judgement.why : fmt::format("{} {}", judgement.why, without);
}

}  // namespace tephra::formats
