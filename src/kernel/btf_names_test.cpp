#include "kernel/btf_names.h"

#include <gtest/gtest.h>

#include <string>

namespace tephra::kernel {
namespace {

void put(std::string& out, uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

// An integer, a struct of two members, a typedef and a function.
std::string small_btf() {
  const std::string strings{"\0int\0pair\0btf_trace_switch\0switch_to", 37};
  std::string types;
  const auto type = [&](uint32_t name, uint32_t kind, uint32_t members, std::initializer_list<uint32_t> rest) {
    put(types, name);
    put(types, kind << 24 | members);
    for (const uint32_t word : rest) put(types, word);
  };
  type(1, 1, 0, {4, 1u << 24 | 32});
  type(5, 4, 2, {8, 1, 1, 0, 1, 1, 32});
  type(10, 8, 0, {1});
  type(27, 12, 0, {1});
  std::string btf;
  put(btf, 0x0001eb9f);
  put(btf, 24);
  put(btf, 0);
  put(btf, static_cast<uint32_t>(types.size()));
  put(btf, static_cast<uint32_t>(types.size()));
  put(btf, static_cast<uint32_t>(strings.size()));
  return btf + types + strings;
}

TEST(BtfNames, FindsTypesByKindAndWholeName) {
  const std::string btf = small_btf();
  const auto bytes = base::as_bytes(btf);
  EXPECT_EQ(find_btf_type(bytes, BtfKind::kTypedef, "btf_trace_switch"), 3u);
  EXPECT_EQ(find_btf_type(bytes, BtfKind::kFunction, "switch_to"), 4u);
  EXPECT_FALSE(find_btf_type(bytes, BtfKind::kFunction, "btf_trace_switch"));
  EXPECT_FALSE(find_btf_type(bytes, BtfKind::kTypedef, "btf_trace"));
  EXPECT_FALSE(find_btf_type(bytes, BtfKind::kTypedef, "int"));
}

TEST(BtfNames, SurvivesEveryCutAndEveryDamagedByte) {
  const std::string btf = small_btf();
  for (size_t size = 0; size < btf.size(); ++size) {
    EXPECT_FALSE(find_btf_type(base::as_bytes(btf).first(size), BtfKind::kFunction, "switch_to")) << size;
  }
  for (size_t at = 0; at < btf.size(); ++at) {
    std::string damaged = btf;
    damaged[at] = static_cast<char>(0xff);
    find_btf_type(base::as_bytes(damaged), BtfKind::kFunction, "switch_to");
  }
}

}  // namespace
}  // namespace tephra::kernel
