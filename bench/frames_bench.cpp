// Compiles call-frame tables of files and loads them from a cache: one line of JSON a file. Usage:
//   frames_bench CACHE-FOLDER ROUNDS FILE...
// The cache folder is one of its own: entries are written there.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/disk_cache.h"
#include "symbols/file_finder.h"
#include "unwind/table_store.h"

namespace {

using namespace tephra;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The median over rounds of the time to get the tables of all files from a new store.
double median_of(int rounds, const base::DiskCache& cache, const std::vector<symbols::WantedFile>& files,
                 std::vector<unwind::FrameTable>& tables) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    symbols::FileFinder finder;
    unwind::TableStore store(finder, cache);
    std::vector<const unwind::FrameTable*> found;
    times.push_back(seconds_of([&] {
      for (const auto& file : files) found.push_back(store.find(file));
    }));
    tables.clear();
    for (const auto* table : found) tables.push_back(table != nullptr ? *table : unwind::FrameTable{});
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void print(const std::string& name, const std::vector<symbols::WantedFile>& files, const base::DiskCache& cache,
           int rounds) {
  std::vector<unwind::FrameTable> tables;
  const double compile = median_of(rounds, base::DiskCache(""), files, tables);
  uint64_t rows = 0;
  uint64_t unsupported = 0;
  uint64_t rules = 0;
  uint64_t bytes = 0;
  for (const auto& table : tables) {
    rows += table.rows;
    unsupported += table.unsupported_rows;
    rules += table.rules.size();
    bytes += table.blocks.size_bytes() + table.rules.size_bytes();
  }
  const double store = median_of(1, cache, files, tables);
  const double load = median_of(rounds, cache, files, tables);
  std::printf(
      "{\"file\": \"%s\", \"rows\": %llu, \"rules\": %llu, \"unsupported\": %llu, \"bytes\": %llu, "
      "\"compile_ms\": %.3f, \"compile_and_store_ms\": %.3f, \"load_ms\": %.3f}\n",
      name.c_str(), static_cast<unsigned long long>(rows), static_cast<unsigned long long>(rules),
      static_cast<unsigned long long>(unsupported), static_cast<unsigned long long>(bytes), compile * 1e3, store * 1e3,
      load * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: frames_bench CACHE-FOLDER ROUNDS FILE...\n");
    return 2;
  }
  const int rounds = std::max(1, std::atoi(argv[2]));
  std::vector<symbols::WantedFile> all;
  for (int i = 3; i < argc; ++i) {
    all.push_back({argv[i], {}, {}});
    print(argv[i], {all.back()}, base::DiskCache(std::string(argv[1]) + "/" + std::to_string(i)), rounds);
  }
  if (all.size() > 1) print("all of them", all, base::DiskCache(std::string(argv[1]) + "/all"), rounds);
  return 0;
}
