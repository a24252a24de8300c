#include "objects/kallsyms.h"

#include <algorithm>

namespace tephra::objects {
namespace {

constexpr size_t kLongestLine = 4096;

// The hexadecimal number at the start of `text`, which is moved past it. False when there is none.
bool take_hex(std::string_view& text, uint64_t& value) {
  size_t digits = 0;
  value = 0;
  for (; digits < text.size() && digits < 16; ++digits) {
    const auto letter = static_cast<unsigned char>(text[digits]);
    unsigned digit = 0;
    if (letter - unsigned{'0'} < 10) {
      digit = letter - '0';
    } else if ((letter | 0x20u) - unsigned{'a'} < 6) {
      digit = (letter | 0x20u) - 'a' + 10;
    } else {
      break;
    }
    value = value << 4 | digit;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

// Kinds of symbols that perf keeps: text, weak, data, bss; local and global.
bool is_kept(char kind) {
  const auto lower = static_cast<char>(kind | 0x20);
  return lower == 't' || lower == 'w' || lower == 'd' || lower == 'b';
}

}  // namespace

Kallsyms::Kallsyms(std::vector<uint64_t> wanted) : wanted_(std::move(wanted)) {
  std::sort(wanted_.begin(), wanted_.end());
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  nearest_.resize(wanted_.size());
}

bool Kallsyms::feed(base::Bytes piece) {
  std::string_view text = base::as_text(piece);
  while (!text.empty() && !complete_) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      if (carry_.size() + text.size() <= kLongestLine) carry_ += text;
      break;
    }
    if (carry_.empty()) {
      read_line(text.substr(0, end));
    } else {
      carry_ += text.substr(0, end);
      read_line(carry_);
      carry_.clear();
    }
    text.remove_prefix(end + 1);
  }
  return !complete_;
}

void Kallsyms::read_line(std::string_view line) {
  uint64_t address = 0;
  if (!take_hex(line, address) || line.size() < 4 || line[0] != ' ' || line[2] != ' ') return;
  ++lines_;
  if (address == 0) return;
  ++nonzero_;
  const char kind = line[1];
  line.remove_prefix(3);
  if (line.size() == 5 && line == "_text") text_start_ = address;
  // The symbols of the kernel image are listed in order, so its code has been seen when its end is.
  if (line.size() == 6 && line == "_etext") complete_ = text_start_ && (wanted_.empty() || wanted_.back() < address);
  if (is_kept(kind)) offer(address, line);
}

void Kallsyms::offer(uint64_t address, std::string_view name_and_module) {
  const bool same_slot =
      slot_ < wanted_.size() && address <= wanted_[slot_] && (slot_ == 0 || address > wanted_[slot_ - 1]);
  if (!same_slot) {
    slot_ = static_cast<size_t>(std::lower_bound(wanted_.begin(), wanted_.end(), address) - wanted_.begin());
  }
  if (slot_ == wanted_.size()) return;
  Symbol& nearest = nearest_[slot_];
  if (!nearest.name.empty() && address < nearest.address) return;
  const size_t tab = name_and_module.find('\t');
  nearest.address = address;
  nearest.name.assign(name_and_module.substr(0, tab));
  nearest.module.clear();
  if (tab == std::string_view::npos) return;
  std::string_view module = name_and_module.substr(tab + 1);
  if (module.starts_with('[')) module.remove_prefix(1);
  nearest.module.assign(module.substr(0, module.find(']')));
}

void Kallsyms::finish() {
  if (!carry_.empty() && !complete_) read_line(carry_);
  carry_.clear();
  for (size_t i = 1; i < nearest_.size(); ++i) {
    if (nearest_[i].name.empty()) nearest_[i] = nearest_[i - 1];
  }
}

const Kallsyms::Symbol* Kallsyms::find(uint64_t address) const {
  const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), address);
  if (at == wanted_.end() || *at != address) return nullptr;
  const Symbol& nearest = nearest_[static_cast<size_t>(at - wanted_.begin())];
  return nearest.name.empty() ? nullptr : &nearest;
}

}  // namespace tephra::objects
