#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "kernel/event_parser.h"

namespace tephra::kernel {

// For tests: a folder with PMUs and tracepoints of a machine that does not exist, in the layout of sysfs and tracefs.
class MadeUpSources {
 public:
  MadeUpSources() {
    std::string name = (std::filesystem::temp_directory_path() / "tephra-events-XXXXXX").string();
    const char* made = ::mkdtemp(name.data());
    folder_ = made ? made : "";
    add_cpu();
    add_uncore();
    add_power();
    add_tracepoints();
  }
  ~MadeUpSources() { std::filesystem::remove_all(folder_); }
  MadeUpSources(const MadeUpSources&) = delete;
  MadeUpSources& operator=(const MadeUpSources&) = delete;

  EventSources sources() const { return {Pmus(pmus()), Tracepoints(folder_ + "/tracing")}; }
  std::string pmus() const { return folder_ + "/devices"; }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = folder_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text << "\n";
  }

 private:
  void add_cpu() const {
    write("devices/cpu/type", "4");
    write("devices/cpu/format/event", "config:0-7");
    write("devices/cpu/format/umask", "config:8-15");
    write("devices/cpu/format/edge", "config:18");
    write("devices/cpu/format/inv", "config:23");
    write("devices/cpu/format/cmask", "config:24-31");
    write("devices/cpu/format/wide", "config:0-7,32-35");
    write("devices/cpu/format/offcore_rsp", "config1:0-63");
    write("devices/cpu/format/ldlat", "config1:0-15");
    write("devices/cpu/format/late", "config2:3-5");
    write("devices/cpu/format/later", "config3:0-3");
    write("devices/cpu/format/broken", "somewhere:0-3");
    write("devices/cpu/events/cpu-cycles", "event=0x3c");
    write("devices/cpu/events/slots", "event=0x00,umask=0x4");
    write("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
    write("devices/cpu/events/by-core", "event=0x10,umask=?");
  }
  void add_uncore() const {
    for (const char* number : {"0", "1"}) {
      const std::string pmu = std::string("devices/uncore_imc_") + number;
      write(pmu + "/type", std::string("1") + number);
      write(pmu + "/cpumask", "0,18");
      write(pmu + "/format/event", "config:0-7");
      write(pmu + "/format/umask", "config:8-15");
      write(pmu + "/events/cas_count_read", "event=0x04,umask=0x03");
      write(pmu + "/events/cas_count_read.scale", "6.103515625e-5");
      write(pmu + "/events/cas_count_read.unit", "MiB");
    }
  }
  void add_power() const {
    write("devices/power/type", "22");
    write("devices/power/cpumask", "0");
    write("devices/power/format/event", "config:0-7");
    write("devices/power/events/energy-pkg", "event=0x02");
    write("devices/power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
    write("devices/power/events/energy-pkg.unit", "Joules");
  }
  void add_tracepoints() const {
    write("tracing/events/sched/sched_switch/id", "316");
    write("tracing/events/sched/sched_wakeup/id", "317");
    write("tracing/events/syscalls/sys_enter_read/id", "700");
    write("tracing/events/syscalls/sys_exit_read/id", "701");
    write("tracing/events/syscalls/enable", "0");
    write("tracing/events/probe_libc/malloc/id", "1500");
    write("tracing/events/ftrace/function/format", "name: function");
  }

  std::string folder_;
};

}  // namespace tephra::kernel
