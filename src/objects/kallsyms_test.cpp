#include "objects/kallsyms.h"

#include <gtest/gtest.h>

namespace tephra::objects {
namespace {

constexpr std::string_view kText =
    "0000000000001000 A percpu\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000100 t do_work\n"
    "ffffffff81000180 r not_code\n"
    "ffffffff81000200 W weak_one\n"
    "ffffffff82000000 T _etext\n"
    "ffffffff82000100 D data\n"
    "ffffffffc0000000 t mod_init\t[nf_tables]\n"
    "ffffffffc0000100 t bpf_prog_1_x\t[bpf]\n";

Kallsyms read(std::vector<uint64_t> wanted, std::string_view text, size_t piece = 7) {
  Kallsyms symbols(std::move(wanted));
  while (!text.empty()) {
    const auto part = text.substr(0, piece);
    if (!symbols.feed(base::as_bytes(part))) break;
    text.remove_prefix(part.size());
  }
  symbols.finish();
  return symbols;
}

std::string name_at(const Kallsyms& symbols, uint64_t address) {
  const auto* symbol = symbols.find(address);
  return symbol == nullptr ? "" : symbol->name + (symbol->module.empty() ? "" : " of " + symbol->module);
}

TEST(Kallsyms, NearestSymbolBelowWhateverThePieces) {
  const std::vector<uint64_t> wanted{0xffffffffc0000050, 0xffffffff81000150, 0xffffffff81000000,
                                     0xffffffff810001ff, 0xffffffff81000200, 0x500,
                                     0xffffffffc0000fff};
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, kText.size()}) {
    const Kallsyms symbols = read(wanted, kText, piece);
    EXPECT_EQ(name_at(symbols, 0xffffffff81000000), "_text");  // the last one listed there
    EXPECT_EQ(name_at(symbols, 0xffffffff81000150), "do_work");
    EXPECT_EQ(name_at(symbols, 0xffffffff810001ff), "do_work");  // read-only data is passed over
    EXPECT_EQ(name_at(symbols, 0xffffffff81000200), "weak_one");
    EXPECT_EQ(name_at(symbols, 0xffffffffc0000050), "mod_init of nf_tables");
    EXPECT_EQ(name_at(symbols, 0xffffffffc0000fff), "bpf_prog_1_x of bpf");
    EXPECT_EQ(symbols.find(0x500), nullptr);
    EXPECT_EQ(symbols.text_start(), 0xffffffff81000000);
    EXPECT_FALSE(symbols.hidden());
  }
}

TEST(Kallsyms, StopsAfterTheCodeOfTheImage) {
  Kallsyms symbols({0xffffffff81000150});
  EXPECT_FALSE(symbols.feed(base::as_bytes(kText)));
  symbols.finish();
  EXPECT_EQ(name_at(symbols, 0xffffffff81000150), "do_work");
  Kallsyms with_module({0xffffffffc0000000});
  EXPECT_TRUE(with_module.feed(base::as_bytes(kText)));
}

TEST(Kallsyms, UnsortedTextAndNoLastNewline) {
  const Kallsyms symbols = read({0x2005, 0x1005}, "2000 T second\n1000 T first\n2004 T last");
  EXPECT_EQ(name_at(symbols, 0x1005), "first");
  EXPECT_EQ(name_at(symbols, 0x2005), "last");
}

TEST(Kallsyms, HiddenAddresses) {
  const Kallsyms symbols = read({0x1000}, "0000000000000000 T _text\n0000000000000000 T do_work\n");
  EXPECT_TRUE(symbols.hidden());
  EXPECT_EQ(symbols.find(0x1000), nullptr);
  EXPECT_FALSE(read({0x1000}, "").hidden());
}

TEST(Kallsyms, GarbageIsPassedOver) {
  const Kallsyms symbols =
      read({0x1005}, "\n\nzz\n1000\n1000 T\n1000 T \n1001T x\nffffffffffffffffffff T y\n1002 T good\n");
  EXPECT_EQ(name_at(symbols, 0x1005), "good");
}

}  // namespace
}  // namespace tephra::objects
