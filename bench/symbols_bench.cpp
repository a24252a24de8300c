// Times the lookup of random distinct code addresses of a file with inlined calls and source lines, from opening the
// file to the last name.
//
//   symbols_bench FILE [COUNT [SEED]]             one line of JSON: what was done and how long it took
//   symbols_bench --addresses FILE [COUNT [SEED]] the same addresses, one a line, for llvm-symbolizer or addr2line
//   symbols_bench --print FILE [COUNT [SEED]]     what was found, innermost first, as addr2line -i -f prints it

#include <elf.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "objects/debug_info.h"
#include "objects/elf_file.h"

namespace {

using namespace tephra;

std::vector<uint64_t> random_addresses(const objects::ElfFile& elf, size_t count, unsigned seed) {
  const auto* text = elf.section(".text");
  if (text == nullptr || text->size == 0) return {};
  std::mt19937_64 random(seed);
  std::vector<uint64_t> addresses;
  count = std::min<size_t>(count, text->size);
  while (addresses.size() < count) {
    while (addresses.size() < count) addresses.push_back(text->address + random() % text->size);
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  }
  std::shuffle(addresses.begin(), addresses.end(), random);
  return addresses;
}

void print_levels(const std::vector<objects::DebugInfo::Level>& levels) {
  for (size_t i = levels.size(); i-- > 0;) {
    fmt::print("{}\n{}:{}\n", levels[i].function, levels[i].file.empty() ? "??" : levels[i].file, levels[i].line);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string mode;
  if (!arguments.empty() && arguments[0].starts_with("--")) {
    mode = arguments[0];
    arguments.erase(arguments.begin());
  }
  if (arguments.empty()) {
    fmt::print(stderr, "usage: symbols_bench [--addresses | --print] FILE [COUNT [SEED]]\n");
    return 2;
  }
  const size_t count = arguments.size() > 1 ? std::strtoull(arguments[1].c_str(), nullptr, 10) : 20000;
  const unsigned seed = arguments.size() > 2 ? static_cast<unsigned>(std::atoi(arguments[2].c_str())) : 1;

  std::vector<uint64_t> addresses;
  {
    const auto file = base::FileContent::open(arguments[0]);
    if (!file) return 1;
    const auto elf = objects::ElfFile::parse(file->bytes());
    if (elf) addresses = random_addresses(*elf, count, seed);
  }
  if (mode == "--addresses") {
    for (const uint64_t address : addresses) fmt::print("{:#x}\n", address);
    return 0;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto file = base::FileContent::open(arguments[0]);
  const auto info = objects::DebugInfo::open(file->bytes());
  if (!info) return 1;
  std::vector<objects::DebugInfo::Level> levels;
  size_t level_count = 0;
  info->prepare(addresses);
  for (const uint64_t address : addresses) {
    info->find(address, levels);
    level_count += levels.size();
    if (mode == "--print") {
      fmt::print("{:#018x}\n", address);
      print_levels(levels);
    }
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (mode.empty()) {
    fmt::print("{{\"bench\":\"symbols\",\"file\":\"{}\",\"addresses\":{},\"levels\":{},\"ms\":{:.2f}}}\n", arguments[0],
               addresses.size(), level_count, took.count());
  }
  return 0;
}
