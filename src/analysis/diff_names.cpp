#include "analysis/diff_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <vector>

#include "base/names.h"

namespace tephra::analysis {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// What stands before `at`, as far as it is worth looking back: names may be megabytes.
std::string_view just_before(std::string_view name, size_t at) {
  constexpr size_t kFar = 200;
  return name.substr(at > kFar ? at - kFar : 0, std::min(at, kFar));
}

// Drops " [clone .part.0]" from the end.
bool drop_clone_note(std::string_view& name) {
  if (!name.ends_with(']')) return false;
  const size_t open = name.rfind(" [clone ");
  if (open == std::string_view::npos || open == 0) return false;
  name = name.substr(0, open);
  return true;
}

// Drops ".constprop.0" and its like from the end: a word that compilers use, with a number behind it or without.
bool drop_clone_suffix(std::string_view& name) {
  constexpr std::array<std::string_view, 14> kWords{"constprop", "isra",  "part",       "cold", "lto_priv",
                                                    "llvm",      "clone", "localalias", "warm", "hot",
                                                    "unlikely",  "split", "__uniq",     "sra"};
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  const bool numbered = end > 0 && end < name.size() && name[end - 1] == '.';
  const std::string_view rest = numbered ? name.substr(0, end - 1) : name;
  const size_t dot = rest.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  if (std::find(kWords.begin(), kWords.end(), rest.substr(dot + 1)) == kWords.end()) return false;
  name = rest.substr(0, dot);
  return true;
}

// Drops "::h0123456789abcdef", which Rust puts behind names.
bool drop_rust_hash(std::string_view& name) {
  constexpr size_t kHash = 16;
  if (name.size() < kHash + 4 || name.substr(name.size() - kHash - 3, 3) != "::h") return false;
  const std::string_view hash = name.substr(name.size() - kHash);
  if (!std::all_of(hash.begin(), hash.end(), is_hex)) return false;
  name.remove_suffix(kHash + 3);
  return true;
}

// "[unknown] libfoo.so+0x1200" and "[unknown] 0x7f12" without the address.
bool drop_address(std::string_view& name) {
  if (!name.starts_with("[unknown]")) return false;
  const size_t at = name.rfind("0x");
  if (at == std::string_view::npos || at == 0 || (name[at - 1] != '+' && name[at - 1] != ' ')) return false;
  name = name.substr(0, at - 1);
  return true;
}

// How long the number is that begins at `at` and was given by a compiler: behind what stands before it, numbers change
// with every function that is added above.
size_t given_number(std::string_view name, size_t at) {
  const auto behind = [&](std::string_view word) { return name.substr(0, at).ends_with(word); };
  const size_t digits = digits_at(name, at);
  if (digits == 0) return 0;
  const bool closed = at + digits < name.size() && name[at + digits] == '}';
  if (name[at - 1] == '#' && closed) return digits;            // {lambda(int)#2}, {closure#0}, {unnamed type#1}
  if (behind("'lambda") || behind("'unnamed")) return digits;  // clang: 'lambda0'(int)
  if (behind("$_")) return digits;                             // clang: main::$_0
  if (behind("$$Lambda$") || behind("$$Lambda.")) return digits;
  if (behind("GeneratedMethodAccessor") || behind("GeneratedConstructorAccessor")) return digits;
  const size_t lambda = just_before(name, at).rfind("lambda$");  // Java: lambda$main$0
  const bool last = at + digits == name.size() || name[at + digits] == '(';
  if (lambda != std::string_view::npos && name[at - 1] == '$' && last) return digits;
  return 0;
}

// The same behind `at`, for what is dropped as a whole: "[abi:cxx11]", "/0x0000000800c03000" of Java's hidden classes.
size_t given_text(std::string_view name, size_t at) {
  const std::string_view rest = name.substr(at);
  if (rest.starts_with("[abi:")) {
    const size_t end = rest.find(']');
    return end == std::string_view::npos ? 0 : end + 1;
  }
  if (rest.starts_with("/0x") && just_before(name, at).find("$$Lambda") != std::string_view::npos) {
    size_t end = 3;
    while (end < rest.size() && is_hex(rest[end])) ++end;
    return end;
  }
  return 0;
}

// Of BPF programs the kernel calls bpf_prog_6deef7357e7b4530_name.
std::string without_program_tag(std::string name) {
  constexpr std::string_view kStart = "bpf_prog_";
  constexpr size_t kTag = 16;
  if (!name.starts_with(kStart) || name.size() <= kStart.size() + kTag || name[kStart.size() + kTag] != '_')
    return name;
  const std::string_view tag = std::string_view(name).substr(kStart.size(), kTag);
  if (std::all_of(tag.begin(), tag.end(), is_hex)) name.erase(kStart.size(), kTag + 1);
  return name;
}

}  // namespace

std::string name_across_builds(std::string_view name, const DiffNameOptions& options) {
  while (drop_clone_note(name) || drop_clone_suffix(name) || drop_rust_hash(name) || drop_address(name)) {
  }
  std::string out;
  out.reserve(name.size());
  const bool worth_it = name.find_first_of("#'$[A") != std::string_view::npos;
  for (size_t at = 0; at < name.size();) {
    size_t dropped = 0;
    if (worth_it && (name[at] == '[' || name[at] == '/')) dropped = given_text(name, at);
    if (worth_it && at > 0 && is_digit(name[at]) && !is_digit(name[at - 1])) dropped = given_number(name, at);
    if (dropped > 0) {
      at += dropped;
    } else {
      out += name[at++];
    }
  }
  out = without_program_tag(std::move(out));
  return options.merge_templates ? base::shorten_cpp_name(out) : out;
}

std::string module_across_builds(std::string_view path) {
  std::string_view name = base::path_base_name(path);
  if (const size_t so = name.find(".so."); so != std::string_view::npos) name = name.substr(0, so + 3);
  if (!name.ends_with(".so")) return std::string(name);
  const std::string_view stem = name.substr(0, name.size() - 3);
  const size_t dash = stem.rfind('-');
  const bool version = dash != std::string_view::npos && dash > 0 && dash + 1 < stem.size() &&
                       stem.find_first_not_of("0123456789.", dash + 1) == std::string_view::npos;
  return std::string(version ? stem.substr(0, dash) : stem) + ".so";
}

double name_likeness(std::string_view a, std::string_view b) {
  if (a == b) return 1;
  const auto pairs = [](std::string_view text) {
    std::vector<uint16_t> found;
    for (size_t i = 1; i < text.size(); ++i) {
      found.push_back(
          static_cast<uint16_t>(static_cast<unsigned char>(text[i - 1]) << 8 | static_cast<unsigned char>(text[i])));
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto of_a = pairs(a);
  const auto of_b = pairs(b);
  if (of_a.empty() || of_b.empty()) return 0;
  std::vector<uint16_t> common;
  std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
  return 2.0 * static_cast<double>(common.size()) / static_cast<double>(of_a.size() + of_b.size());
}

}  // namespace tephra::analysis
