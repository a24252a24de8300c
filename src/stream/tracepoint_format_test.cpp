#include "stream/tracepoint_format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tephra::stream {
namespace {

constexpr std::string_view kOpen = R"(name: sys_open
ID: 42
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:int flags;	offset:8;	size:4;	signed:1;
	field:__data_loc char[] path;	offset:12;	size:4;	signed:0;

print fmt: "flags=%d path=%s", REC->flags, __get_str(path)
)";

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_sized(std::string& out, std::string_view text) {
  put<uint64_t>(out, text.size());
  out += text;
}

std::string tracing_data(std::string_view description) {
  std::string data("\x17\x08\x44tracing0.6\0", 14);
  put<uint8_t>(data, 0);
  put<uint8_t>(data, 8);
  put<uint32_t>(data, 4096);
  data += std::string("header_page\0", 12);
  put_sized(data, "");
  data += std::string("header_event\0", 13);
  put_sized(data, "");
  put<uint32_t>(data, 0);
  put<uint32_t>(data, 1);
  data += std::string("fs\0", 3);
  put<uint32_t>(data, 1);
  put_sized(data, description);
  put<uint32_t>(data, 0);
  put<uint32_t>(data, 0);
  return data;
}

std::string sample(int32_t flags, std::string_view path, uint32_t stated_length) {
  std::string raw;
  put<uint16_t>(raw, 42);
  put<uint16_t>(raw, 0);
  put<int32_t>(raw, 7);
  put<int32_t>(raw, flags);
  put<uint32_t>(raw, stated_length << 16 | 16);
  raw += path;
  return raw;
}

TEST(TracepointFormats, PrintsFieldsByTheirFormat) {
  const std::string description = tracing_data(kOpen);
  auto formats = TracepointFormats::parse(base::as_bytes(description));
  ASSERT_TRUE(formats.ok()) << formats.error().message();
  EXPECT_EQ(formats->size(), 1u);
  std::string text = "before ";
  const std::string raw = sample(-3, std::string("/etc\0", 5), 5);
  EXPECT_TRUE(formats->append(42, 0, base::as_bytes(raw), text));
  EXPECT_EQ(text, "before flags=-3 path=/etc");
}

TEST(TracepointFormats, KernelAddressesGetTheirNames) {
  std::string description(kOpen);
  description.replace(description.find("int flags;\toffset:8;\tsize:4;"), 28, "void * where;\toffset:8;\tsize:8;");
  description.erase(description.find("\tfield:__data_loc"),
                    description.find("\nprint fmt") - description.find("\tfield:__data_loc"));
  description.erase(description.find("print fmt"));
  description += "print fmt: \"where=%pS\", REC->where\n";
  const std::string data = tracing_data(description);
  auto formats = TracepointFormats::parse(base::as_bytes(data));
  ASSERT_TRUE(formats.ok());
  EXPECT_TRUE(formats->prints_kernel_names(42));
  EXPECT_FALSE(formats->prints_kernel_names(41));

  std::string raw;
  put<uint64_t>(raw, 42);
  put<uint64_t>(raw, 0xffffffff81000123);
  std::vector<uint64_t> addresses;
  formats->collect_kernel_addresses(42, base::as_bytes(raw), addresses);
  EXPECT_EQ(addresses, std::vector<uint64_t>{0xffffffff81000123});
  formats->collect_kernel_addresses(42, base::as_bytes("short"), addresses);
  EXPECT_EQ(addresses.size(), 1u);
  formats->use_kernel_names({{addresses[0], {"do_it", 0xffffffff81000100}}});
  std::string text;
  EXPECT_TRUE(formats->append(42, 0, base::as_bytes(raw), text));
  EXPECT_EQ(text, "where=do_it+0x23");
}

TEST(TracepointFormats, ShortOrLyingSamplesAreRefused) {
  const std::string description = tracing_data(kOpen);
  auto formats = TracepointFormats::parse(base::as_bytes(description));
  ASSERT_TRUE(formats.ok());
  std::string text;
  const std::string whole = sample(1, std::string("/etc\0", 5), 5);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(formats->append(42, 0, base::as_bytes(std::string_view(whole).substr(0, size)), text)) << size;
  }
  const std::string too_long = sample(1, std::string("/etc\0", 5), 6000);
  EXPECT_FALSE(formats->append(42, 0, base::as_bytes(too_long), text));
  const std::string endless = sample(1, "/etc", 4);
  EXPECT_FALSE(formats->append(42, 0, base::as_bytes(endless), text));
  std::string of_another = whole;
  of_another[0] = 43;
  EXPECT_FALSE(formats->append(42, 0, base::as_bytes(of_another), text));
  EXPECT_FALSE(formats->append(43, 0, base::as_bytes(whole), text));
  EXPECT_FALSE(formats->append(UINT64_MAX, 0, base::as_bytes(whole), text));
  EXPECT_EQ(text, "");
}

TEST(TracepointFormats, DataCutAnywhereIsReadAsFarAsItGoes) {
  const std::string description = tracing_data(kOpen);
  for (size_t size = 0; size < description.size(); ++size) {
    auto formats = TracepointFormats::parse(base::as_bytes(std::string_view(description).substr(0, size)));
    if (formats.ok()) {
      EXPECT_LE(formats->size(), 1u);
    }
  }
  EXPECT_TRUE(TracepointFormats::parse({}).ok());
  EXPECT_FALSE(TracepointFormats::parse(base::as_bytes("not tracing data")).ok());
}

TEST(TracepointFormats, BrokenDescriptionsLeaveTheEventUnknown) {
  for (const std::string_view broken : {"", "name:", "name: x\nID: 1\nformat:\n", "\0\1\2"}) {
    const std::string data = tracing_data(broken);
    auto formats = TracepointFormats::parse(base::as_bytes(data));
    std::string text;
    if (formats.ok()) {
      EXPECT_FALSE(formats->append(1, 0, {}, text));
    }
  }
}

}  // namespace
}  // namespace tephra::stream
