#include "collect/machine_features.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "base/file.h"
#include "kernel/procfs.h"
#include "stream/perf_file.h"
#include "stream/put.h"

namespace tephra::collect {
namespace {

using formats::text_feature;
using stream::put;
using stream::put_text;

// A small file without the white space around its text; empty where it cannot be read.
std::string read_trimmed(const std::string& path) {
  const auto text = base::read_small_file(path);
  if (!text) return {};
  const size_t begin = text->find_first_not_of(" \t\n");
  return begin == std::string::npos ? "" : text->substr(begin, text->find_last_not_of(" \t\n") + 1 - begin);
}

Feature cpu_count_feature() {
  Feature feature{stream::kFeatureCpuCount, {}};
  put(feature.content, static_cast<uint32_t>(kernel::present_cpu_count()));
  put(feature.content, static_cast<uint32_t>(kernel::online_cpus().size()));
  return feature;
}

Feature total_memory_feature() {
  const std::string text = field_of(read_trimmed("/proc/meminfo"), "MemTotal");
  Feature feature{stream::kFeatureTotalMemory, {}};
  put(feature.content, static_cast<uint64_t>(std::strtoull(text.c_str(), nullptr, 10)));
  return feature;
}

// The model in the form perf looks event tables up by.
std::string cpu_id(std::string_view cpuinfo) {
  const std::string vendor = field_of(cpuinfo, "vendor_id");
  if (!vendor.empty()) {
    return fmt::format("{},{},{},{}", vendor, field_of(cpuinfo, "cpu family"), field_of(cpuinfo, "model"),
                       field_of(cpuinfo, "stepping"));
  }
  return read_trimmed("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1");
}

std::string topology_path(size_t cpu, std::string_view name) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, name);
}

// The distinct lists of CPUs that share something, over all CPUs.
void put_sharing(std::string& out, size_t cpus, std::string_view name) {
  std::vector<std::string> lists;
  for (size_t cpu = 0; cpu < cpus; ++cpu) {
    std::string list = read_trimmed(topology_path(cpu, name));
    if (!list.empty() && std::find(lists.begin(), lists.end(), list) == lists.end()) lists.push_back(std::move(list));
  }
  put(out, static_cast<uint32_t>(lists.size()));
  for (const std::string& list : lists) put_text(out, list);
}

// A CPU that is off has none; perf says -1 too.
uint32_t topology_id(size_t cpu, std::string_view name) {
  const std::string text = read_trimmed(topology_path(cpu, name));
  return text.empty() ? UINT32_MAX : static_cast<uint32_t>(std::strtol(text.c_str(), nullptr, 10));
}

Feature cpu_topology_feature() {
  Feature feature{stream::kFeatureCpuTopology, {}};
  std::string& out = feature.content;
  // As many as the section with the number of CPUs says: readers go by that.
  const size_t cpus = kernel::present_cpu_count();
  put_sharing(out, cpus, "core_siblings_list");
  put_sharing(out, cpus, "thread_siblings_list");
  for (size_t cpu = 0; cpu < cpus; ++cpu) {
    put(out, topology_id(cpu, "core_id"));
    put(out, topology_id(cpu, "physical_package_id"));
  }
  if (read_trimmed(topology_path(0, "die_cpus_list")).empty()) return feature;
  put_sharing(out, cpus, "die_cpus_list");
  for (size_t cpu = 0; cpu < cpus; ++cpu) put(out, topology_id(cpu, "die_id"));
  return feature;
}

std::vector<Feature> numa_topology_feature() {
  const std::string root = "/sys/devices/system/node/";
  const auto nodes = kernel::parse_cpu_list(read_trimmed(root + "online"));
  if (!nodes || nodes->empty()) return {};
  Feature feature{stream::kFeatureNumaTopology, {}};
  put(feature.content, static_cast<uint32_t>(nodes->size()));
  for (const int node : *nodes) {
    const std::string folder = fmt::format("{}node{}/", root, node);
    const std::string memory = read_trimmed(folder + "meminfo");
    put(feature.content, static_cast<uint32_t>(node));
    for (const char* field : {"MemTotal", "MemFree"}) {
      put(feature.content, static_cast<uint64_t>(std::strtoull(field_of(memory, field).c_str(), nullptr, 10)));
    }
    put_text(feature.content, read_trimmed(folder + "cpulist"));
  }
  return {feature};
}

// Which number the kernel gave to which unit that counts.
std::vector<Feature> pmu_mappings_feature() {
  const std::string root = "/sys/bus/event_source/devices";
  std::set<std::pair<uint32_t, std::string>> pmus;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(root, ignored)) {
    const std::string type = read_trimmed(entry.path() / "type");
    if (type.empty()) continue;
    pmus.emplace(static_cast<uint32_t>(std::strtoul(type.c_str(), nullptr, 10)), entry.path().filename().string());
  }
  if (pmus.empty()) return {};
  Feature feature{stream::kFeaturePmuMappings, {}};
  put(feature.content, static_cast<uint32_t>(pmus.size()));
  for (const auto& [type, name] : pmus) {
    put(feature.content, type);
    put_text(feature.content, name);
  }
  return {feature};
}

}  // namespace

std::string field_of(std::string_view text, std::string_view field) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    // Lines about one node of memory begin with its number.
    if (name != field && !name.ends_with(" " + std::string(field))) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string_view::npos ? "" : std::string(line.substr(begin));
  }
  return {};
}

std::vector<Feature> machine_features() {
  utsname machine{};
  ::uname(&machine);
  const std::string cpus = read_trimmed("/proc/cpuinfo");
  std::vector<Feature> features{
      text_feature(stream::kFeatureHostname, machine.nodename),
      text_feature(stream::kFeatureOsRelease, machine.release),
      text_feature(stream::kFeatureArch, machine.machine),
      cpu_count_feature(),
      text_feature(stream::kFeatureCpuDescription, field_of(cpus, "model name")),
      total_memory_feature(),
      cpu_topology_feature(),
  };
  if (const std::string id = cpu_id(cpus); !id.empty()) features.push_back(text_feature(stream::kFeatureCpuId, id));
  for (auto& more : {numa_topology_feature(), pmu_mappings_feature()}) {
    features.insert(features.end(), more.begin(), more.end());
  }
  return features;
}

}  // namespace tephra::collect
