#include "stream/tracing_data.h"

#include <bit>

namespace tephra::stream {
namespace {

constexpr std::string_view kMagic("\x17\x08\x44tracing", 10);

// A length in the file, then that many bytes.
template <class Length>
base::Bytes sized(base::ByteReader& reader) {
  const Length length = reader.read<Length>();
  if (length > reader.remaining()) {
    reader.fail();
    return {};
  }
  return reader.bytes(static_cast<size_t>(length));
}

void read_descriptions(base::ByteReader& reader, std::string_view system, TracingData& data) {
  for (uint32_t left = reader.u32(); left > 0 && reader.ok(); --left) {
    const base::Bytes text = sized<uint64_t>(reader);
    if (!text.empty()) data.events.push_back({system, text});
  }
}

}  // namespace

base::Result<TracingData> read_tracing_data(base::Bytes bytes) {
  base::ByteReader reader(bytes);
  if (base::as_text(reader.bytes(kMagic.size())) != kMagic) {
    return base::failed("cannot read the tracepoint formats", "", "they do not begin as perf's tracing data does");
  }
  reader.c_string();  // the version
  const bool big_endian = reader.u8() != 0;
  if (big_endian != (std::endian::native == std::endian::big)) {
    return base::failed("cannot read the tracepoint formats", "", "they are of a machine with the other byte order");
  }
  TracingData data;
  data.long_size = reader.u8();
  data.page_size = reader.u32();
  reader.c_string();  // "header_page"
  sized<uint64_t>(reader);
  reader.c_string();  // "header_event"
  sized<uint64_t>(reader);
  read_descriptions(reader, "ftrace", data);
  for (uint32_t systems = reader.u32(); systems > 0 && reader.ok(); --systems) {
    const std::string_view system = reader.c_string();
    read_descriptions(reader, system, data);
  }
  sized<uint32_t>(reader);  // kernel symbols, which perf leaves empty
  data.printk = sized<uint32_t>(reader);
  return data;
}

}  // namespace tephra::stream
