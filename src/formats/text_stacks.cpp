#include "formats/text_stacks.h"

#include <charconv>

namespace tephra::formats {
namespace {

constexpr std::string_view kUnknown = "[unknown]";

template <class Number>
bool parse(std::string_view text, Number& value, int base) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return !text.empty() && error == std::errc{} && stop == end;
}

}  // namespace

TextStacks::Frame TextStacks::parse_frame(std::string_view text) {
  constexpr size_t kShortestAddress = 8;
  Frame frame{text};
  const std::string_view word = text.substr(0, text.find(' '));
  const std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
  if (digits.size() >= kShortestAddress && parse(digits, frame.address, 16)) {
    frame.name = text.substr(word.size());
    while (frame.name.starts_with(' ')) frame.name.remove_prefix(1);
    if (frame.name.empty()) frame.name = kUnknown;
  }
  const size_t plus = frame.name.rfind('+');
  if (plus != std::string_view::npos && plus > 0) {
    const std::string_view offset = frame.name.substr(plus + 1);
    const bool hex = offset.starts_with("0x");
    if (parse(hex ? offset.substr(2) : offset, frame.offset, hex ? 16 : 10)) frame.name = frame.name.substr(0, plus);
  }
  return frame;
}

void TextStacks::add(const Sample& sample) {
  model::StackId stack;
  for (auto at = sample.frames.rbegin(); at != sample.frames.rend(); ++at) {
    const bool named = !at->name.empty() && at->name != kUnknown;
    const auto function = assembler_.function({.name = assembler_.string(named ? at->name : kUnknown), .named = named});
    stack = assembler_.stack(
        stack, assembler_.frame(
                   {.mapping = mapping_, .address = at->address, .function = function, .symbol_offset = at->offset}));
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
