#pragma once

#include <string>
#include <string_view>

namespace tephra::analysis {

struct DiffNameOptions {
  bool merge_templates = false;  // names that differ in template arguments only are one function
};

// What a function is called in every build of a program: its name without what compilers and linkers add and number
// anew each time. That is suffixes of clones (.constprop.0, .isra.0, .part.0, .cold, .lto_priv.0, .llvm.123,
// [clone …]), hashes of Rust (::h0123456789abcdef) and of BPF programs, ABI tags ([abi:cxx11]), the numbers of lambdas,
// closures and unnamed types, those of Java's generated classes, and the addresses in stand-ins of unknown functions.
// Runs in time linear in the name; the result may be empty where the name is.
std::string name_across_builds(std::string_view name, const DiffNameOptions& options = {});

// A file's name without folders and without numbers of versions: "libc-2.31.so" and "libc.so.6" are "libc.so".
std::string module_across_builds(std::string_view path);

// How alike two names are, 0 to 1: the share of common pairs of letters (Dice's coefficient), in any order.
double name_likeness(std::string_view a, std::string_view b);

}  // namespace tephra::analysis
