#include "collect/sample_writer.h"

#include <bit>
#include <cstring>

namespace tephra::collect {
namespace {

class RecordText {
 public:
  explicit RecordText(std::string& text) : text_(text) {}

  template <typename T>
  void put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_bytes(base::Bytes bytes) { text_ += base::as_text(bytes); }
  void put_words(std::span<const uint64_t> words) {
    text_.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  }
  void pad(size_t count) { text_.append(count, '\0'); }

 private:
  std::string& text_;
};

uint64_t first_address(std::span<const uint64_t> chain) {
  for (const uint64_t word : chain) {
    if (word < static_cast<uint64_t>(PERF_CONTEXT_MAX)) return word;
  }
  return 0;
}

uint16_t mode_of(std::span<const uint64_t> chain) {
  const bool kernel = !chain.empty() && chain.front() == static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
  return kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

// The raw data with its length before it is a multiple of 8 bytes.
void put_raw(RecordText& text, base::Bytes raw) {
  const size_t padding = (8 - (sizeof(uint32_t) + raw.size()) % 8) % 8;
  text.put(static_cast<uint32_t>(raw.size() + padding));
  text.put_bytes(raw);
  text.pad(padding);
}

// A size of 0 ends the field; else the bytes follow, and how many of them hold something.
void put_stack(RecordText& text, base::Bytes stack) {
  const size_t whole = stack.size() / 8 * 8;
  text.put(uint64_t{whole});
  if (whole == 0) return;
  text.put_bytes(stack.first(whole));
  text.put(uint64_t{whole});
}

}  // namespace

bool SampleWriter::write(const MadeSample& sample, std::string& records) const {
  const size_t begin = records.size();
  const uint64_t fields = attr_.sample_type;
  RecordText text(records);
  perf_event_header header{};
  header.type = PERF_RECORD_SAMPLE;
  header.misc = static_cast<uint16_t>(mode_of(sample.chain) | sample.walk_end);
  text.put(header);
  if (fields & PERF_SAMPLE_IDENTIFIER) text.put(identifier_);
  if (fields & PERF_SAMPLE_IP) text.put(first_address(sample.chain));
  if (fields & PERF_SAMPLE_TID) text.put(sample.pid | uint64_t{sample.tid} << 32);
  if (fields & PERF_SAMPLE_TIME) text.put(sample.time);
  if (fields & PERF_SAMPLE_CPU) text.put(uint64_t{sample.cpu});
  if (fields & PERF_SAMPLE_PERIOD) text.put(sample.period);
  if (fields & PERF_SAMPLE_CALLCHAIN) {
    text.put(uint64_t{sample.chain.size()});
    text.put_words(sample.chain);
  }
  if (fields & PERF_SAMPLE_RAW) put_raw(text, sample.raw);
  if (fields & PERF_SAMPLE_REGS_USER) {
    const bool whole = sample.registers.size() == static_cast<size_t>(std::popcount(attr_.sample_regs_user));
    text.put(uint64_t{whole ? static_cast<uint64_t>(PERF_SAMPLE_REGS_ABI_64) : 0});
    if (whole) text.put_words(sample.registers);
  }
  if (fields & PERF_SAMPLE_STACK_USER) put_stack(text, sample.stack);
  const size_t size = records.size() - begin;
  if (size > UINT16_MAX) {
    records.resize(begin);
    return false;
  }
  header.size = static_cast<uint16_t>(size);
  std::memcpy(records.data() + begin, &header, sizeof header);
  return true;
}

}  // namespace tephra::collect
