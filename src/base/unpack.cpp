#include "base/unpack.h"

#include <libdeflate.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/units.h"
#include "base/unxz.h"

namespace tephra::base {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kGzip = "gzip";
constexpr std::string_view kZstd = "zstd";
constexpr std::string_view kXz = "xz";

Error too_large(size_t limit) { return failed("cannot unpack", "", "it holds more than " + bytes_text(limit)); }

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const { ::libdeflate_free_decompressor(decompressor); }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

// Whether a member has no other fault than that its end is missing. libdeflate does not tell.
bool is_cut(Bytes member) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's wrapping
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipWindow) != Z_OK) return false;
  std::array<Bytef, 64 << 10> made;
  int result = Z_OK;
  while (result == Z_OK) {
    if (stream.avail_in == 0) {
      const size_t next = std::min<size_t>(member.size(), 1 << 20);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.data()));
      stream.avail_in = static_cast<uInt>(next);
      member = member.subspan(next);
    }
    stream.next_out = made.data();
    stream.avail_out = static_cast<uInt>(made.size());
    result = ::inflate(&stream, Z_NO_FLUSH);
  }
  ::inflateEnd(&stream);
  return result == Z_BUF_ERROR && member.empty();  // it wants more than there is
}

// What gzip holds, member by member. The room for it only grows: files may be of many small members, and what they say
// of their size may be false.
class GzipText {
 public:
  GzipText(size_t packed_size, size_t stated, size_t limit) : limit_(limit) {
    constexpr size_t kUsualRatio = 64;  // text rarely is packed better; room for more is made when it is needed
    const size_t likely = std::min(stated, packed_size > limit / kUsualRatio ? limit : packed_size * kUsualRatio);
    text_.resize(std::min(limit_, std::max(likely, kLeastRoom)));
  }

  // Appends one member. The number of bytes it took.
  Result<size_t> add(libdeflate_decompressor* decompressor, Bytes packed) {
    if (room() < kLeastRoom) grow();
    while (true) {
      size_t taken = 0;
      size_t made = 0;
      const auto result = ::libdeflate_gzip_decompress_ex(decompressor, packed.data(), packed.size(),
                                                          text_.data() + used_, room(), &taken, &made);
      if (result == LIBDEFLATE_SUCCESS) {
        used_ += made;
        return taken;
      }
      if (result != LIBDEFLATE_INSUFFICIENT_SPACE) {
        return failed("cannot unpack", "",
                      is_cut(packed) ? "the gzip data is damaged: it is cut off" : "the gzip data is damaged");
      }
      if (text_.size() == limit_) return too_large(limit_);
      grow();
    }
  }

  std::string take() && {
    text_.resize(used_);
    return std::move(text_);
  }

 private:
  static constexpr size_t kLeastRoom = 64 << 10;

  size_t room() const { return text_.size() - used_; }
  void grow() {
    const size_t more = std::max(text_.size(), kLeastRoom);
    text_.resize(more > limit_ - text_.size() ? limit_ : text_.size() + more);
  }

  const size_t limit_;
  std::string text_;
  size_t used_ = 0;  // of the text; what is behind is room
};

Result<std::string> unpack_gzip(Bytes packed, size_t limit) {
  const Decompressor decompressor(::libdeflate_alloc_decompressor());
  if (decompressor == nullptr) return failed("cannot unpack", "", "memory is short");
  // The last member says how large it is, modulo 4 GiB; mostly it is the only one.
  const size_t stated = packed.size() < 4 ? 0 : load<uint32_t>(packed.last(4).data());
  GzipText text(packed.size(), stated, limit);
  while (packing_of(packed) == kGzip) {
    TEPHRA_TRY(const size_t taken, text.add(decompressor.get(), packed));
    packed = packed.subspan(taken);
  }
  // gzip itself ignores what follows, with a warning; files of block devices end in zeros.
  const bool padding = std::all_of(packed.begin(), packed.end(), [](std::byte byte) { return byte == std::byte{0}; });
  if (!padding) return failed("cannot unpack", "", "something else follows the gzip data");
  return std::move(text).take();
}

struct FreeStream {
  void operator()(ZSTD_DStream* stream) const { ::ZSTD_freeDStream(stream); }
};

Result<std::string> unpack_zstd(Bytes packed, size_t limit) {
  const std::unique_ptr<ZSTD_DStream, FreeStream> stream(::ZSTD_createDStream());
  if (stream == nullptr) return failed("cannot unpack", "", "memory is short");
  const size_t step = ::ZSTD_DStreamOutSize();
  std::string out;
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  // What it returns at the end of a frame is 0; a full output may hide more.
  for (size_t wants = 1, made = step; input.pos < input.size || made == step;) {
    const size_t before = out.size();
    if (before > limit) return too_large(limit);
    out.resize(before + step);
    ZSTD_outBuffer output{out.data() + before, step, 0};
    wants = ::ZSTD_decompressStream(stream.get(), &output, &input);
    if (::ZSTD_isError(wants)) return failed("cannot unpack", "", ::ZSTD_getErrorName(wants));
    made = output.pos;
    out.resize(before + made);
    if (input.pos == input.size && made < step && wants != 0) {
      return failed("cannot unpack", "", "the zstd data is cut off");
    }
  }
  if (out.size() > limit) return too_large(limit);
  return out;
}

Result<std::string> unpack_xz(Bytes packed, size_t limit) {
  constexpr uint64_t kMostMemory = uint64_t{256} << 20;
  auto out = unxz(packed, limit, kMostMemory);
  if (!out) return failed("cannot unpack", "", "the xz data is damaged, or holds more than " + bytes_text(limit));
  return std::move(*out);
}

}  // namespace

std::string_view packing_of(Bytes bytes) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSignatures{
      {{"\x1f\x8b\x08"sv, kGzip}, {"\x28\xb5\x2f\xfd"sv, kZstd}, {"\xfd\x37zXZ\0"sv, kXz}}};
  for (const auto& [signature, name] : kSignatures) {
    if (as_text(bytes).starts_with(signature)) return name;
  }
  return {};
}

Result<std::string> unpack(Bytes packed, size_t limit) {
  const std::string_view packing = packing_of(packed);
  if (packing == kGzip) return unpack_gzip(packed, limit);
  if (packing == kZstd) return unpack_zstd(packed, limit);
  if (packing == kXz) return unpack_xz(packed, limit);
  return failed("cannot unpack", "", "it is compressed by none of gzip, zstd and xz");
}

}  // namespace tephra::base
