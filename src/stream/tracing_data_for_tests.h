#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tephra::stream {

// Writes perf's tracing data with descriptions of tracepoints.
class TestTracingData {
 public:
  // `fields` are lines of a description: "	field:int prev_pid;	offset:8;	size:4;	signed:1;\n".
  TestTracingData& event(std::string_view name, uint64_t id, std::string_view fields) {
    std::string text = "name: " + std::string(name) + "\nID: " + std::to_string(id) + "\nformat:\n";
    text +=
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
    text += fields;
    text += "\nprint fmt: \"x\"\n";
    events_.push_back(std::move(text));
    return *this;
  }

  std::string text() const {
    std::string data("\x17\x08\x44tracing0.6\0", 14);
    put<uint8_t>(data, 0);
    put<uint8_t>(data, 8);
    put<uint32_t>(data, 4096);
    data += std::string("header_page\0", 12);
    put<uint64_t>(data, 0);
    data += std::string("header_event\0", 13);
    put<uint64_t>(data, 0);
    put<uint32_t>(data, 0);
    put<uint32_t>(data, 1);
    data += std::string("sched\0", 6);
    put<uint32_t>(data, static_cast<uint32_t>(events_.size()));
    for (const std::string& event : events_) {
      put<uint64_t>(data, event.size());
      data += event;
    }
    put<uint32_t>(data, 0);
    put<uint32_t>(data, 0);
    return data;
  }

 private:
  template <class T>
  static void put(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  std::vector<std::string> events_;
};

}  // namespace tephra::stream
