#include "kernel/event_modifiers.h"

#include <algorithm>
#include <string>

namespace tephra::kernel {
namespace {

constexpr std::string_view kLetters = "ukhGHIpPSDWe";
constexpr int kMaxPrecise = 3;

base::Error bad_modifiers(const EventSpec& event, std::string_view letters) {
  return base::usage_error(
      "unknown event modifier", event.name, "'" + std::string(letters) + "' is not made of modifiers, each once",
      "Modifiers are u (user code), k (kernel), h (hypervisor), G (guests), H (the host), I (not when idle), p, pp, "
      "ppp "
      "and P (precise), S (the leader samples its group), D (pinned), W (weak group) and e (exclusive).");
}

// Which modes run: none named, all; else those named.
void limit_modes(EventSpec& event, std::string_view letters) {
  const auto has = [letters](char letter) { return letters.find(letter) != std::string_view::npos; };
  if (!has('u') && !has('k') && !has('h')) return;
  const bool limited = event.exclude_user || event.exclude_kernel || event.exclude_hypervisor;
  if (!limited) event.exclude_user = event.exclude_kernel = event.exclude_hypervisor = true;
  if (has('u')) event.exclude_user = false;
  if (has('k')) event.exclude_kernel = false;
  if (has('h')) event.exclude_hypervisor = false;
  event.modes_given = true;
}

// As perf has it: G and H choose; without them user code and precise counting leave guests out.
void limit_machines(EventSpec& event, std::string_view letters) {
  const auto has = [letters](char letter) { return letters.find(letter) != std::string_view::npos; };
  if (has('G') || has('H')) {
    event.exclude_guest = !has('G');
    event.exclude_host = !has('H');
  } else if (has('u') || has('p')) {
    event.exclude_guest = event.exclude_guest || !event.exclude_host;
  }
}

}  // namespace

bool are_modifiers(std::string_view text) {
  for (const char letter : kLetters) {
    if (std::count(text.begin(), text.end(), letter) > (letter == 'p' ? kMaxPrecise : 1)) return false;
  }
  return text.find_first_not_of(kLetters) == std::string_view::npos;
}

base::Status apply_modifiers(EventSpec& event, std::string_view own, std::string_view group, bool leader) {
  if (!are_modifiers(own)) return bad_modifiers(event, own);
  if (!are_modifiers(group)) return bad_modifiers(event, group);
  const std::string letters = std::string(own) + std::string(group);
  const auto has = [&letters](char letter) { return letters.find(letter) != std::string::npos; };
  const auto precise = event.precise + std::count(letters.begin(), letters.end(), 'p');
  if (precise > kMaxPrecise) return bad_modifiers(event, letters);
  event.precise = static_cast<uint8_t>(precise);
  limit_modes(event, letters);
  if (!own.empty()) event.exclude_guest = false;
  limit_machines(event, letters);
  event.exclude_idle |= has('I');
  event.most_precise |= has('P');
  event.leader_samples |= has('S');
  event.weak_group |= has('W');
  const std::string_view on_counter = leader ? std::string_view(letters) : own;
  event.pinned |= on_counter.find('D') != std::string_view::npos;
  event.exclusive |= on_counter.find('e') != std::string_view::npos;
  return {};
}

}  // namespace tephra::kernel
