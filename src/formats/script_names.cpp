#include "formats/script_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/names.h"

namespace tephra::formats {
namespace {

constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";
constexpr std::string_view kInlined = "_[i]";
constexpr std::string_view kKernel = "_[k]";
constexpr std::string_view kJit = "_[j]";

std::string_view behind_last_slash(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "net/http.(*Client).Do": brackets that are no list of parameters.
bool is_go_method(std::string_view name) {
  const size_t begin = name.find(".(");
  const size_t end = name.rfind(").");
  return begin != std::string_view::npos && end != std::string_view::npos && end >= begin + 2;
}

size_t first_parameters(std::string_view name) {
  size_t at = name.find('(');
  while (at != std::string_view::npos && name.substr(at).starts_with(kAnonymousNamespace)) at = name.find('(', at + 1);
  return at;
}

// As above, but not within template arguments: "function<int (int)>::operator()(int)".
size_t first_outer_parameters(std::string_view name) {
  size_t depth = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '<') ++depth;
    if (name[at] == '>' && depth > 0 && (at == 0 || name[at - 1] != '-')) --depth;
    if (name[at] == '(' && depth == 0 && !name.substr(at).starts_with(kAnonymousNamespace)) return at;
  }
  return depth == 0 ? std::string_view::npos : first_parameters(name);
}

void tidy(std::string& name, NameRules rules) {
  std::replace(name.begin(), name.end(), ';', ':');
  if (!is_go_method(name)) {
    const size_t end = rules == NameRules::kInferno ? first_outer_parameters(name) : first_parameters(name);
    if (end != std::string::npos) name.resize(end);
  }
  if (rules == NameRules::kFlameGraph) std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
}

bool is_kernel_module(std::string_view module, NameRules rules) {
  if (contains(module, "unknown")) return false;
  if (module.starts_with('[') || module.ends_with("vmlinux")) return true;
  return rules == NameRules::kInferno && (module.ends_with(".ko") || behind_last_slash(module).starts_with("vmlinux"));
}

// "/tmp/perf-31912.map", wherever it stands.
bool is_perf_map(std::string_view module) {
  constexpr std::string_view kBegin = "/tmp/perf-";
  for (size_t at = module.find(kBegin); at != std::string_view::npos; at = module.find(kBegin, at + 1)) {
    size_t end = at + kBegin.size();
    while (end < module.size() && is_digit(module[end])) ++end;
    if (end > at + kBegin.size() && module.substr(end).starts_with(".map")) return true;
  }
  return false;
}

// What a name that is not known is called. One line may have many of them.
std::string stand_in(const FrameLine& line, bool with_address) {
  std::string text = "[";
  text += line.module == kUnknown ? "unknown" : cut_file_name(behind_last_slash(line.module));
  if (with_address) text.append(" <").append(line.address).append(">");
  return text + "]";
}

// `name` is the first of a line.
void mark(std::string& name, const FrameLine& line, const ScriptNameOptions& options) {
  if (options.kernel && is_kernel_module(line.module, options.rules)) {
    name += kKernel;
  } else if (options.jit && is_perf_map(line.module) && !contains(name, kJit)) {
    name += kJit;
  }
}

void mark_inlined(std::string& name) {
  if (!contains(name, kInlined)) name += kInlined;
}

// The next of the names that "->" joins. Empty ones at the end are none.
std::string_view take_name(std::string_view& names) {
  constexpr std::string_view kArrow = "->";
  const size_t end = names.find(kArrow);
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(end == std::string_view::npos ? names.size() : end + kArrow.size());
  return name;
}

std::string_view without_empty_ends(std::string_view names) {
  while (names.ends_with("->")) names.remove_suffix(2);
  return names;
}

// "$LT$" and the like, and "$u7b$" for any other character.
constexpr std::array<std::pair<std::string_view, char>, 8> kRustEscapes{
    {{"LT", '<'}, {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}, {"BP", '*'}, {"RF", '&'}, {"SP", '@'}}};

char rust_escape(std::string_view word) {
  for (const auto& [name, c] : kRustEscapes) {
    if (word == name) return c;
  }
  if (!word.starts_with('u')) return 0;
  unsigned code = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + 1, end, code, 16);
  return error == std::errc{} && stop == end && code >= 0x20 && code < 0x7f ? static_cast<char>(code) : '\0';
}

// Where the escape ends that a text begins with; 0: it begins with none.
size_t escape_end(std::string_view text) {
  constexpr size_t kLongest = 10;  // "$u10ffff$" is shorter
  const size_t end = text[0] == '$' ? text.substr(0, kLongest).find('$', 1) : std::string_view::npos;
  return end == std::string_view::npos ? 0 : end;
}

// "::h0123456789abcdef", which rustc ends names with.
bool ends_in_rust_hash(std::string_view name) {
  constexpr size_t kHash = 16;
  constexpr std::string_view kBegin = "::h";
  if (name.size() <= kHash + kBegin.size()) return false;
  const std::string_view end = name.substr(name.size() - kHash - kBegin.size());
  return end.starts_with(kBegin) &&
         end.substr(kBegin.size()).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string rust_spelling(std::string_view name) {
  if (!ends_in_rust_hash(name)) return std::string(name);
  name.remove_suffix(std::string_view("::h0123456789abcdef").size());
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const std::string_view rest = name.substr(at);
    if (at == 0 && rest.starts_with("_$")) {
      ++at;  // a symbol cannot begin with '$'
    } else if (rest.starts_with("..")) {
      out += "::";
      at += 2;
    } else if (const size_t end = escape_end(rest); end != 0 && rust_escape(rest.substr(1, end - 1)) != 0) {
      out += rust_escape(rest.substr(1, end - 1));
      at += end + 1;
    } else {
      out += rest[0];
      ++at;
    }
  }
  return out;
}

std::string shorter_name(std::string_view raw, NameRules rules, bool java) {
  std::string name(raw);
  if (rules == NameRules::kInferno && ends_in_rust_hash(name)) {
    name = rust_spelling(name);
  } else {
    tidy(name, rules);
  }
  if (java && name.starts_with('L') && contains(name, "/")) name.erase(0, 1);
  return name;
}

FrameTexts frame_texts(const FrameLine& line, const ScriptNameOptions& options, bool java, std::string_view source) {
  constexpr size_t kMostWithSource = 64 << 10;  // so much text has a place behind every name
  FrameTexts texts;
  std::string_view names = without_offset(line.function);
  if (names.starts_with('(')) return texts;  // the name of a process
  names = without_empty_ends(names);
  const std::string unknown = contains(names, kUnknown) ? stand_in(line, options.addresses) : "";
  while (!names.empty()) {
    const std::string_view raw = take_name(names);
    const bool known = raw != kUnknown;
    std::string name = shorter_name(known ? raw : unknown, options.rules, java);
    texts.frames == 0 ? mark(name, line, options) : mark_inlined(name);
    const bool placed = !source.empty() && texts.text.size() < kMostWithSource;
    if (placed && (known || line.module != kUnknown)) name.append(":").append(source);
    if (texts.frames > 0) texts.text += ';';
    texts.text += name;
    ++texts.frames;
    texts.named += known;
  }
  return texts;
}

}  // namespace tephra::formats
