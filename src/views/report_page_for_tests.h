#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "base/unpack.h"

namespace tephra::views {

// The HTML report as its script reads it.
class ReadPage {
 public:
  explicit ReadPage(const std::string& html) {
    const auto json = base::parse_json(element(html, "tephra-facts"));
    EXPECT_TRUE(json) << "the facts are no JSON";
    if (!json) return;
    facts = *json;
    const auto bytes = base::unpack(base::as_bytes(from_base64(element(html, "tephra-columns"))), size_t{1} << 30);
    EXPECT_TRUE(bytes) << "the columns cannot be unpacked";
    if (!bytes) return;
    for (const base::JsonValue& column : facts["columns"].elements()) read(column, *bytes);
  }

  const std::vector<double>& operator[](const std::string& name) const {
    const auto found = columns.find(name);
    EXPECT_NE(found, columns.end()) << name;
    static const std::vector<double> none;
    return found == columns.end() ? none : found->second;
  }

  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> out;
    size_t at = 0;
    const auto& bytes = (*this)[name];
    for (const double length : (*this)[name + "_length"]) {
      std::string& text = out.emplace_back();
      for (size_t i = 0; i < static_cast<size_t>(length); ++i) text += static_cast<char>(static_cast<uint8_t>(bytes.at(at++)));
    }
    return out;
  }

  base::JsonValue facts;
  std::map<std::string, std::vector<double>> columns;

 private:
  static std::string element(const std::string& html, const std::string& id) {
    const std::string mark = "id=\"" + id + "\">";
    const size_t from = html.find(mark);
    EXPECT_NE(from, std::string::npos) << id;
    if (from == std::string::npos) return "";
    // The element ends where a browser would end it.
    return html.substr(from + mark.size(), html.find("</script", from) - from - mark.size());
  }

  static std::string from_base64(std::string_view text) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
      const size_t digit = kDigits.find(c);
      if (digit == std::string_view::npos) break;
      bits = bits << 6 | static_cast<uint32_t>(digit);
      count += 6;
      if (count < 8) continue;
      count -= 8;
      out += static_cast<char>(bits >> count & 0xFF);
    }
    return out;
  }

  template <class T>
  static std::vector<double> numbers(const std::string& bytes, size_t offset, size_t count) {
    EXPECT_EQ(offset % sizeof(T), 0u);
    EXPECT_LE(offset + count * sizeof(T), bytes.size());
    std::vector<double> out(count);
    for (size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, bytes.data() + offset + i * sizeof(T), sizeof value);
      out[i] = static_cast<double>(value);
    }
    return out;
  }

  void read(const base::JsonValue& column, const std::string& bytes) {
    const auto count = static_cast<size_t>(column["count"].number());
    const auto offset = static_cast<size_t>(column["offset"].number());
    const std::string& type = column["type"].text();
    std::vector<double>& to = columns[column["name"].text()];
    to = type == "u8"    ? numbers<uint8_t>(bytes, offset, count)
         : type == "u16" ? numbers<uint16_t>(bytes, offset, count)
         : type == "u32" ? numbers<uint32_t>(bytes, offset, count)
         : type == "f64" ? numbers<double>(bytes, offset, count)
                         : std::vector<double>(count, column["constant"].number(-1));
    if (!column["delta"].truth()) return;
    for (size_t i = 1; i < count; ++i) to[i] += to[i - 1];
  }
};

}  // namespace tephra::views
