#include "objects/parameters.h"

#include <gtest/gtest.h>

#include "objects/demangle.h"

namespace tephra::objects {
namespace {

TEST(Parameters, TheFunctionsOwnListIsLeftOut) {
  EXPECT_EQ(without_parameters("ns::leaf(int)"), "ns::leaf");
  EXPECT_EQ(without_parameters("f(void (*)(int), std::function<int (int)>)"), "f");
  EXPECT_EQ(without_parameters("foo(int)::{lambda(int)#1}::operator()(int) const"),
            "foo(int)::{lambda(int)#1}::operator()");
  EXPECT_EQ(without_parameters("{lambda(int)#1}::operator()(int) const"), "{lambda(int)#1}::operator()");
  EXPECT_EQ(without_parameters("(anonymous namespace)::work(int)"), "(anonymous namespace)::work");
  EXPECT_EQ(without_parameters("std::function<int (int)>::operator()(int) const"),
            "std::function<int (int)>::operator()");
  EXPECT_EQ(without_parameters("T::operator->() const"), "T::operator->");
  EXPECT_EQ(without_parameters("a::operator->*(b)"), "a::operator->*");
  EXPECT_EQ(without_parameters("operator new[](unsigned long)"), "operator new[]");
  EXPECT_EQ(without_parameters("decltype(auto) f<int>(int)"), "decltype(auto) f<int>");
  EXPECT_EQ(without_parameters("name[abi:cxx11](int) &&"), "name[abi:cxx11]");
  EXPECT_EQ(without_parameters("f(int) [clone .isra.0] [clone .cold]"), "f [clone .isra.0] [clone .cold]");
}

TEST(Parameters, WhatIsNoListStays) {
  for (const std::string name : {"",
                                 "main",
                                 "(root)",
                                 "(garbage collector)",
                                 "(DOM) Document.activeElement",
                                 "net/http.(*Client).Do",
                                 "foo(int)::{lambda(int)#1}::operator()",
                                 "foo(int)::{lambda(int)#1}",
                                 "bool (*g())(int)",
                                 "A::operator void (*)()",
                                 "render (file.js:12)",
                                 "std::function<int (int)>",
                                 "f)",
                                 ")",
                                 "(",
                                 "f(()",
                                 "()",
                                 "myoperator",
                                 "f [clone .cold]",
                                 "<T as Trait<fn(u8)>>::call",
                                 "operator()"}) {
    EXPECT_EQ(without_parameters(name), name);
  }
  EXPECT_EQ(without_parameters("cooperator()"), "cooperator");
}

// Text and symbol table agree on what a function is called.
TEST(Parameters, AgreesWithTheDemangler) {
  for (const std::string symbol : {"_ZZ3fooiENKUliE_clEi", "_Z1gv", "_ZNKSt8functionIFiiEEclEi", "_ZN1AcviEv",
                                   "_ZN12_GLOBAL__N_14workEi", "_ZNKR1A1fEv", "_ZN1AptEv", "_ZN1A1fB5cxx11Ei"}) {
    EXPECT_EQ(without_parameters(demangle(symbol, Parameters::kShow)), demangle(symbol)) << symbol;
  }
}

}  // namespace
}  // namespace tephra::objects
