#include "objects/demangle.h"

#include <algorithm>
#include <cctype>
#include <csetjmp>
#include <cstdlib>
#include <memory>

// libiberty's header declares basename() unless told that it is declared.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

namespace tephra::objects {
namespace {

// libiberty refuses C++ names beyond this length unless its guard against deep recursion is taken off.
constexpr size_t kGuardedLength = 1000;
// Without the guard the parser's stack grows with the name; this much fits the stack of any thread.
constexpr size_t kLongestName = 8 << 10;
// A few hundred characters of mangled name can stand for gigabytes of text.
constexpr size_t kLongestOutput = 64 << 10;
// References back into a D name multiply its length; libiberty offers no way to stop it there.
constexpr size_t kLongestD = 1 << 10;
constexpr ptrdiff_t kMostReferencesD = 20;
constexpr std::string_view kStubMark = "@plt";

// Collects demangled text. Past the limit it jumps out of libiberty, whose callback interface keeps nothing on the
// heap.
struct Output {
  std::string text;
  std::jmp_buf overflow;
};

void append(const char* text, size_t size, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (output->text.size() + size > kLongestOutput) std::longjmp(output->overflow, 1);
  output->text.append(text, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Empty when the name is not of this kind or too large.
std::string demangle_with(Demangler demangler, const char* symbol, int options) {
  Output output;
  // Nothing between here and the jump owns anything: no local of this function changes after setjmp but `output`.
  if (setjmp(output.overflow) != 0) return {};
  if (demangler(symbol, options, append, &output) == 0) return {};
  return std::move(output.text);
}

std::string demangle_d(const std::string& symbol) {
  if (symbol.size() > kLongestD || std::count(symbol.begin(), symbol.end(), 'Q') > kMostReferencesD) return {};
  const std::unique_ptr<char, decltype(&std::free)> text(dlang_demangle(symbol.c_str(), 0), std::free);
  return text ? std::string(text.get()).substr(0, kLongestOutput) : std::string();
}

bool is_cxx(std::string_view symbol) { return symbol.starts_with("_Z"); }
bool is_rust(std::string_view symbol) { return symbol.starts_with("_R"); }
bool is_d(std::string_view symbol) {
  return symbol == "_Dmain" || (symbol.size() > 2 && symbol.starts_with("_D") &&
                                (std::isdigit(static_cast<unsigned char>(symbol[2])) != 0 || symbol[2] == 'Q'));
}

// Reads what is left of a cut C++ name: the identifiers of its outermost name, up to the first thing that is not one.
class TruncatedName {
 public:
  explicit TruncatedName(std::string_view symbol) : rest_(symbol.substr(2)) {}

  std::string read() {
    skip_all('Z');
    const bool nested = skip('N');
    while (skip('K') || skip('V') || skip('r') || skip('O') || skip('R')) {
    }
    if (skip("St")) add("std");
    while (read_identifier() && nested) {
    }
    if (name_.empty()) return {};
    if (rest_.starts_with('I')) name_ += "<…>";
    return name_ + " [truncated]";
  }

 private:
  bool skip(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void skip_all(char letter) {
    while (skip(letter)) {
    }
  }
  void add(std::string_view part) {
    if (!name_.empty()) name_ += "::";
    name_ += part;
  }

  bool read_identifier() {
    skip('L');  // internal linkage
    size_t length = 0;
    size_t digits = 0;
    while (digits < rest_.size() && digits < 5 && std::isdigit(static_cast<unsigned char>(rest_[digits])) != 0) {
      length = length * 10 + static_cast<size_t>(rest_[digits++] - '0');
    }
    if (digits == 0 || length == 0 || digits == rest_.size()) return false;
    rest_.remove_prefix(digits);
    const std::string_view part = rest_.substr(0, length);
    const bool whole = part.size() == length;
    add(part.starts_with("_GLOBAL__N") ? std::string_view("(anonymous namespace)") : part);
    if (!whole) name_ += "…";
    rest_.remove_prefix(part.size());
    return whole;
  }

  std::string_view rest_;
  std::string name_;
};

std::string demangle_cxx(const std::string& symbol, int options) {
  // Rust's older mangling is a C++ name that ends with a hash; it must be tried first.
  if (std::string text = demangle_with(rust_demangle_callback, symbol.c_str(), options); !text.empty()) return text;
  if (symbol.size() > kGuardedLength) options |= DMGL_NO_RECURSE_LIMIT;
  return demangle_with(cplus_demangle_v3_callback, symbol.c_str(), options);
}

}  // namespace

bool is_mangled(std::string_view symbol) { return is_cxx(symbol) || is_rust(symbol) || is_d(symbol); }

std::string demangle(std::string_view symbol, Parameters parameters) {
  // A stub of the procedure linkage table carries its mark behind the name it jumps to.
  if (symbol.ends_with(kStubMark)) {
    return demangle(symbol.substr(0, symbol.size() - kStubMark.size()), parameters) + std::string(kStubMark);
  }
  if (symbol.size() > kLongestName || !is_mangled(symbol)) return std::string(symbol);
  // Copied, since libiberty wants an end.
  const std::string whole(symbol);
  const int options = parameters == Parameters::kShow ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS;
  std::string text;
  if (is_cxx(symbol)) {
    text = demangle_cxx(whole, options);
    if (text.empty()) text = TruncatedName(symbol).read();
  } else if (is_rust(symbol)) {
    text = demangle_with(rust_demangle_callback, whole.c_str(), options);
  } else {
    text = demangle_d(whole);
  }
  return text.empty() ? whole : text;
}

}  // namespace tephra::objects
