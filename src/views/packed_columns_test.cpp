#include "views/packed_columns.h"

#include <gtest/gtest.h>

#include <limits>

namespace tephra::views {
namespace {

std::string list_of(const std::vector<uint64_t>& numbers) {
  PackedColumns columns;
  columns.add("c", numbers);
  std::string out;
  base::JsonWriter json(out);
  columns.write_list(json);
  return out;
}

TEST(PackedColumns, AsNarrowAsTheNumbers) {
  EXPECT_EQ(list_of({3, 1, 255}), R"([{"name":"c","count":3,"type":"u8","offset":0}])");
  EXPECT_EQ(list_of({3, 1, 256}), R"([{"name":"c","count":3,"type":"u16","offset":0}])");
  EXPECT_EQ(list_of({3, 1, 65536}), R"([{"name":"c","count":3,"type":"u32","offset":0}])");
  EXPECT_EQ(list_of({3, 1, uint64_t{1} << 32}), R"([{"name":"c","count":3,"type":"f64","offset":0}])");
}

TEST(PackedColumns, EqualNumbersTakeNoBytes) {
  EXPECT_EQ(list_of({}), R"([{"name":"c","count":0,"constant":0}])");
  EXPECT_EQ(list_of({7, 7}), R"([{"name":"c","count":2,"constant":7}])");
}

TEST(PackedColumns, AscendingNumbersAsDifferences) {
  EXPECT_EQ(list_of({5, 1000, 1001}), R"([{"name":"c","count":3,"type":"u16","offset":0}])");
  EXPECT_EQ(list_of({5, 200, 390}), R"([{"name":"c","count":3,"type":"u8","offset":0,"delta":true}])");
}

TEST(PackedColumns, ColumnsAreAligned) {
  PackedColumns columns;
  columns.add_texts("t", std::vector<std::string>{"abc", "", "d"});
  columns.add("n", std::vector<uint64_t>{std::numeric_limits<uint64_t>::max(), 1});
  std::string out;
  base::JsonWriter json(out);
  columns.write_list(json);
  EXPECT_EQ(out, R"([{"name":"t","count":4,"type":"u8","offset":0},)"
                 R"({"name":"t_length","count":3,"type":"u8","offset":8},)"
                 R"({"name":"n","count":2,"type":"f64","offset":16}])");
  EXPECT_EQ(columns.bytes().size(), 32u);
  EXPECT_EQ(columns.bytes().substr(0, 4), "abcd");
}

}  // namespace
}  // namespace tephra::views
