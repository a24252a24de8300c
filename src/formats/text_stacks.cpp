#include "formats/text_stacks.h"

#include <charconv>
#include <optional>

#include "formats/script_modules.h"
#include "objects/parameters.h"

namespace tephra::formats {
namespace {

using model::CodeKind;

constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kDeleted = " (deleted))";
constexpr std::string_view kKernel = "[kernel.kallsyms]";
// Walks of user stacks that go astray find any number, but seldom these.
constexpr uint64_t kLowestKernelAddress = uint64_t{0xffff} << 48;

template <class Number>
bool parse(std::string_view text, Number& value, int base) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return !text.empty() && error == std::errc{} && stop == end;
}

// "0x55d0", which stands where no name is known.
bool is_address(std::string_view text, uint64_t& address) {
  return text.starts_with("0x") && parse(text.substr(2), address, 16);
}

// Takes "+92" and "+0x5c" off a name.
void take_offset(TextStacks::Frame& frame) {
  const size_t plus = frame.name.rfind('+');
  if (plus == std::string_view::npos || plus == 0) return;
  const std::string_view offset = frame.name.substr(plus + 1);
  const bool hex = offset.starts_with("0x");
  if (parse(hex ? offset.substr(2) : offset, frame.offset, hex ? 16 : 10)) frame.name = frame.name.substr(0, plus);
}

// "7a32fc push()+412 (/usr/lib/cc1plus)": the mode called perf prints an address without 0x, a name and a code object.
std::optional<TextStacks::Frame> parse_perf_frame(std::string_view text) {
  const size_t space = text.find(' ');
  // The brackets of a file that is gone belong to its path.
  const size_t bracket = text.substr(0, text.size() - (text.ends_with(kDeleted) ? kDeleted.size() : 0)).rfind(" (");
  if (!text.ends_with(')') || bracket == std::string_view::npos || space >= bracket) return std::nullopt;
  TextStacks::Frame frame{text.substr(space + 1, bracket - space - 1)};
  if (!parse(text.substr(0, space), frame.address, 16)) return std::nullopt;
  frame.module = text.substr(bracket + 2, text.size() - bracket - 3);
  return frame;
}

// Names beside a code object are those of perf, which are shown without parameters; others as they are printed.
std::string shown_name(const TextStacks::Frame& frame) {
  if (frame.name.empty()) return std::string(kUnknown);
  return frame.module.empty() ? std::string(frame.name) : objects::without_parameters(frame.name);
}

TextStacks::Frame parse_plain_frame(std::string_view text) {
  constexpr size_t kShortestAddress = 8;
  TextStacks::Frame frame{text};
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
  if (digits.size() >= kShortestAddress && parse(digits, frame.address, 16)) {
    frame.name = text.substr(word.size());
    while (frame.name.starts_with(' ')) frame.name.remove_prefix(1);
  }
  return frame;
}

}  // namespace

TextStacks::Frame TextStacks::parse_frame(std::string_view text) {
  Frame frame = parse_perf_frame(text).value_or(parse_plain_frame(text));
  take_offset(frame);
  if (frame.name == kUnknown || is_address(frame.name, frame.address)) frame.name = {};
  const bool told = !frame.module.empty() && frame.module != kUnknown;
  frame.kernel =
      told ? is_kernel(parse_script_module(frame.module, frame.address).kind) : frame.address >= kLowestKernelAddress;
  return frame;
}

model::MappingId TextStacks::mapping_of(const Frame& frame) {
  const bool told = !frame.module.empty() && frame.module != kUnknown;
  if (!told && !frame.kernel) return names_only_;
  const std::string_view module = told ? frame.module : kKernel;
  const ScriptModule parsed = parse_script_module(module, frame.address);
  if (parsed.kind != CodeKind::kJit)
    return assembler_.mapping({.path = assembler_.string(module), .kind = parsed.kind});
  if (frame.name.empty()) return assembler_.mapping({.kind = CodeKind::kAnonymous, .pid = parsed.pid});
  return assembler_.mapping({.path = assembler_.string(shown_name(frame)), .kind = parsed.kind, .pid = parsed.pid});
}

void TextStacks::add(const Sample& sample) {
  model::StackId stack;
  for (auto at = sample.frames.rbegin(); at != sample.frames.rend(); ++at) {
    const auto function = assembler_.function({.name = assembler_.string(shown_name(*at)),
                                               .system_name = assembler_.string(at->name),
                                               .named = !at->name.empty()});
    stack = assembler_.stack(
        stack,
        assembler_.frame(
            {.mapping = mapping_of(*at), .address = at->address, .function = function, .symbol_offset = at->offset}));
  }
  const std::string_view unit = sample.unit.empty() ? sample.event : sample.unit;
  const auto event = assembler_.event({assembler_.string(sample.event), assembler_.string(unit), {}, sample.uncounted});
  const auto thread = assembler_.thread({sample.pid, -1, assembler_.string(sample.comm)});
  samples_.add({.stack = stack, .event = event, .thread = thread, .count = sample.count, .value = sample.value});
}

model::Profile TextStacks::finish(std::string_view format) && {
  samples_.move_to(assembler_);
  assembler_.facts().format = format;
  assembler_.facts().engine = model::kEngineImported;
  return std::move(assembler_).finish();
}

}  // namespace tephra::formats
