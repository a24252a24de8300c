#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "model/profile_assembler.h"

namespace tephra::analysis {

// Writes small symbolized profiles for tests: stacks are texts "main;work;hot", outermost first, as in folded stacks. A
// name may bring its module, "memcpy@/usr/lib/libc.so.6"; the module "[kernel]" is the kernel's. The empty text is the
// empty stack.
class TestProfile {
 public:
  explicit TestProfile(std::string_view event = "cpu-clock", std::string_view unit = "ns")
      : event_(assembler_.event({assembler_.string(event), assembler_.string(unit)})) {}

  struct Who {
    std::string_view comm = "prog";
    int32_t pid = 1;
    int32_t tid = 1;
    std::optional<int32_t> cpu = std::nullopt;
  };

  TestProfile& add(std::string_view stack, uint64_t count, uint64_t value) { return add(stack, count, value, Who{}); }
  TestProfile& add(std::string_view stack, uint64_t count, uint64_t value, const Who& who) {
    const auto thread = assembler_.thread({who.pid, who.tid, assembler_.string(who.comm)});
    assembler_.sample({this->stack(stack), event_, thread, count, value, std::nullopt, who.cpu});
    return *this;
  }

  model::Profile finish() { return std::move(assembler_).finish(); }

 private:
  model::StackId stack(std::string_view text) {
    model::StackId id;
    while (!text.empty()) {
      const size_t end = text.find(';');
      id = assembler_.stack(id, frame(text.substr(0, end)));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return id;
  }

  model::FrameId frame(std::string_view text) {
    const size_t at = text.find('@');
    const auto module = at == std::string_view::npos ? std::string_view("/bin/prog") : text.substr(at + 1);
    const auto name = assembler_.string(text.substr(0, at));
    const auto kind = module == "[kernel]" ? model::CodeKind::kKernel : model::CodeKind::kFile;
    const auto mapping = assembler_.mapping({.path = assembler_.string(module), .kind = kind});
    const auto function = assembler_.function({name, name, true});
    // Another address at each use, so that tests see whether frames of one function are joined.
    return assembler_.frame({.mapping = mapping, .address = ++address_ % 3, .function = function});
  }

  model::ProfileAssembler assembler_;
  model::EventId event_;
  uint64_t address_ = 0;
};

}  // namespace tephra::analysis
