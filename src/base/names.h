#pragma once

#include <string>
#include <string_view>

namespace tephra::base {

// A function's name for the eye: template arguments become `<…>` and long parameter lists `(…)`. Operators
// (`operator<`, `operator->`), lambdas, `(anonymous namespace)`, Rust's `<T as Trait>::f` and names whose brackets do
// not match stay readable. Runs in time linear in the name.
//   std::sort<int*, foo(int)>  ->  std::sort<…>
std::string shorten_cpp_name(std::string_view name);

// A single harmless path component made from any text (a thread's name, a container's): only letters, digits and
// `._+=-`, no leading dot or dash, never empty, at most 100 bytes. Different texts may become the same name.
std::string safe_file_name(std::string_view text);

// The part of a path behind its last slash; the path itself where that part is empty.
std::string_view path_base_name(std::string_view path);

}  // namespace tephra::base
