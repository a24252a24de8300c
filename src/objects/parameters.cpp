#include "objects/parameters.h"

namespace tephra::objects {
namespace {

constexpr std::string_view kOperator = "operator";

bool is_word(char c) {
  return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool remove_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

// " [clone .part.0]", one or more of them.
size_t begin_of_clones(std::string_view name) {
  constexpr std::string_view kClone = " [clone ";
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] == ']') {
    const size_t clone = name.rfind(kClone, begin - 1);
    if (clone == std::string_view::npos || name.find(']', clone) != begin - 1) break;
    begin = clone;
  }
  return begin;
}

std::string_view without_qualifiers(std::string_view name) {
  while (remove_end(name, " const") || remove_end(name, " volatile") || remove_end(name, " &") ||
         remove_end(name, " &&") || remove_end(name, " noexcept")) {
  }
  return name;
}

// Of the bracket that ends `name`.
size_t opening_bracket(std::string_view name) {
  size_t depth = 0;
  for (size_t at = name.size(); at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool ends_with_word(std::string_view text, std::string_view word) {
  return text.ends_with(word) && (text.size() == word.size() || !is_word(text[text.size() - word.size() - 1]));
}

// "operator==", "operator->", "operator()": signs behind the word, and nothing else.
bool ends_with_operator(std::string_view name) {
  constexpr std::string_view kSigns = "+-*/%^&|~!=<>,()[]";
  const size_t behind = name.find_last_not_of(kSigns) + 1;
  return behind < name.size() && ends_with_word(name.substr(0, behind), kOperator);
}

// Whether what stands before a bracket is a function's name.
bool can_have_parameters(std::string_view name) {
  if (name.empty() || ends_with_word(name, kOperator)) return false;
  const char last = name.back();
  return is_word(last) || last == '>' || last == ']' || ends_with_operator(name);
}

}  // namespace

std::string without_parameters(std::string_view name) {
  const size_t clones = begin_of_clones(name);
  const std::string_view function = without_qualifiers(name.substr(0, clones));
  if (!function.ends_with(')')) return std::string(name);
  const size_t bracket = opening_bracket(function);
  if (bracket == std::string_view::npos || !can_have_parameters(function.substr(0, bracket))) return std::string(name);
  return std::string(function.substr(0, bracket)) + std::string(name.substr(clones));
}

}  // namespace tephra::objects
