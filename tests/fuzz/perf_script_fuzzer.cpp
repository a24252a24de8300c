#include <cstdint>
#include <span>

#include "formats/perf_script.h"
#include "formats/plain_text.h"
#include "formats/script_fold.h"

// Any text is read and folded, and what is written of it is read again with the same sums.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tephra;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)formats::kPerfScript.refusal(bytes);
  const formats::PlainText plain(bytes);
  for (const auto rules : {formats::NameRules::kFlameGraph, formats::NameRules::kInferno}) {
    const auto folded = formats::fold_script(
        plain.text(), {.names = {.rules = rules, .kernel = true, .jit = true, .addresses = true}, .tid = true});
    if (model::totals(formats::summary_of(folded)).count != folded.samples) __builtin_trap();
  }
  (void)formats::fold_script(plain.text(), {.srcline = true});
  const auto profile = formats::kPerfScript.read(bytes);
  if (!profile.ok()) return 0;
  const auto text = formats::write_perf_script(*profile);
  if (!text.ok()) __builtin_trap();
  const auto again = formats::kPerfScript.read(base::as_bytes(*text));
  if (!again.ok() || again.value().quality[model::Reason::malformed_records] != 0) __builtin_trap();
  if (model::totals(*again) != model::totals(*profile)) __builtin_trap();
  return 0;
}
