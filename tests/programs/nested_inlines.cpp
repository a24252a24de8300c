// A program whose debug information has calls inlined three deep, a lambda, templates and an anonymous namespace, and
// functions that are known to set up a frame.
#include <cstdio>

namespace nest {

volatile int input = 3;

template <class Number>
[[gnu::always_inline]] inline Number innermost(Number value) {
  Number sum = 0;
  for (int i = 0; i < input; ++i) sum += value * i;
  return sum;
}

namespace {
[[gnu::always_inline]] inline int middle(int value) { return innermost(value + 1) ^ input; }
}  // namespace

struct Outer {
  int factor;
  [[gnu::always_inline]] int apply(int value) const {
    const auto scale = [this](int by) { return middle(by) * factor; };
    return scale(value);
  }
};

[[gnu::noinline]] void note(int value) { input = value; }

// Calls something, so that it sets up a frame.
[[gnu::noinline]] int holder(int value) {
  const Outer outer{input};
  note(value);
  const int result = outer.apply(value);
  note(result);
  return result + input;
}

}  // namespace nest

int main() {
  std::printf("%d\n", nest::holder(2));
  return 0;
}
