#include "base/names.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace tephra::base {
namespace {

TEST(ShortenCppName, CollapsesArguments) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"main", "main"},
      {"std::sort<int*, foo(int)>", "std::sort<…>"},
      {"std::vector<std::vector<int> >::push_back", "std::vector<…>::push_back"},
      {"A<int>::B<long>::f", "A<…>::B<…>::f"},
      {"f<>", "f<>"},
      {"f<(Kind)1, (2>1)>::g", "f<…>::g"},
      {"f(int)", "f(int)"},
      {"f(std::vector<int>)", "f(std::vector<…>)"},
      {"f(int, char const*, unsigned long)", "f(…)"},
      {"(anonymous namespace)::f<int>", "(anonymous namespace)::f<…>"},
      {"Foo::operator()(int) const", "Foo::operator()(int) const"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(shorten_cpp_name(name), expected);
}

TEST(ShortenCppName, OperatorsAreNotBrackets) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"operator<", "operator<"},
      {"A<int>::operator<", "A<…>::operator<"},
      {"std::operator<< <std::char_traits<char> >", "std::operator<< <…>"},
      {"operator< <int>", "operator< <…>"},
      {"A::operator->", "A::operator->"},
      {"A<x>::operator->*", "A<…>::operator->*"},
      {"operator<=>", "operator<=>"},
      {"f<&A::operator< >::g", "f<…>::g"},
      {"f<&A::operator>>::g", "f<&A::operator>>::g"},  // ambiguous: kept rather than guessed
      {"B::operator std::vector<int>()", "B::operator std::vector<…>()"},
      {"my_operator<int>", "my_operator<…>"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(shorten_cpp_name(name), expected);
}

TEST(ShortenCppName, LambdasRustAndJava) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()"},
      {"run<main::{lambda(int)#1}>", "run<…>"},
      {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<…> as core::ops::Drop>::drop"},
      {"core::num::<impl core::fmt::Debug for Vec<u32>>::fmt", "core::num::<impl core::fmt::Debug for Vec<…>>::fmt"},
      {"foo::bar::<u8>", "foo::bar::<…>"},
      {"foo::call::<fn(u8) -> u8>::x", "foo::call::<…>::x"},
      {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
       "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
      {"Ljava/lang/String;::<init>", "Ljava/lang/String;::<init>"},
      {"<module>", "<module>"},
  };
  for (const auto& [name, expected] : cases) EXPECT_EQ(shorten_cpp_name(name), expected);
}

TEST(ShortenCppName, UnbalancedNamesStay) {
  for (const std::string_view name :
       {"a<b", "a>b", "a)b", "f(a", "<", ">", "a<(b>", "<<<", "x]y}z", "", "(", "a<b(c"}) {
    EXPECT_EQ(shorten_cpp_name(name), name);
  }
}

TEST(ShortenCppName, LongHostileNamesTakeLinearTime) {
  std::string name;
  for (int i = 0; i < 200'000; ++i) name += "<(";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(shorten_cpp_name(name), name);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST(SafeFileName, HostileTextIsOneHarmlessComponent) {
  EXPECT_EQ(safe_file_name("nginx-1.2"), "nginx-1.2");
  EXPECT_EQ(safe_file_name("../../etc/passwd"), "___.._etc_passwd");
  EXPECT_EQ(safe_file_name(".."), "__");
  EXPECT_EQ(safe_file_name("."), "_");
  EXPECT_EQ(safe_file_name("-rf"), "_rf");
  EXPECT_EQ(safe_file_name(".-.x"), "___x");
  EXPECT_EQ(safe_file_name(""), "unnamed");
  EXPECT_EQ(safe_file_name("a\nb\tc d"), "a_b_c_d");
  EXPECT_EQ(safe_file_name("\xff\xfe$`;|"), "______");
  EXPECT_EQ(safe_file_name(std::string_view("a\0b", 3)), "a_b");
  EXPECT_EQ(safe_file_name(std::string(5000, 'x')).size(), 100u);
}

TEST(SafeFileName, EveryByteIsSafe) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = safe_file_name(std::string(1, static_cast<char>(byte)));
    EXPECT_EQ(name.size(), 1u);
    EXPECT_EQ(name.find_first_of("/\\\"'$`;|&*?~<>() \n.-"), std::string::npos) << byte;
  }
}

TEST(PathBaseName, LastPart) {
  EXPECT_EQ(path_base_name("/usr/lib/libc.so.6"), "libc.so.6");
  EXPECT_EQ(path_base_name("[kernel]"), "[kernel]");
  EXPECT_EQ(path_base_name("/"), "/");
  EXPECT_EQ(path_base_name(""), "");
}

}  // namespace
}  // namespace tephra::base
