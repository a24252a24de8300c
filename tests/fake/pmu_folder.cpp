#include "pmu_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "attr_check.h"

namespace tephra::fake {

PmuFolder::PmuFolder(const MachineConfig& config) {
  std::string name = (std::filesystem::temp_directory_path() / "fake-pmus-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return;
  path_ = name;
  write("software/type", "1\n");
  write("tracepoint/type", "2\n");
  write("breakpoint/type", "5\n");
  if (!config.pmu) return;
  write("cpu/type", std::to_string(kCpuPmu) + "\n");
  write("cpu/format/event", "config:0-7\n");
  write("cpu/format/umask", "config:8-15\n");
  write("cpu/format/edge", "config:18\n");
  write("cpu/format/inv", "config:23\n");
  write("cpu/format/cmask", "config:24-31\n");
  write("cpu/format/ldlat", "config1:0-15\n");
  write("cpu/format/offcore_rsp", "config1:0-63\n");
  write("cpu/events/cpu-cycles", "event=0x3c\n");
  write("cpu/events/instructions", "event=0xc0\n");
  write("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
  write("cpu/events/mem-stores", "event=0xd0,umask=0x82\n");
  write("cpu/events/topdown-slots", "event=0x00,umask=0x4\n");
  write("cpu/caps/branches", std::to_string(config.branches) + "\n");
  write("cpu/caps/max_precise", std::to_string(config.max_precise) + "\n");
  write("cpu/caps/pmu_name", "fake\n");
  write("uncore_imc_0/type", std::to_string(kUncorePmu) + "\n");
  write("uncore_imc_0/cpumask", "0\n");
  write("uncore_imc_0/format/event", "config:0-7\n");
  write("uncore_imc_0/format/umask", "config:8-15\n");
  write("uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n");
  write("uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n");
  write("uncore_imc_0/events/cas_count_read.unit", "MiB\n");
}

PmuFolder::~PmuFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

void PmuFolder::write(const std::string& name, const std::string& text) {
  const auto file = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace tephra::fake
