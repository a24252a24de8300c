#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tephra::kernel {

// Where the bits of a term's value go: in ascending order into the bits of `mask` of config, config1, config2, ...
struct TermBits {
  unsigned word = 0;
  uint64_t mask = 0;

  uint64_t largest() const;
  // The value spread over the mask. What does not fit is left out.
  uint64_t place(uint64_t value) const;
};
// "config:0-7,21" or "config1:0-63", as in the files of format/. None when malformed.
std::optional<TermBits> parse_term_bits(std::string_view text);

// A source of events (a performance monitoring unit), as the kernel describes it.
struct Pmu {
  std::string name;
  uint32_t type = 0;
  std::map<std::string, TermBits> terms;
  std::vector<std::string> events;  // names, sorted
  std::vector<int> cpus;            // it is read on these alone; empty: on all
  bool core = false;                // counts what CPUs execute, so that it has modes and can sample
};

// The sources of events below a folder of sysfs. They are read when they are first asked for, and kept; a Pmu stays
// where it is as long as this lives.
class Pmus {
 public:
  explicit Pmus(std::string folder) : folder_(std::move(folder)) {}

  const std::vector<std::string>& names();
  // Null: there is none of that name.
  const Pmu* find(const std::string& name);
  // The one of that name. If there is none: those with a number behind it ("uncore_imc" means uncore_imc_0, _1 ...,
  // and so does "imc"), and those that match it as a pattern.
  std::vector<const Pmu*> match(const std::string& name);
  // Those that have a named event of this name.
  std::vector<const Pmu*> with_event(const std::string& event);
  // What a named event stands for: "event=0x3c,umask=0x01".
  base::Result<std::string> definition(const Pmu& pmu, const std::string& event) const;

 private:
  std::optional<Pmu> read(const std::string& name) const;

  std::string folder_;
  std::optional<std::vector<std::string>> names_;
  std::map<std::string, std::optional<Pmu>> read_;
};

}  // namespace tephra::kernel
