#include "stream/tracepoint_fields.h"

#include <gtest/gtest.h>

#include "stream/tracing_data_for_tests.h"

namespace tephra::stream {
namespace {

std::string description() {
  return TestTracingData()
      .event("kmalloc", 42,
             "\tfield:const void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n"
             "\tfield:size_t bytes_req;\toffset:16;\tsize:8;\tsigned:0;\n"
             "\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:0;\n"
             "\tfield:__data_loc char[] path;\toffset:40;\tsize:4;\tsigned:0;\n"
             "\tfield:__data_loc cpumask_t mask;\toffset:40;\tsize:4;\tsigned:0;\n"
             "\tfield:short node;\toffset:44;\tsize:2;\tsigned:1;\n")
      .text();
}

std::string raw_with(uint64_t offset, std::string_view bytes) { return std::string(offset, 'x').append(bytes); }

TEST(TracepointFieldsTest, FindsNumbersOnly) {
  const std::string data = description();
  const TracepointFields fields(base::as_bytes(data));
  EXPECT_EQ(fields.numbers(42), (std::vector<std::string>{"ptr", "bytes_req", "node"}));
  EXPECT_TRUE(fields.number(42, "common_pid"));
  EXPECT_FALSE(fields.number(42, "comm"));
  EXPECT_FALSE(fields.number(42, "comm[16]"));
  EXPECT_FALSE(fields.number(42, "path"));
  EXPECT_FALSE(fields.number(42, "mask"));
  EXPECT_FALSE(fields.number(42, "bytes"));
  EXPECT_FALSE(fields.number(43, "bytes_req"));
}

TEST(TracepointFieldsTest, ReadsSignedAndUnsigned) {
  const std::string data = description();
  const TracepointFields fields(base::as_bytes(data));
  const auto node = fields.number(42, "node");
  ASSERT_TRUE(node);
  const std::string raw = raw_with(44, std::string_view("\xfe\xff", 2));
  EXPECT_EQ(node->bits(base::as_bytes(raw)), static_cast<uint64_t>(-2));
  EXPECT_TRUE(node->is_negative(*node->bits(base::as_bytes(raw))));
  const TracepointField same_unsigned{44, 2, false};
  EXPECT_EQ(same_unsigned.bits(base::as_bytes(raw)), 0xfffeu);
}

TEST(TracepointFieldsTest, ShortSamplesHaveNoValue) {
  const TracepointField field{8, 4, true};
  const std::string raw(12, '\1');
  EXPECT_EQ(field.bits(base::as_bytes(raw)), 0x01010101u);
  EXPECT_FALSE(field.bits(base::as_bytes(raw).first(11)));
  EXPECT_FALSE(field.bits({}));
  const TracepointField far{0xffffffff, 8, true};
  EXPECT_FALSE(far.bits(base::as_bytes(raw)));
}

TEST(TracepointFieldsTest, DamagedDescriptionsDescribeNothing) {
  const std::string data = description();
  for (size_t size = 0; size < data.size(); ++size) {
    const TracepointFields fields(base::as_bytes(data).first(size));
    EXPECT_FALSE(fields.number(42, "bytes_req")) << size;
    if (size + 9 < data.size()) continue;
    break;  // what follows the descriptions may be missing
  }
  const std::string odd = TestTracingData().event("odd", 7, "\tfield:;\toffset:;\tsize:8;\n\tfield:int x;\n").text();
  EXPECT_TRUE(TracepointFields(base::as_bytes(odd)).numbers(7).empty());
}

}  // namespace
}  // namespace tephra::stream
