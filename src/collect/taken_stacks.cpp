#include "collect/taken_stacks.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace tephra::collect {
namespace {

constexpr auto kKernelMark = static_cast<uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto kUserMark = static_cast<uint64_t>(PERF_CONTEXT_USER);
constexpr auto kLeastMark = static_cast<uint64_t>(PERF_CONTEXT_MAX);

using Places = std::vector<std::pair<uint64_t, uint64_t>>;

bool is_interrupt(std::string_view name) {
  return name.starts_with("asm_sysvec_") || name == "asm_common_interrupt" || name == "handle_softirqs" ||
         name == "__do_softirq" || name == "el1h_64_irq" || name == "el0t_64_irq";
}

bool calls_programs(std::string_view name) {
  return name.starts_with("bpf_trace_run") || name.starts_with("__bpf_trace_") || name.starts_with("__traceiter_");
}

TakenStacks::KernelPlaces kernel_places() {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  TakenStacks::KernelPlaces places;
  const std::unique_ptr<std::FILE, Close> file(std::fopen("/proc/kallsyms", "re"));
  if (!file) return places;
  char line[512];
  std::pair<uint64_t, uint64_t>* open = nullptr;  // the function that the last lines were about
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    char* end = nullptr;
    const uint64_t address = std::strtoull(line, &end, 16);
    if (address == 0 || std::strlen(end) < 4) continue;  // " t name"
    std::string_view name(end + 3);
    name = name.substr(0, name.find_first_of(" \t\n"));
    if (open != nullptr && address > open->first) {
      open->second = address;
      open = nullptr;
    }
    Places* const wanted = name == "__schedule" || name == "try_to_wake_up" ? &places.scheduler
                           : is_interrupt(name)                             ? &places.interrupts
                           : calls_programs(name)                           ? &places.tracepoints
                                                                            : nullptr;
    if (wanted != nullptr && open == nullptr) open = &wanted->emplace_back(address, address);
  }
  for (Places* each : {&places.scheduler, &places.interrupts, &places.tracepoints}) std::ranges::sort(*each);
  return places;
}

bool is_in(const Places& places, uint64_t address) {
  const auto after = std::upper_bound(places.begin(), places.end(), std::pair(address, UINT64_MAX));
  return after != places.begin() && address < std::prev(after)->second;
}

// As perf orders them: by the numbers of its registers. `saved` is what the kernel stores on entry.
std::vector<uint64_t> in_order_of_perf(base::Bytes saved) {
  std::vector<uint64_t> words(saved.size() / 8);
  for (size_t at = 0; at < words.size(); ++at) words[at] = base::load<uint64_t>(saved.data() + at * 8);
#if defined(__x86_64__)
  if (words.size() < 21) return {};
  // r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss
  constexpr int kOrder[] = {10, 5, 11, 12, 13, 14, 4, 19, 16, 18, 17, 20, 9, 8, 7, 6, 3, 2, 1, 0};
  std::vector<uint64_t> ordered;
  for (const int place : kOrder) ordered.push_back(words[static_cast<size_t>(place)]);
  return ordered;
#else
  if (words.size() < 33) return {};
  words.resize(33);
  return words;
#endif
}

struct Pointers {
  uint64_t ip = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
};

std::optional<Pointers> pointers_of(const std::vector<uint64_t>& registers) {
#if defined(__x86_64__)
  if (registers.size() < 9) return {};
  return Pointers{registers[8], registers[7], registers[6]};
#else
  if (registers.size() < 33) return {};
  return Pointers{registers[32], registers[31], registers[29]};
#endif
}

