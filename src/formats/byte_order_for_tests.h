#pragma once

#include <linux/perf_event.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <string>

#include "stream/records.h"

namespace tephra::formats {

// Writes a recording in either byte order, as a machine of that order lays out its structures.
class OrderedRecording {
 public:
  explicit OrderedRecording(bool big) : big_(big) {}

  template <std::integral T>
  std::string number(T value) const {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    return big_ ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  }
  template <class... T>
  std::string numbers(T... values) const {
    return (number(values) + ...);
  }
  // Bits that C declares one by one, numbered from 0.
  std::string bits(std::initializer_list<int> set) const {
    uint64_t value = 0;
    for (const int bit : set) value |= uint64_t{1} << (big_ ? 63 - bit : bit);
    return number(value);
  }
  std::string branch(uint64_t from, uint64_t to, bool predicted, uint64_t cycles, uint64_t type) const {
    const uint64_t flags = big_ ? (predicted ? uint64_t{1} << 62 : uint64_t{1} << 63) | cycles << 44 | type << 40
                                : (predicted ? 2u : 1u) | cycles << 4 | type << 20;
    return numbers(from, to, flags);
  }
  std::string record(uint32_t type, uint16_t misc, const std::string& body) const {
    return numbers(type, misc, static_cast<uint16_t>(8 + body.size())) + body;
  }
  static std::string name(std::string text) {
    text.append(8 - text.size() % 8, '\0');
    return text;
  }
  std::string text(const std::string& value) const {
    return number(static_cast<uint32_t>(name(value).size())) + name(value);
  }

  static constexpr uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                      PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
                                      PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT;

  std::string attribute(uint64_t config) const {
    return numbers(uint32_t{PERF_TYPE_HARDWARE}, uint32_t{PERF_ATTR_SIZE_VER5}, config, uint64_t{1000}, kFields,
                   uint64_t{PERF_FORMAT_ID}) +
           bits({1, 8, 9, 18, 23, 34}) +  // inherit, mmap, comm, sample_id_all, mmap2, build_id
           numbers(uint32_t{1}, uint32_t{0}, uint64_t{0}, uint64_t{0}, uint64_t{8}, uint64_t{0}, uint32_t{0},
                   int32_t{0}, uint64_t{0}, uint32_t{0}, uint16_t{200}, uint16_t{0});
  }
  std::string trailer(uint64_t time) const {
    return numbers(int32_t{7}, int32_t{8}, time, uint32_t{1}, uint32_t{0}, uint64_t{100});
  }
  std::string sample(uint64_t id, uint64_t time, uint64_t ip) const {
    return record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                  numbers(id, ip, int32_t{7}, int32_t{8}, time, uint32_t{3}, uint32_t{0}, uint64_t{50 + time},
                          uint64_t{9000}, id, uint64_t{3}, static_cast<uint64_t>(PERF_CONTEXT_USER), ip, ip + 16) +
                      number(uint32_t{4}) + "rawd" + number(uint64_t{2}) + branch(ip, ip + 4, true, 77, 5) +
                      branch(ip + 8, ip + 12, false, 1, 0) + number(uint64_t{123}));
  }
  std::string records() const {
    std::string build_id = number(uint8_t{20}) + std::string(3, '\0') + std::string(20, 'B');
    return record(PERF_RECORD_COMM, 0, numbers(int32_t{7}, int32_t{8}) + name("worker") + trailer(1)) +
           record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID,
                  numbers(int32_t{7}, int32_t{7}, uint64_t{0x5000}, uint64_t{0x1000}, uint64_t{0x2000}) + build_id +
                      numbers(uint32_t{5}, uint32_t{2}) + name("/bin/with-id") + trailer(2)) +
           record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
                  numbers(int32_t{7}, int32_t{7}, uint64_t{0x8000}, uint64_t{0x1000}, uint64_t{0}, uint32_t{8},
                          uint32_t{1}, uint64_t{77}, uint64_t{3}, uint32_t{5}, uint32_t{2}) +
                      name("/bin/other") + trailer(2)) +
           record(PERF_RECORD_FORK, 0,
                  numbers(int32_t{9}, int32_t{7}, int32_t{9}, int32_t{7}, uint64_t{3}) + trailer(3)) +
           sample(100, 10, 0x5010) + sample(101, 11, 0x8020) + sample(100, 12, 0x5010) +
           record(PERF_RECORD_LOST, 0, numbers(uint64_t{100}, uint64_t{6}) + trailer(13)) +
           record(PERF_RECORD_THROTTLE, 0, numbers(uint64_t{14}, uint64_t{100}, uint64_t{100}) + trailer(14)) +
           record(PERF_RECORD_KSYMBOL, 0,
                  numbers(uint64_t{0xffffffff81000000}, uint32_t{64}, uint16_t{1}, uint16_t{0}) + name("bpf_x") +
                      trailer(15)) +
           record(stream::kRecordFinishedRound, 0, "");
  }
  std::string event_description() const {
    std::string out = numbers(uint32_t{2}, uint32_t{PERF_ATTR_SIZE_VER5});
    for (uint64_t i = 0; i < 2; ++i) {
      out += attribute(i) + number(uint32_t{1}) + text("event" + std::to_string(i)) + number(100 + i);
    }
    return out;
  }
  std::map<int, std::string> features() const {
    const std::string build_id = numbers(int32_t{-1}) + std::string(20, 'C') + number(uint32_t{0}) + name("/bin/other");
    return {{stream::kFeatureBuildId, record(67, PERF_RECORD_MISC_USER, build_id)},
            {stream::kFeatureHostname, text("there")},
            {stream::kFeatureArch, text("s390x")},
            {stream::kFeatureCommandLine, number(uint32_t{2}) + text("perf") + text("record")},
            {stream::kFeatureEventDescription, event_description()}};
  }
  std::string magic() const { return big_ ? "2ELIFREP" : "PERFILE2"; }

  std::string file() const {
    const std::string ids = numbers(uint64_t{100}, uint64_t{101});
    std::string attributes;
    for (uint64_t i = 0; i < 2; ++i) attributes += attribute(i) + numbers(uint64_t{104 + i * 8}, uint64_t{8});
    const std::string data = records();
    const uint64_t attributes_at = 104 + ids.size();
    const uint64_t data_at = attributes_at + attributes.size();
    uint64_t at = data_at + data.size() + features().size() * 16;
    uint64_t feature_bits = 0;
    std::string table, sections;
    for (const auto& [bit, content] : features()) {
      feature_bits |= uint64_t{1} << bit;
      table += numbers(at + sections.size(), uint64_t{content.size()});
      sections += content;
    }
    return magic() +
           numbers(uint64_t{104}, uint64_t{PERF_ATTR_SIZE_VER5 + 16}, attributes_at, uint64_t{attributes.size()},
                   data_at, uint64_t{data.size()}, uint64_t{0}, uint64_t{0}, feature_bits, uint64_t{0}, uint64_t{0},
                   uint64_t{0}) +
           ids + attributes + data + table + sections;
  }
  std::string pipe() const {
    std::string out = magic() + number(uint64_t{16});
    for (uint64_t i = 0; i < 2; ++i) out += record(stream::kRecordHeaderAttr, 0, attribute(i) + number(100 + i));
    for (const auto& [bit, content] : features()) {
      out += record(stream::kRecordHeaderFeature, 0, number(static_cast<uint64_t>(bit)) + content);
    }
    return out + records();
  }

 private:
  bool big_;
};

}  // namespace tephra::formats
