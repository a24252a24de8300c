#!/usr/bin/env python3
"""Writes and builds a large C++ program of many compile units: about 4 MB of program file each, debug information
included, full of templates and inlined calls. It runs for a given time and spends it all over its code.

usage: make_large_project.py FOLDER [--units 48] [--kinds 12] [--flags='-O2 -g'] [--only-sources]
       FOLDER/large SECONDS

The units are compiled in parallel, by ccache where it is installed; a unit that is there already is kept.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess

HEAD = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace project { namespace {

template <int Kind>
struct Item {
  int key = Kind;
  std::string name;
  std::vector<double> values;
  bool operator<(const Item& other) const { return key != other.key ? key < other.key : name < other.name; }
  double total() const { return std::accumulate(values.begin(), values.end(), double(Kind)); }
};

template <int Kind>
class Shelf {
 public:
  void put(Item<Kind> item) {
    index_[item.name].push_back(items_.size());
    names_.insert(item.name);
    items_.push_back(std::move(item));
  }
  void arrange() {
    std::sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return b < a; });
    std::stable_sort(items_.begin(), items_.end(),
                     [](const auto& a, const auto& b) { return a.total() < b.total(); });
    by_key_.clear();
    for (const auto& item : items_) by_key_[item.key % (Kind + 7)] = item;
  }
  double weigh(const std::function<double(const Item<Kind>&)>& weight) const {
    double sum = 0;
    for (const auto& [key, item] : by_key_) sum += weight(item) * key;
    for (const auto& [name, places] : index_) sum += double(name.size() * places.size());
    for (const auto& name : names_) sum += std::hash<std::string>()(name) % 3;
    return sum;
  }

 private:
  std::vector<Item<Kind>> items_;
  std::map<int, Item<Kind>> by_key_;
  std::set<std::string> names_;
  std::unordered_map<std::string, std::vector<size_t>> index_;
};

template <int Kind>
double work(int rounds) {
  Shelf<Kind> shelf;
  for (int i = 0; i < rounds; ++i) {
    shelf.put({i * Kind % 31, std::to_string(i * Kind), std::vector<double>(size_t(i % 5 + 1), 1.0 / (i + Kind + 1))});
  }
  shelf.arrange();
  std::variant<int, double, std::string> result = shelf.weigh([&](const Item<Kind>& item) {
    return item.total() + rounds;
  });
  return std::visit([](const auto& value) -> double {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) return double(value.size());
    else return double(value);
  }, result);
}

}}  // namespace project
"""

MAIN = """#include <chrono>
#include <cstdlib>
{declarations}
int main(int argc, char** argv) {{
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  double sum = 0;
  while (std::chrono::steady_clock::now() < end) {{
{calls}
  }}
  return sum == 0.5;
}}
"""


def unit_text(unit, kinds):
    lines = [HEAD, f"double run_unit_{unit}() {{", "  double sum = 0;"]
    lines += [f"  sum += project::work<{unit * kinds + kind}>({kind % 7 + 6});" for kind in range(kinds)]
    return "\n".join(lines + ["  return sum;", "}", ""])


def main_text(units):
    declarations = "\n".join(f"double run_unit_{unit}();" for unit in range(units))
    calls = "\n".join(f"    sum += run_unit_{unit}();" for unit in range(units))
    return MAIN.format(declarations=declarations, calls=calls)


def write(source, text):
    """Whether it was another text before."""
    if os.path.exists(source):
        with open(source) as file:
            if file.read() == text:
                return False
    with open(source, "w") as file:
        file.write(text)
    return True


def compile_unit(folder, name, text, flags):
    source, made = (os.path.join(folder, name + end) for end in (".cpp", ".o"))
    if not write(source, text) and os.path.exists(made):
        return made
    compiler = ["ccache", "g++"] if shutil.which("ccache") else ["g++"]
    subprocess.run([*compiler, "-std=c++17", *flags, "-c", "-o", made, source], check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--units", type=int, default=48)
    parser.add_argument("--kinds", type=int, default=12)
    parser.add_argument("--flags", default="-O2 -g")
    parser.add_argument("--only-sources", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    texts = {f"unit_{unit}": unit_text(unit, options.kinds) for unit in range(options.units)}
    texts["main"] = main_text(options.units)
    if options.only_sources:
        for name, text in texts.items():
            write(os.path.join(options.folder, name + ".cpp"), text)
        return
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(lambda item: compile_unit(options.folder, *item, options.flags.split()), texts.items())
        subprocess.run(["g++", "-o", os.path.join(options.folder, "large"), *made], check=True)


if __name__ == "__main__":
    main()
