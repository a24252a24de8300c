// Compiles call-frame tables of files, loads them from a cache and looks up random places: a line of JSON a file, and
// one for all of them together. Usage:
//   frames_bench CACHE-FOLDER ROUNDS FILE...
// The folder is written to; what it holds from earlier runs is deleted.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "symbols/file_finder.h"
#include "unwind/table_store.h"

namespace {

using namespace tephra;

struct Times {
  double wall = 0;
  double cpu = 0;  // of all threads
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class Work>
Times times_of(const Work& work) {
  const Times begin{wall_seconds(), cpu_seconds()};
  work();
  return {wall_seconds() - begin.wall, cpu_seconds() - begin.cpu};
}

Times median(std::vector<Times> times) {
  std::sort(times.begin(), times.end(), [](const Times& a, const Times& b) { return a.wall < b.wall; });
  return times[times.size() / 2];
}

struct Facts {
  uint64_t rows = 0;
  uint64_t rules = 0;
  uint64_t unsupported = 0;
  uint64_t bytes = 0;
  double find_ns = 0;

  void add(const unwind::FrameTable& table) {
    rows += table.rows;
    rules += table.rules.size();
    unsupported += table.unsupported_rows;
    bytes += table.blocks.size_bytes() + table.rules.size_bytes() + table.block_starts.size_bytes();
  }
};

// The time of one lookup at a random place of the largest table.
double find_time(const std::vector<const unwind::FrameTable*>& tables) {
  constexpr int kLookups = 1 << 20;
  const auto* table =
      *std::max_element(tables.begin(), tables.end(), [](const auto* a, const auto* b) { return a->rows < b->rows; });
  if (table->empty()) return 0;
  const uint64_t first = table->blocks.front().start[0];
  const uint64_t last = table->blocks.back().start[TEPHRA_FRAME_BLOCK_ROWS - 1];
  std::mt19937 random(1);
  std::vector<uint32_t> places;
  for (int i = 0; i < kLookups; ++i) places.push_back(static_cast<uint32_t>(first + random() % (last - first + 1)));
  uint64_t sum = 0;
  const Times times = times_of([&] {
    for (const uint32_t place : places) sum += table->find(place).cfa;
  });
  return sum == 0 ? 0 : times.cpu * 1e9 / kLookups;
}

// How long a new store takes to get the tables of all files.
Times measure(int rounds, const base::DiskCache& cache, const std::vector<std::string>& files, Facts* facts = nullptr) {
  std::vector<Times> times;
  for (int round = 0; round < rounds; ++round) {
    symbols::FileFinder finder;
    unwind::TableStore store(finder, cache);
    std::vector<const unwind::FrameTable*> tables;
    times.push_back(times_of([&] {
      for (const auto& file : files) tables.push_back(store.find({file, {}, {}}));
    }));
    std::erase(tables, nullptr);
    if (facts == nullptr || round > 0 || tables.empty()) continue;
    for (const auto* table : tables) facts->add(*table);
    facts->find_ns = find_time(tables);
  }
  return median(times);
}

void print(const std::string& name, const std::vector<std::string>& files, const std::string& folder, int rounds) {
  std::filesystem::remove_all(folder);
  const base::DiskCache cache(folder);
  Facts facts;
  const Times compile = measure(rounds, base::DiskCache(""), files, &facts);
  const Times store = measure(1, cache, files);
  const Times load = measure(rounds, cache, files);
  fmt::print(
      "{{\"file\": \"{}\", \"rows\": {}, \"rules\": {}, \"unsupported\": {}, \"bytes\": {}, \"compile_ms\": {:.3f}, "
      "\"compile_cpu_ms\": {:.3f}, \"store_ms\": {:.3f}, \"load_ms\": {:.3f}, \"find_ns\": {:.1f}}}\n",
      name, facts.rows, facts.rules, facts.unsupported, facts.bytes, compile.wall * 1e3, compile.cpu * 1e3,
      store.wall * 1e3, load.wall * 1e3, facts.find_ns);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: frames_bench CACHE-FOLDER ROUNDS FILE...\n");
    return 2;
  }
  const int rounds = std::max(1, std::atoi(argv[2]));
  const std::vector<std::string> files(argv + 3, argv + argc);
  const std::string folder = std::string(argv[1]) + "/frames-bench";
  for (const auto& file : files) print(file, {file}, folder, rounds);
  if (files.size() > 1) print("all of them", files, folder, rounds);
  return 0;
}
