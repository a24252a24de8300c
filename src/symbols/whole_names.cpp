#include "symbols/whole_names.h"

#include <string>

#include "objects/demangle.h"
#include "objects/parameters.h"

namespace tephra::symbols {
namespace {

std::string whole_name(std::string_view shown, std::string_view system_name) {
  if (system_name.empty() || system_name == shown) return std::string(shown);
  if (objects::is_mangled(system_name)) {
    const bool same = objects::demangle(system_name) == shown;
    return same ? objects::demangle(system_name, objects::Parameters::kShow) : std::string(shown);
  }
  return std::string(objects::without_parameters(system_name) == shown ? system_name : shown);
}

}  // namespace

void show_whole_names(model::Profile& profile) {
  model::for_each_id(profile.functions, [&](model::FunctionId id) {
    model::Function& function = profile.functions[id];
    function.name = profile.strings.add(whole_name(profile.text(function.name), profile.text(function.system_name)));
  });
}

}  // namespace tephra::symbols
