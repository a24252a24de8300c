// A library that unwind_cases loads and unloads: calls `work` at a depth, through frames of its own.
extern "C" __attribute__((noinline)) unsigned plugin_deeper(unsigned (*work)(unsigned), unsigned depth) {
  if (depth == 0) return work(1500) + 1;
  unsigned below = plugin_deeper(work, depth - 1);
  asm volatile("" : "+r"(below));
  return below * 5 + depth;
}
extern "C" unsigned plugin_work(unsigned (*work)(unsigned), unsigned depth) { return plugin_deeper(work, depth) + 1; }
