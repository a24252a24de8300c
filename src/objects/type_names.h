#pragma once

#include <elfutils/libdw.h>

#include <functional>
#include <string>

namespace tephra::objects {

// What stands before the name of a type: the namespaces, types and functions around its entry, each with "::".
using ScopesOfType = std::function<std::string(Dwarf_Die&)>;

// The types of a function's parameters, in the spelling of GNU's demangler: "int, std::vector<int> const&". Without the
// object it is called on. "auto:1" for those that a template parameter of the function decides, as in a generic lambda.
// What cannot be spelled is "…".
std::string parameter_types(Dwarf_Die function, const ScopesOfType& scopes_of);

}  // namespace tephra::objects
