#include "formats/script_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/names.h"
#include "formats/plain_text.h"
#include "formats/script_lines.h"
#include "formats/script_modules.h"
#include "formats/script_names.h"
#include "objects/demangle.h"
#include "objects/parameters.h"

namespace tephra::formats {
namespace {

using model::CodeKind;

constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kDeleted = " (deleted))";

std::optional<uint64_t> hex(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool is_indented(std::string_view text) { return !text.empty() && is_space(text[0]); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Lines of perf script -F ip,sym name no module, those of -F ip no function.
std::optional<FrameLine> parse_bare_frame(std::string_view text) {
  if (!is_indented(text)) return std::nullopt;
  text = trimmed(text);
  const std::string_view address = text.substr(0, text.find(' '));
  if (!hex(address)) return std::nullopt;
  const std::string_view function = trimmed(text.substr(address.size()));
  return FrameLine{address, function.empty() ? kUnknown : function, kUnknown};
}

// The brackets of a file that is gone belong to its path: "f (/tmp/x (deleted))".
std::optional<FrameLine> parse_frame_of_deleted(std::string_view text) {
  const size_t bracket = text.substr(0, text.size() - kDeleted.size()).rfind(" (");
  if (bracket == std::string_view::npos) return std::nullopt;
  auto frame = parse_bare_frame(text.substr(0, bracket));
  if (frame) frame->module = text.substr(bracket + 2, text.size() - bracket - 3);
  return frame;
}

std::optional<FrameLine> parse_any_frame(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
  std::optional<FrameLine> frame;
  if (text.ends_with(kDeleted)) frame = parse_frame_of_deleted(text);
  if (!frame && text.ends_with(')')) frame = parse_frame_line(text);
  return frame ? frame : parse_bare_frame(text);
}

// "libGLESv2_adreno.so[+29c3f0]" is simpleperf's word for an unknown function.
bool is_place_in_file(std::string_view function, std::string_view file) {
  return function.ends_with(']') && function.starts_with(file) && function.substr(file.size()).starts_with("[+");
}

// What stands for an unknown function tells places apart, as it does for recordings. Addresses of files are offsets.
std::string unknown_name(std::string_view module, uint64_t address) {
  const std::string_view file = cut_file_name(base::path_base_name(module));
  if (address == 0) return module == kUnknown ? std::string(kUnknown) : fmt::format("{} {}", kUnknown, file);
  if (module == kUnknown) return fmt::format("{} {:#x}", kUnknown, address);
  const CodeKind kind = parse_script_module(module, address).kind;
  const bool generated = kind == CodeKind::kJit || kind == CodeKind::kAnonymous;
  return fmt::format("{} {}+{:#x}", kUnknown, generated ? "[anon]" : file, address);
}

// "Lcom/a/B;.run(Ljava/lang/Object;)V", as perf maps of Java have it.
bool is_java_signature(std::string_view raw) { return raw.starts_with('L') && raw.find('/') != std::string_view::npos; }

// A name for the eye: demangled, without parameters. What is folded is cut at the first bracket, as others do it; that
// would count what a lambda took as the function's around it.
std::string shown_name(std::string_view raw, bool generated) {
  if (objects::is_mangled(raw)) return objects::demangle(raw);
  if (generated && is_java_signature(raw)) return shorter_name(raw, NameRules::kInferno, true);
  return objects::without_parameters(rust_spelling(raw));
}

}  // namespace

bool is_frame_line(std::string_view text) { return is_indented(text) && parse_any_frame(text); }

std::string_view place_in(std::string_view rest) {
  constexpr size_t kShortestAddress = 6;  // what a tracepoint tells is full of shorter numbers
  if (!rest.ends_with(')')) return {};
  std::string_view place;
  for (size_t at = 0; at < rest.size();) {
    const size_t end = std::min(rest.size(), rest.find(' ', at));
    const bool long_enough = at == 0 || end - at >= kShortestAddress;
    if (long_enough && end < rest.size() && hex(rest.substr(at, end - at))) place = rest.substr(at);
    at = std::min(rest.size(), rest.find_first_not_of(' ', end));
  }
  return place;
}

ScriptStacks::Line ScriptStacks::parse(std::string_view text) {
  Line line;
  const auto frame = parse_any_frame(text);
  if (!frame) return line;
  line.is_frame = true;
  line.address = hex(frame->address).value_or(0);
  line.inlined = frame->module == "inlined";
  line.module = frame->module;
  const std::string_view function = trimmed(without_offset(frame->function));
  if (const size_t plus = without_offset(frame->function).size(); plus < frame->function.size()) {
    line.offset = static_cast<uint32_t>(hex(frame->function.substr(plus + 3)).value_or(0));
  }
  const bool generated = parse_script_module(line.module, line.address).kind == CodeKind::kJit;
  const std::string_view file = base::path_base_name(line.module);
  // What was inlined is told so in perf maps of Java alone; elsewhere "->" is an operator's name.
  for (std::string_view left = function; !left.empty();) {
    const size_t end = generated ? left.find("->") : std::string_view::npos;
    const std::string_view raw = left.substr(0, end);
    left.remove_prefix(end == std::string_view::npos ? left.size() : end + 2);
    if (raw.empty()) continue;
    const bool named = raw != kUnknown && !is_place_in_file(raw, file);
    line.functions.push_back({named ? shown_name(raw, generated) : std::string(raw), std::string(raw), named});
  }
  if (line.functions.empty()) line.functions.push_back({std::string(kUnknown), {}, false});
  const std::string unknown = unknown_name(line.module, line.address);
  for (Function& part : line.functions) {
    if (part.raw == kUnknown) part.name = unknown;
    if (!part.named) part.raw.clear();
  }
  return line;
}

const ScriptStacks::Line& ScriptStacks::line_of(std::string_view text) {
  const uint32_t known = numbers_.add(key_of(text));
  if (known != KeyNumbers::kNew) return lines_[known];
  return lines_.emplace_back(parse(text));
}

// "  file.cpp:137", and "  libc-2.33.so[27b25]" where the line is not known.
bool ScriptStacks::add_source(std::string_view text) {
  if (entries_.empty() || !is_indented(text)) return false;
  text = trimmed(text);
  if (text.ends_with(']') && text.find('[') != std::string_view::npos) return true;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view number = text.substr(colon + 1);
  uint32_t line = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line);
  if (number.empty() || error != std::errc{} || end != number.data() + number.size()) return false;
  entries_.back().file = text.substr(0, colon);
  entries_.back().source_line = line;
  return true;
}

model::StackId ScriptStacks::read(std::string_view body) {
  entries_.clear();
  while (!body.empty()) {
    const std::string_view text = take_line(body);
    if (text.empty() || text.starts_with('#')) continue;
    const Line& line = line_of(text);
    if (line.is_frame) {
      entries_.push_back({&line, {}, 0});
    } else if (!add_source(text)) {
      ++malformed_;
    }
  }
  // What was inlined into the innermost function is at the same instruction as that.
  const auto physical = std::ranges::find(entries_, false, [](const Entry& entry) { return entry.line->inlined; });
  const auto leaf = static_cast<size_t>(physical - entries_.begin());
  model::StackId stack;
  around_ = {};
  for (size_t i = entries_.size(); i > 0; --i) stack = add(stack, entries_[i - 1], i - 1 <= leaf);
  return stack;
}

model::FunctionId ScriptStacks::function_of(const Function& function) {
  return assembler_.function({.name = assembler_.string(function.name),
                              .system_name = assembler_.string(function.raw),
                              .named = function.named});
}

model::MappingId ScriptStacks::mapping_of(const Line& line, const Function& function) {
  const ScriptModule module = parse_script_module(line.module, line.address);
  switch (module.kind) {
    case CodeKind::kNone:
      return {};
    case CodeKind::kKernelUnmapped:
      return assembler_.mapping({.kind = module.kind});
    case CodeKind::kJit:
      if (!function.named) return assembler_.mapping({.kind = CodeKind::kAnonymous, .pid = module.pid});
      return assembler_.mapping({.path = assembler_.string(function.name), .kind = module.kind, .pid = module.pid});
    default:
      return assembler_.mapping({.path = assembler_.string(line.module), .kind = module.kind});
  }
}

model::StackId ScriptStacks::add(model::StackId stack, const Entry& entry, bool innermost) {
  const Line& line = *entry.line;
  model::Frame frame{.kind = innermost ? model::AddressKind::kInstruction : model::AddressKind::kReturn,
                     .address = line.address,
                     .file = assembler_.string(entry.file),
                     .line = entry.source_line,
                     .symbol_offset = line.offset};
  frame.mapping = line.inlined ? around_.mapping : mapping_of(line, line.functions[0]);
  frame.inlined = line.inlined;
  for (const Function& function : line.functions) {
    frame.function = function_of(function);
    stack = assembler_.stack(stack, assembler_.frame(frame));
    if (!frame.inlined) around_ = frame;
    frame.inlined = true;
  }
  return stack;
}

}  // namespace tephra::formats