// The callers by frame pointers, as the kernel would find them, over a copy of the stack.
void append_by_frame_pointers(const std::vector<uint64_t>& registers, base::Bytes copy, std::vector<uint64_t>& chain) {
  constexpr size_t kMostFrames = 512;
  const auto pointers = pointers_of(registers);
  if (!pointers) return;
  chain.push_back(kUserMark);
  chain.push_back(pointers->ip);
  uint64_t fp = pointers->fp;
  for (size_t frames = 1; frames < kMostFrames; ++frames) {
    const uint64_t at = fp - pointers->sp;
    if (fp < pointers->sp || fp % 8 != 0 || at + 16 > copy.size()) return;
    const auto next = base::load<uint64_t>(copy.data() + at);
    const auto caller = base::load<uint64_t>(copy.data() + at + 8);
    if (caller == 0 || caller >= kLeastMark) return;
    chain.push_back(caller);
    if (next <= fp) return;
    fp = next;
  }
}

// What callers are found by: the other registers change from wait to wait.
std::string content_of(const TakenStacks::Stack& stack) {
  const Pointers pointers = pointers_of(stack.registers).value_or(Pointers());
  std::string content(reinterpret_cast<const char*>(stack.chain.data()), stack.chain.size() * 8);
  content.append(reinterpret_cast<const char*>(&pointers), sizeof pointers);
  uint64_t first = 1;
  uint64_t second = 2;
  for (size_t at = 0; at + 8 <= stack.copy.size(); at += 8) {
    const auto word = base::load<uint64_t>(stack.copy.data() + at);
    first = (first ^ word) * 0x9e3779b97f4a7c15ULL;
    first ^= first >> 29;
    second = (second + word) * 0xbf58476d1ce4e5b9ULL;
    second ^= second >> 31;
  }
  for (const uint64_t word : {first, second}) content.append(reinterpret_cast<const char*>(&word), sizeof word);
  return content;
}

}  // namespace

TakenStacks::TakenStacks(bool copies) : copies_(copies), places_(kernel_places()) {}

size_t TakenStacks::interrupt_words(const Stack& stack) const {
  size_t words = 0;
  for (size_t at = 0; at < stack.chain.size() && stack.chain[at] != kUserMark; ++at) {
    if (is_in(places_.interrupts, stack.chain[at])) words = at + 1;
  }
  return words;
}

void TakenStacks::add(const kernel::TakenStack& told) {
  Stack stack;
  stack.walk_end = told.head.misc;
  for (size_t at = 0; at + 8 <= told.chain.size(); at += 8) {
    stack.chain.push_back(base::load<uint64_t>(told.chain.data() + at));
  }
  // No deeper than that many frames: below may be a program that was interrupted.
  constexpr size_t kMostToCall = 8;
  for (size_t at = std::min(stack.chain.size(), kMostToCall); at-- > 1 && stack.chain.front() == kKernelMark;) {
    if (!is_in(places_.tracepoints, stack.chain[at])) continue;
    stack.chain.erase(stack.chain.begin() + 1, stack.chain.begin() + static_cast<ptrdiff_t>(at) + 1);
    break;
  }
  const auto in_scheduler = [&](uint64_t address) { return is_in(places_.scheduler, address); };
  if (!stack.chain.empty() && stack.chain.front() == kKernelMark) {
    const auto found = std::find_if(stack.chain.begin(), stack.chain.end(), in_scheduler);
    if (found != stack.chain.end()) stack.chain.erase(stack.chain.begin() + 1, found);
  }
  stack.interrupt_words = interrupt_words(stack);
  if (!told.copy.empty()) {
    stack.registers = in_order_of_perf(told.registers);
    if (copies_) {
      stack.copy.assign(told.copy.begin(), told.copy.end());
    } else {
      append_by_frame_pointers(stack.registers, told.copy, stack.chain);
      stack.registers.clear();
    }
  }
  if (!stack.copy.empty()) {
    const auto [first, fresh] = by_content_.emplace(content_of(stack), told.head.hash);
    if (!fresh) {
      same_[told.head.hash] = first->second;
      return;
    }
  }
  bytes_ += sizeof stack + stack.chain.size() * 8 + stack.copy.size();
  stacks_[told.head.hash] = std::move(stack);
}

const TakenStacks::Stack* TakenStacks::find(uint64_t hash) const {
  const auto found = stacks_.find(same_as(hash));
  return found == stacks_.end() ? nullptr : &found->second;
}

}  // namespace tephra::collect
