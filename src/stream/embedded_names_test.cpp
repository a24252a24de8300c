#include "stream/embedded_names.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/zstd_stream.h"
#include "stream/checksum.h"

namespace tephra::stream {
namespace {

using model::EmbeddedNames;

constexpr size_t kHeader = 32;

model::BuildId build_id(uint8_t first) {
  std::array<std::byte, 20> bytes{};
  bytes[0] = std::byte{first};
  return model::BuildId(bytes);
}

EmbeddedSection example(uint32_t rows = 3) {
  EmbeddedSection section;
  EmbeddedNames& names = section.names;
  EmbeddedNames::Module module;
  module.mapping.path = names.strings.add("/usr/bin/server");
  module.mapping.build_id = build_id(7);
  module.mapping.kind = model::CodeKind::kFile;
  module.has_lines = true;
  module.row_count = rows;
  for (uint32_t i = 0; i < rows; ++i) {
    EmbeddedNames::Row row;
    row.address = 0x1000 + 16 * (i / 2);
    row.kind = i % 2 == 0 ? model::AddressKind::kInstruction : model::AddressKind::kReturn;
    row.named = i != 1;
    row.facts = model::kOutermost | model::kFrameNotSetUp;
    row.symbol_offset = i;
    row.first_level = static_cast<uint32_t>(names.levels.size());
    row.level_count = 1 + i % 2;
    if (!row.named) row.reason = model::Reason::no_symbol;
    for (uint32_t level = 0; level < row.level_count; ++level) {
      names.levels.push_back({names.strings.add("[unknown] server+0x10"),
                              names.strings.add("_Z" + std::to_string(i) + std::string(level, 'x')),
                              names.strings.add("/src/server.cpp"), 40 + level});
    }
    names.rows.push_back(row);
  }
  names.modules.push_back(module);
  EmbeddedNames::Module jit;
  jit.mapping = {
      .path = names.strings.add("//anon"), .kind = model::CodeKind::kAnonymous, .base = 0x7f00'0000'0000, .pid = -1};
  jit.mapping.file = {5, 6, 7};
  jit.first_row = rows;
  names.modules.push_back(jit);
  const std::array<uint64_t, 3> chain{0x7fff'1234, 0x5555'0000, 0xffff'ffff'ffff'ff00};
  section.walks.add_chain(chain, TEPHRA_WALK_OUTERMOST);
  section.walks.add_chain({}, {TEPHRA_WALK_NO_FILE, true});
  section.walks.add_walk(4096, 1);
  section.walks.add_walk(96, 0);
  section.walks.finish();
  return section;
}

void expect_equal(const EmbeddedSection& a, const EmbeddedSection& b) {
  EXPECT_EQ(a.names.rows, b.names.rows);
  EXPECT_EQ(a.names.levels, b.names.levels);
  EXPECT_EQ(a.names.modules, b.names.modules);
  ASSERT_EQ(a.names.strings.size(), b.names.strings.size());
  for (uint32_t i = 0; i < a.names.strings.size(); ++i) {
    EXPECT_EQ(a.names.strings[model::StringId{i}], b.names.strings[model::StringId{i}]);
  }
  EXPECT_EQ(a.walks.walks(), b.walks.walks());
}

TEST(EmbeddedNames, AreReadAsTheyWereWritten) {
  for (const uint32_t rows : {0u, 3u, 2000u}) {
    const EmbeddedSection section = example(rows);
    const auto text = print_section(section);
    ASSERT_TRUE(text);
    const auto read = parse_section(base::as_bytes(*text));
    ASSERT_TRUE(read) << read.error().message();
    expect_equal(section, *read);
    RecordedWalks::Chain chain;
    ASSERT_TRUE(read->walks.find(96, chain));
    EXPECT_EQ(chain.end, TEPHRA_WALK_OUTERMOST);
    EXPECT_EQ(std::vector(chain.addresses.begin(), chain.addresses.end()),
              (std::vector<uint64_t>{0x7fff'1234, 0x5555'0000, 0xffff'ffff'ffff'ff00}));
    ASSERT_TRUE(read->walks.find(4096, chain));
    EXPECT_TRUE(chain.addresses.empty());
    EXPECT_EQ(chain.end, WalkEnd(TEPHRA_WALK_NO_FILE, true));
    EXPECT_FALSE(read->walks.find(97, chain));
  }
}

TEST(EmbeddedNames, ManyAreCompressed) {
  const auto text = print_section(example(2000));
  ASSERT_TRUE(text);
  EXPECT_LT(text->size(), 20'000u);
}

TEST(EmbeddedNames, DamagedOnesAreRefused) {
  for (const uint32_t rows : {3u, 2000u}) {
    const auto text = print_section(example(rows));
    ASSERT_TRUE(text);
    for (size_t cut = 0; cut < text->size(); cut += 1 + text->size() / 300) {
      EXPECT_FALSE(parse_section(base::as_bytes(std::string_view(*text).substr(0, cut)))) << cut;
    }
    // A changed bit would be a changed name.
    for (size_t at = 0; at < text->size(); at += 1 + text->size() / 300) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string changed = *text;
        changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
        const auto read = parse_section(base::as_bytes(changed));
        // zstd has bits in its stream that mean nothing.
        if (read) expect_equal(example(rows), *read);
        EXPECT_TRUE(!read || rows > 3) << at << " " << bit;
      }
    }
  }
}

// 64 Ki callers of one address pack to some bytes; read back, they would be an attack.
TEST(EmbeddedNames, WhatPacksTooWellIsStoredAsItIs) {
  EmbeddedSection section = example();
  const std::vector<uint64_t> addresses(1 << 16, 0x1000);
  section.walks.add_chain(addresses, TEPHRA_WALK_DEPTH);
  const auto text = print_section(section);
  ASSERT_TRUE(text);
  EXPECT_GT(text->size(), addresses.size());
  EXPECT_TRUE(parse_section(base::as_bytes(*text)));
}

TEST(EmbeddedNames, ASmallSectionCannotAskForMuchMemory) {
  const std::string zeros(1 << 20, '\0');
  std::string bomb = *print_section(example(2000));
  bomb.resize(kHeader);
  base::ZstdCompressor packer(3);
  ASSERT_TRUE(packer.compress(base::as_bytes(zeros), bomb));
  ASSERT_TRUE(packer.flush(bomb));
  const uint64_t stated = zeros.size();
  std::memcpy(bomb.data() + 16, &stated, sizeof stated);
  Checksum sum;
  sum.add(1);
  sum.add(base::as_bytes(zeros));
  const uint64_t checksum = sum.value();
  std::memcpy(bomb.data() + 24, &checksum, sizeof checksum);
  EXPECT_FALSE(parse_section(base::as_bytes(bomb)));
}

TEST(EmbeddedNames, BlocksThatAreNotKnownAreSkipped) {
  const auto text = print_section(example());
  ASSERT_TRUE(text);
  std::string longer = *text;
  const uint32_t kind = 99;
  const uint64_t size = 5;
  longer.append(reinterpret_cast<const char*>(&kind), sizeof kind);
  longer.append(reinterpret_cast<const char*>(&size), sizeof size);
  longer += "12345";
  const uint64_t stated = longer.size() - kHeader;
  std::memcpy(longer.data() + 16, &stated, sizeof stated);
  Checksum sum;
  sum.add(0);
  sum.add(base::as_bytes(longer).subspan(kHeader));
  const uint64_t checksum = sum.value();
  std::memcpy(longer.data() + 24, &checksum, sizeof checksum);
  const auto read = parse_section(base::as_bytes(longer));
  ASSERT_TRUE(read);
  expect_equal(example(), *read);
}

TEST(EmbeddedNames, RowsOutOfOrderAreRefused) {
  EmbeddedSection section = example();
  std::swap(section.names.rows[0], section.names.rows[2]);
  const auto text = print_section(section);
  ASSERT_TRUE(text);
  EXPECT_FALSE(parse_section(base::as_bytes(*text)));
}

TEST(RecordedWalks, OfTwoAtOnePlaceOneStays) {
  RecordedWalks walks;
  const std::array<uint64_t, 1> address{1};
  walks.add_walk(8, walks.add_chain(address, TEPHRA_WALK_DEPTH));
  walks.add_walk(8, walks.add_chain({}, TEPHRA_WALK_NO_RULE));
  walks.finish();
  EXPECT_EQ(walks.walks().size(), 1u);
}

}  // namespace
}  // namespace tephra::stream
