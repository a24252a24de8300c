#include "stream/tracepoint_places.h"

#include <gtest/gtest.h>

#include <cstring>

#include "stream/sched_recording_for_tests.h"

namespace tephra::stream {
namespace {

constexpr std::string_view kGroup("g\0", 2);

std::string tracing_data(std::string_view description) {
  std::string data("\x17\x08\x44tracing0.6\0\0\x08", 16);
  TestBytes rest;
  rest.put(uint32_t{4096}).raw(std::string_view("header_page\0", 12)).put(uint64_t{0});
  rest.raw(std::string_view("header_event\0", 13)).put(uint64_t{0}).put(uint32_t{0}).put(uint32_t{1}).raw(kGroup);
  rest.put(uint32_t{1}).put(uint64_t{description.size()}).raw(description).put(uint32_t{0}).put(uint32_t{0});
  return data + rest.text();
}

constexpr std::string_view kDescription =
    "name: thing\nID: 42\nformat:\n"
    "\tfield:int number;\toffset:8;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned char small;\toffset:12;\tsize:1;\tsigned:0;\n"
    "\tfield:char name[4];\toffset:13;\tsize:4;\tsigned:0;\n"
    "\tfield:__data_loc char[] path;\toffset:20;\tsize:4;\tsigned:0;\n"
    "\tfield:__rel_loc char[] other;\toffset:24;\tsize:4;\tsigned:0;\n"
    "\tfield:const char * pointer;\toffset:28;\tsize:8;\tsigned:0;\n"
    "\tfield:broken;\toffset:x;\tsize:8;\n"
    "\nprint fmt: \"%s\", REC->number ? __print_flags(REC->number, \"|\", { 0x01, \"S\" }, { 2, \"D\" }) : \"R\"\n";

TEST(TracepointPlaces, FindsFieldsByTheirNames) {
  const std::string data = tracing_data(kDescription);
  const auto fields = TracepointPlaces::parse(base::as_bytes(data));
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->name(42), "g:thing");
  EXPECT_EQ(fields->name(43), "");
  EXPECT_FALSE(fields->place(42, "nothing"));
  EXPECT_FALSE(fields->place(42, "broken"));
  EXPECT_EQ(fields->place(42, "pointer")->size, 8u);

  std::string raw(40, '\0');
  const int32_t number = -5;
  std::memcpy(raw.data() + 8, &number, 4);
  raw[12] = '\xff';
  std::memcpy(raw.data() + 13, "abcd", 4);
  const uint32_t path = 3u << 16 | 36;
  const uint32_t other = 3u << 16 | 8;  // from 28 on
  std::memcpy(raw.data() + 20, &path, 4);
  std::memcpy(raw.data() + 24, &other, 4);
  std::memcpy(raw.data() + 36, "xy\0", 3);
  const base::Bytes bytes = base::as_bytes(raw);
  EXPECT_EQ(fields->place(42, "number")->number(bytes), -5);
  EXPECT_EQ(fields->place(42, "small")->number(bytes), 255);
  EXPECT_EQ(fields->place(42, "name")->text(bytes), "abcd");
  EXPECT_EQ(fields->place(42, "path")->text(bytes), "xy");
  EXPECT_EQ(fields->place(42, "other")->text(bytes), "xy");
  // Nothing is read outside.
  EXPECT_FALSE(fields->place(42, "number")->number(bytes.first(11)));
  EXPECT_EQ(fields->place(42, "path")->text(bytes.first(38)), "");
}

TEST(TracepointPlaces, KnowsTheFlagsAnEventPrints) {
  const std::string data = tracing_data(kDescription);
  const auto fields = TracepointPlaces::parse(base::as_bytes(data));
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->printed_flags(42), (TracepointPlaces::Flags{{1, "S"}, {2, "D"}}));
  EXPECT_TRUE(fields->printed_flags(7).empty());
}

TEST(TracepointPlaces, KeepsWhatCameBeforeACut) {
  TestSched test;
  const std::string whole = test.tracing_data();
  for (size_t size = 0; size <= whole.size(); ++size) {
    const auto fields = TracepointPlaces::parse(base::as_bytes(whole).first(size));
    EXPECT_EQ(fields.ok(), size == 0 || size >= 10) << size;
  }
  EXPECT_FALSE(TracepointPlaces::parse(base::as_bytes("no tracing data at all")).ok());
}

}  // namespace
}  // namespace tephra::stream
