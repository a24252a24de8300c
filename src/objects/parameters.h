#pragma once

#include <string>
#include <string_view>

namespace tephra::objects {

// A source name without its own list of parameters and what stands behind that: of a function within another, the
// list of the outer one stays, since it is a part of the name.
//   foo(int)::{lambda(int)#1}::operator()(int) const  ->  foo(int)::{lambda(int)#1}::operator()
// What only looks like a list is kept: "(root)", "bool (*g())(int)", "A::operator void (*)()", "f (file.js)".
std::string without_parameters(std::string_view name);

}  // namespace tephra::objects
