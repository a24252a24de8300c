// What ./demo profiles: two threads that sort, hash and count words for SECONDS (default 5), through a few levels of
// ordinary C++ so that the picture has something to show.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace shop {

struct Order {
  uint64_t id = 0;
  uint32_t customer = 0;
  double total = 0;
  std::string note;
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_;
};

std::vector<Order> make_orders(Random& random, size_t count) {
  static constexpr std::string_view kWords[] = {"fragile", "gift", "express", "return", "heavy", "cold", "late"};
  std::vector<Order> orders(count);
  for (Order& order : orders) {
    order.id = random.next();
    order.customer = static_cast<uint32_t>(random.next() % 5000);
    order.total = static_cast<double>(random.next() % 100000) / 100;
    for (int i = 0; i < 4; ++i) order.note.append(kWords[random.next() % std::size(kWords)]).append(" ");
  }
  return orders;
}

uint64_t checksum(std::string_view text) {
  uint64_t hash = 1469598103934665603u;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211u;
  return hash;
}

double rank_by_total(std::vector<Order>& orders) {
  std::sort(orders.begin(), orders.end(), [](const Order& a, const Order& b) { return a.total > b.total; });
  return orders.front().total;
}

size_t count_words(const std::vector<Order>& orders) {
  std::unordered_map<std::string, size_t> counts;
  for (const Order& order : orders) {
    size_t begin = 0;
    for (size_t end; (end = order.note.find(' ', begin)) != std::string::npos; begin = end + 1) {
      ++counts[order.note.substr(begin, end - begin)];
    }
  }
  return counts.size();
}

uint64_t sign_orders(const std::vector<Order>& orders) {
  uint64_t sum = 0;
  for (int pass = 0; pass < 4; ++pass) {
    for (const Order& order : orders) sum += checksum(order.note);
  }
  return sum;
}

uint64_t process_batch(Random& random) {
  auto orders = make_orders(random, 20000);
  const double best = rank_by_total(orders);
  return sign_orders(orders) + count_words(orders) + static_cast<uint64_t>(best);
}

uint64_t work_until(std::chrono::steady_clock::time_point end, uint64_t seed) {
  Random random(seed);
  uint64_t sum = 0;
  while (std::chrono::steady_clock::now() < end) sum += process_batch(random);
  return sum;
}

}  // namespace shop

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  uint64_t from_thread = 0;
  std::thread second([&] { from_thread = shop::work_until(end, 2); });
  const uint64_t sum = shop::work_until(end, 1);
  second.join();
  std::printf("checked %016llx\n", static_cast<unsigned long long>(sum ^ from_thread));
}
