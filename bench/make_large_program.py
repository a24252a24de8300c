#!/usr/bin/env python3
"""Writes a C++ program of one large compile unit, full of templates and inlined calls, for symbols_bench.

usage: make_large_program.py [KINDS] > large.cpp && g++ -O2 -g -o large large.cpp
About 12 kinds make a program file of 4 MB, debug information included.
"""
import sys

HEAD = """#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

namespace large {

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
    return sum;
  }

 private:
  std::vector<Item<Kind>> items_;
  std::map<int, Item<Kind>> by_key_;
  std::unordered_map<std::string, std::vector<size_t>> index_;
};

template <int Kind>
double work(int rounds) {
  Shelf<Kind> shelf;
  for (int i = 0; i < rounds; ++i) {
    shelf.put({i * Kind % 31, std::to_string(i * Kind), std::vector<double>(size_t(i % 5 + 1), 1.0 / (i + Kind + 1))});
  }
  shelf.arrange();
  return shelf.weigh([&](const Item<Kind>& item) { return item.total() + rounds; });
}

}  // namespace large
"""


def main():
    kinds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    print(HEAD)
    print("int main(int argc, char**) {\n  double sum = 0;")
    for kind in range(kinds):
        print(f"  sum += large::work<{kind}>(argc * {kind % 13 + 20});")
    print("  return int(sum) & 1;\n}")


main()
