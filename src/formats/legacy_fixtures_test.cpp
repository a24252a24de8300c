#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"
#include "formats/fixtures_for_tests.h"
#include "formats/format.h"

namespace tephra::formats {
namespace {

namespace fs = std::filesystem;

// What pprof's profile.String() prints of a profile. Compared by these rules: a location is its address and the range
// and path of its mapping instead of a number; a mapping begins where the first byte of its file would be; samples are
// a multiset, since their order says nothing; mappings are a set, for the same reason. pprof invents a mapping of all
// memory where it knows none, which here is "-".
struct Printed {
  std::string period;
  std::string duration;
  std::string types;
  std::multiset<std::string> samples;
  std::set<std::string> mappings;
};

constexpr std::string_view kAllMemory = "0x0/0xffffffffffffffff/0x0";

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// "START/LIMIT/OFFSET" with the start of the whole file instead of that of the part at an offset.
std::string whole_file(const std::string& range) {
  const size_t limit = range.find('/') + 1;
  const size_t offset = range.find('/', limit) + 1;
  const uint64_t start = std::stoull(range, nullptr, 16) - std::stoull(range.substr(offset), nullptr, 16);
  return fmt::format("{:#x}/{}", start, range.substr(limit, offset - 1 - limit));
}

// Reads a golden.
class Golden {
 public:
  explicit Golden(const fs::path& path) {
    std::ifstream file(path);
    std::string line, section = "head";
    while (std::getline(file, line)) {
      if (line == "Samples:" || line == "Locations" || line == "Mappings") {
        section = line;
      } else {
        lines_[section].push_back(line);
      }
    }
  }

  Printed read() {
    Printed printed;
    for (const std::string& line : lines_["head"]) {
      if (line.starts_with("Period")) printed.period += line + "\n";
      if (line.starts_with("Duration: ")) printed.duration = line.substr(10);
    }
    read_mappings(printed);
    read_locations();
    read_samples(printed);
    return printed;
  }

 private:
  void read_mappings(Printed& printed) {
    for (const std::string& line : lines_["Mappings"]) {
      const size_t colon = line.find(": ");
      const std::string range = first_word(line.substr(colon + 2));
      std::string text = whole_file(range) + line.substr(colon + 2 + range.size());
      while (text.ends_with(' ')) text.pop_back();
      if (range == kAllMemory) text = "-";
      mappings_[line.substr(0, colon)] = text;
      if (text != "-") printed.mappings.insert(text);
    }
  }

  void read_locations() {
    for (const std::string& line : lines_["Locations"]) {
      std::stringstream words(line);
      std::string id, address, mapping;
      words >> id >> address >> mapping;
      locations_[id.substr(0, id.size() - 1)] = address + "@" + mappings_[mapping.substr(2)];
    }
  }

  void read_samples(Printed& printed) {
    printed.types = lines_["Samples:"].at(0);
    std::string sample;
    const auto end_sample = [&] {
      if (!sample.empty()) printed.samples.insert(sample);
      sample.clear();
    };
    for (size_t i = 1; i < lines_["Samples:"].size(); ++i) {
      const std::string& line = lines_["Samples:"][i];
      std::stringstream words(line);
      std::string word;
      if (line.find(":[") != std::string::npos) {
        words >> word;
        sample += " " + word;
        continue;
      }
      end_sample();
      bool behind_colon = false;
      while (words >> word) {
        sample += " " + (behind_colon ? locations_[word] : word);
        behind_colon = behind_colon || word.ends_with(':');
      }
    }
    end_sample();
  }

  std::map<std::string, std::vector<std::string>> lines_;
  std::map<std::string, std::string> mappings_;
  std::map<std::string, std::string> locations_;
};

// Prints one of ours.
class Printer {
 public:
  explicit Printer(const model::Profile& profile) : profile_(profile) {}

  Printed print() const {
    Printed printed;
    const auto& facts = profile_.facts;
    printed.period =
        fmt::format("PeriodType: {} {}\nPeriod: {}\n", facts.period.event, unit(facts.period.unit), facts.period.value);
    if (facts.duration_ns != 0) {
      const int64_t minutes = facts.duration_ns / 60'000'000'000;
      printed.duration = fmt::format("{}h{}m", minutes / 60, minutes % 60).substr(0, 4);
    }
    for (const model::Event& event : profile_.events) {
      const bool pair = event.counted || profile_.text(event.unit) != "count";
      if (pair) printed.types += fmt::format("{}/count ", event.counted ? profile_.text(event.counted) : "samples");
      printed.types += fmt::format("{}/{} ", profile_.text(event.name), unit(profile_.text(event.unit)));
    }
    printed.types.pop_back();
    for (uint32_t i = 1; i < profile_.mappings.size(); ++i) {
      if (const std::string text = mapping(model::MappingId{i}); text != "-") printed.mappings.insert(text);
    }
    print_samples(printed);
    return printed;
  }

