#include "collect/packed_records.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <random>

#include "base/bytes.h"
#include "stream/perf_file.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

// Unpacks COMPRESSED records one by one, and checks what perf relies on for each.
class Unpacker {
 public:
  void take(std::string_view records) {
    stream::RecordWalker walker(base::as_bytes(records));
    stream::Record record;
    while (walker.next(record)) {
      EXPECT_EQ(record.type, uint32_t{stream::kRecordCompressed});
      EXPECT_LE(record.bytes.size(), (64u << 10) - 8);
      const size_t before = text.size();
      ASSERT_TRUE(zstd_.decompress(record.body(), text, SIZE_MAX).ok());
      EXPECT_LE(text.size() - before, RecordPacker::kMaxUnpackedBytes);
    }
    EXPECT_FALSE(walker.damaged());
  }

  std::string text;

 private:
  base::ZstdDecompressor zstd_;
};

std::string noise(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(random());
  return bytes;
}

TEST(RecordPacker, EveryCallCanBeUnpackedAtOnce) {
  RecordPacker packer(1);
  Unpacker unpacker;
  std::string expected;
  for (const size_t size : {8, 100, 70000, 262144, 262145, 1000000}) {
    for (std::string text : {std::string(size, 'a'), noise(size, static_cast<unsigned>(size))}) {
      iovec parts[] = {{text.data(), size / 3}, {text.data(), 0}, {text.data() + size / 3, size - size / 3}};
      std::string out;
      ASSERT_TRUE(packer.pack(parts, out).ok());
      EXPECT_LE(out.size(), RecordPacker::packed_bound(size));
      unpacker.take(out);
      expected += text;
      ASSERT_EQ(unpacker.text.size(), expected.size());
    }
  }
  EXPECT_EQ(unpacker.text, expected);
  EXPECT_EQ(packer.bytes_in(), expected.size());
}

TEST(RecordPacker, TheBoundHoldsForManySmallPieces) {
  RecordPacker packer(22);
  for (unsigned size = 1; size < 3000; size += 37) {
    std::string text = noise(size, size);
    iovec part{text.data(), text.size()};
    std::string out;
    ASSERT_TRUE(packer.pack(std::span(&part, 1), out).ok());
    EXPECT_LE(out.size(), RecordPacker::packed_bound(size)) << size;
  }
}

TEST(RecordPacker, NothingBecomesNothing) {
  RecordPacker packer(1);
  std::string out;
  ASSERT_TRUE(packer.pack({}, out).ok());
  EXPECT_EQ(out, "");
}

TEST(RecordPacker, TellsItsRatio) {
  RecordPacker packer(7);
  const auto words = [&] {
    std::vector<uint32_t> read;
    const Feature feature = packer.feature();
    EXPECT_EQ(feature.bit, 27);
    base::ByteReader reader(base::as_bytes(feature.content));
    while (reader.remaining() >= 4) read.push_back(reader.u32());
    return read;
  };
  EXPECT_EQ(words(), (std::vector<uint32_t>{1, 1, 7, 0, 256 << 10}));
  std::string text(1 << 20, 'a');
  iovec part{text.data(), text.size()};
  std::string out;
  ASSERT_TRUE(packer.pack(std::span(&part, 1), out).ok());
  EXPECT_EQ(packer.bytes_out(), out.size());
  EXPECT_NEAR(words()[3], static_cast<double>(text.size()) / static_cast<double>(out.size()), 0.5);
}

}  // namespace
}  // namespace tephra::collect
