#include "objects/type_names.h"

#include <dwarf.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tephra::objects {
namespace {

// Deeper than types nest, and longer than names of types are; bounds the work on hostile input.
constexpr int kDeepest = 24;
constexpr size_t kLongest = 4096;
constexpr size_t kMostParameters = 64;

constexpr const char* kUnknown = "…";

// GCC names the types of integers in its own order of words.
std::string_view demangled_name(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{{
      {"long int", "long"},
      {"long unsigned int", "unsigned long"},
      {"short int", "short"},
      {"short unsigned int", "unsigned short"},
      {"long long int", "long long"},
      {"long long unsigned int", "unsigned long long"},
      {"__int128 unsigned", "unsigned __int128"},
  }};
  for (const auto& [dwarf, demangled] : kNames) {
    if (name == dwarf) return demangled;
  }
  return name;
}

std::optional<Dwarf_Die> type_of(Dwarf_Die& entry) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (::dwarf_attr_integrate(&entry, DW_AT_type, &attribute) == nullptr) return std::nullopt;
  if (::dwarf_formref_die(&attribute, &type) == nullptr) return std::nullopt;
  return type;
}

// The type behind the names that were given to it.
Dwarf_Die without_typedefs(Dwarf_Die type) {
  for (int i = 0; i < kDeepest && ::dwarf_tag(&type) == DW_TAG_typedef; ++i) {
    const auto next = type_of(type);
    if (!next) break;
    type = *next;
  }
  return type;
}

template <class Visit>
void for_each_child(Dwarf_Die entry, Visit visit) {
  Dwarf_Die child;
  if (::dwarf_child(&entry, &child) != 0) return;
  do {
    if (!visit(child)) return;
  } while (::dwarf_siblingof(&child, &child) == 0);
}

class TypeSpeller {
 public:
  explicit TypeSpeller(const ScopesOfType& scopes_of) : scopes_of_(scopes_of) {}

  // `declarator` stands where a name would: "*" of a pointer to what is spelled.
  std::string spell(std::optional<Dwarf_Die> given, const std::string& declarator, int depth) {
    if (!given) return "void" + declarator;
    if (depth > kDeepest) return kUnknown + declarator;
    Dwarf_Die type = without_typedefs(*given);
    const auto pointed = [&](const char* sign) { return spell(type_of(type), sign + declarator, depth + 1); };
    switch (::dwarf_tag(&type)) {
      case DW_TAG_pointer_type:
        return pointed("*");
      case DW_TAG_reference_type:
        return pointed("&");
      case DW_TAG_rvalue_reference_type:
        return pointed("&&");
      case DW_TAG_const_type:
        return pointed(" const");
      case DW_TAG_volatile_type:
        return pointed(" volatile");
      case DW_TAG_restrict_type:
        return pointed(" restrict");
      case DW_TAG_subroutine_type:
        return spell(type_of(type), "", depth + 1) + " (" + declarator + ")(" + parameters(type, depth + 1) + ")";
      case DW_TAG_array_type:
        return spell(type_of(type), "", depth + 1) + (declarator.empty() ? "" : " (" + declarator + ")") +
               dimensions(type);
      case DW_TAG_base_type:
      case DW_TAG_unspecified_type:
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:
        return named(type) + declarator;
      default:
        return kUnknown + declarator;
    }
  }

  std::string parameters(Dwarf_Die& function, int depth) {
    std::string text;
    size_t count = 0;
    for_each_child(function, [&](Dwarf_Die& child) {
      const int tag = ::dwarf_tag(&child);
      const bool parameter = tag == DW_TAG_formal_parameter && ::dwarf_hasattr(&child, DW_AT_artificial) == 0;
      if (!parameter && tag != DW_TAG_unspecified_parameters) return true;
      if (count++ > 0) text += ", ";
      text += parameter ? one_parameter(child, depth) : "...";
      return text.size() < kLongest && count < kMostParameters;
    });
    return text;
  }

  // The types that the template parameters of a function stand for, in their order.
  void read_template_parameters(Dwarf_Die& function) {
    for_each_child(function, [&](Dwarf_Die& child) {
      if (::dwarf_tag(&child) != DW_TAG_template_type_parameter) return true;
      const auto type = type_of(child);
      automatic_.push_back(type ? type->addr : nullptr);
      return automatic_.size() < kMostParameters;
    });
  }

 private:
  std::string one_parameter(Dwarf_Die& parameter, int depth) {
    const auto type = type_of(parameter);
    for (size_t i = 0; type && i < automatic_.size(); ++i) {
      if (automatic_[i] == type->addr) return "auto:" + std::to_string(i + 1);
    }
    return spell(type, "", depth);
  }

  std::string named(Dwarf_Die& type) {
    const char* name = ::dwarf_diename(&type);
    const int tag = ::dwarf_tag(&type);
    if (name == nullptr) return kUnknown;
    if (tag == DW_TAG_base_type) return std::string(demangled_name(name));
    if (tag == DW_TAG_unspecified_type) return std::string(name).starts_with("decltype") ? "decltype(nullptr)" : name;
    return scopes_of_(type) + name;
  }

  static std::string dimensions(Dwarf_Die& array) {
    std::string text;
    for_each_child(array, [&](Dwarf_Die& child) {
      if (::dwarf_tag(&child) != DW_TAG_subrange_type) return true;
      Dwarf_Attribute attribute;
      Dwarf_Word count = 0;
      const bool known =
          (::dwarf_attr(&child, DW_AT_upper_bound, &attribute) != nullptr &&
           ::dwarf_formudata(&attribute, &count) == 0 && ++count != 0) ||
          (::dwarf_attr(&child, DW_AT_count, &attribute) != nullptr && ::dwarf_formudata(&attribute, &count) == 0);
      text += known ? " [" + std::to_string(count) + "]" : " []";
      return text.size() < kLongest;
    });
    return text;
  }

  const ScopesOfType& scopes_of_;
  std::vector<const void*> automatic_;
};

}  // namespace

std::string parameter_types(Dwarf_Die function, const ScopesOfType& scopes_of) {
  TypeSpeller speller(scopes_of);
  speller.read_template_parameters(function);
  std::string text = speller.parameters(function, 0);
  return text.size() <= kLongest ? text : kUnknown;
}

}  // namespace tephra::objects