 private:
  static std::string_view unit(std::string_view unit) { return unit == "ns" ? "nanoseconds" : unit; }

  // Rows that follow each other with rising events and the same stack and labels are one sample.
  void print_samples(Printed& printed) const {
    const model::Samples& samples = profile_.samples;
    for (size_t row = 0; row < samples.size();) {
      std::vector<std::pair<uint64_t, uint64_t>> values(profile_.events.size());
      size_t next = row;
      do {
        values[samples.event[next].value] = {samples.count[next], samples.value[next]};
        ++next;
      } while (next < samples.size() && samples.event[next] > samples.event[next - 1] &&
               samples.stack[next] == samples.stack[row] && labels(next) == labels(row));
      std::string text;
      for (uint32_t event = 0; event < values.size(); ++event) {
        const model::Event& type = profile_.events[model::EventId{event}];
        text += fmt::format(" {}", values[event].first);
        if (type.counted || profile_.text(type.unit) != "count") text += fmt::format(" {}", values[event].second);
      }
      printed.samples.insert(text + ":" + stack(samples.stack[row]) + labels(row));
      row = next;
    }
  }

  std::string labels(size_t row) const {
    if (profile_.samples.labels.empty()) return {};
    std::string texts, numbers;
    for (const model::Label& label : profile_.label_sets[profile_.samples.labels[row]].labels) {
      const std::string_view key = profile_.text(label.key);
      if (label.text) texts += fmt::format(" {}:[{}]", key, profile_.text(label.text));
      if (!label.text) numbers += fmt::format(" {}:[{}]", key, label.number);
    }
    return texts + numbers;
  }

  std::string stack(model::StackId id) const {
    std::string text;
    for (; id; id = profile_.stacks[id].parent) {
      const model::Frame& frame = profile_.frames[profile_.stacks[id].frame];
      const model::Mapping& row = profile_.mappings[frame.mapping];
      uint64_t address = frame.address + (row.kind == model::CodeKind::kFile ? row.base : 0);
      if (frame.kind == model::AddressKind::kReturn) --address;
      text += fmt::format(" {:#x}@{}", address, mapping(frame.mapping));
    }
    return text;
  }

  std::string mapping(model::MappingId id) const {
    const model::Mapping& row = profile_.mappings[id];
    if (row.size == 0) return "-";
    std::string text = fmt::format("{:#x}/{:#x} {}", row.base, row.base + row.size, profile_.text(row.path));
    while (text.ends_with(' ')) text.pop_back();
    return text;
  }

  const model::Profile& profile_;
};

struct Case {
  const char* folder;
  const char* file;
  const char* format;
  size_t forgotten = 0;  // samples that the reader that made the golden did not end: the last stack of jemalloc's
};

class LegacyFixturesTest : public testing::TestWithParam<Case> {};

TEST_P(LegacyFixturesTest, SaysWhatPprofSays) {
  const fs::path path = fixture_folder(GetParam().folder) / "google-pprof" / GetParam().file;
  SKIP_WITHOUT_FIXTURE_FOLDER(path);
  const auto content = base::FileContent::open(path.string());
  ASSERT_TRUE(content.ok());
  const auto format = recognise(content.value().bytes(), path.string());
  ASSERT_TRUE(format.ok()) << format.error().message();
  EXPECT_EQ((*format)->name, GetParam().format);
  const auto profile = (*format)->read(content.value().bytes());
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const Printed ours = Printer(*profile).print();
  const Printed theirs = Golden(path.string() + ".string").read();
  EXPECT_EQ(ours.period, theirs.period);
  EXPECT_EQ(ours.duration, theirs.duration);
  EXPECT_EQ(ours.types, theirs.types);
  EXPECT_EQ(ours.mappings, theirs.mappings);
  EXPECT_GT(theirs.samples.size(), 0u);
  std::vector<std::string> more, less;
  std::ranges::set_difference(ours.samples, theirs.samples, std::back_inserter(more));
  std::ranges::set_difference(theirs.samples, ours.samples, std::back_inserter(less));
  EXPECT_EQ(less, std::vector<std::string>());
  EXPECT_EQ(more.size(), GetParam().forgotten) << (more.empty() ? "" : more.front());
}

INSTANTIATE_TEST_SUITE_P(Goldens, LegacyFixturesTest,
                         testing::Values(Case{"gperftools-cpu", "cppbench.cpu", "gperftools-cpu"},
                                         Case{"gperftools-cpu", "go.crc32.cpu", "gperftools-cpu"},
                                         Case{"heap", "cppbench.heap", "heap"}, Case{"heap", "gobench.heap", "heap"},
                                         Case{"heap", "jemalloc.heap", "jemalloc", 1},
                                         Case{"legacy-text", "cppbench.contention", "contentionz"},
                                         Case{"legacy-text", "cppbench.thread", "threadz"},
                                         Case{"legacy-text", "cppbench.thread.all", "threadz"}),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace tephra::formats
