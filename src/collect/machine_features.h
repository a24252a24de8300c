#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collect/record_writer.h"

namespace tephra::collect {

// What this machine is: how many CPUs, which model, how they, memory and counters are laid out. What it does not tell
// is left out.
std::vector<Feature> machine_features();

// The value of the first line `field : value` of a text such as /proc/cpuinfo; empty where there is none.
std::string field_of(std::string_view text, std::string_view field);

}  // namespace tephra::collect
