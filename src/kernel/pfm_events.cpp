#include "kernel/pfm_events.h"

#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>
#include <memory>
#include <mutex>

namespace tephra::kernel {
namespace {

// Guards the library, which keeps state of its own and is not made for threads.
std::mutex& library_lock() {
  static std::mutex lock;
  return lock;
}

bool library_ready() {
  static const bool ready = pfm_initialize() == PFM_SUCCESS;
  return ready;
}

EventSpec spec_of(const std::string& name, const perf_event_attr& attr, int cpu) {
  EventSpec event;
  event.name = name;
  event.type = attr.type;
  event.config = attr.config;
  event.config1 = attr.config1;
  event.config2 = attr.config2;
  event.exclude_user = attr.exclude_user;
  event.exclude_kernel = attr.exclude_kernel;
  // libpfm leaves the hypervisor out of generic events unless :h is given; that is no choice of the user's.
  event.exclude_hypervisor = attr.exclude_hv && (attr.exclude_user || attr.exclude_kernel);
  event.exclude_guest = attr.exclude_guest;
  event.exclude_host = attr.exclude_host;
  event.modes_given = attr.exclude_user || attr.exclude_kernel;
  event.precise = attr.precise_ip;
  event.pinned = attr.pinned;
  event.exclusive = attr.exclusive;
  if (attr.sample_period != 0) (attr.freq ? event.frequency : event.period) = attr.sample_period;
  if (cpu >= 0) event.cpus = {cpu};
  return event;
}

}  // namespace

base::Result<std::optional<EventSpec>> pfm_event(const std::string& text) {
  const std::lock_guard<std::mutex> guard(library_lock());
  if (!library_ready()) return std::optional<EventSpec>();
  perf_event_attr attr{};
  pfm_perf_encode_arg_t encoding{};
  encoding.attr = &attr;
  encoding.size = sizeof encoding;
  encoding.cpu = -1;
  const int status = pfm_get_os_event_encoding(text.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &encoding);
  // Where debugfs is mounted, libpfm finds tracepoints, too. Those are tracefs.h's, which knows them everywhere.
  if (status == PFM_SUCCESS && attr.type == PERF_TYPE_TRACEPOINT) return std::optional<EventSpec>();
  if (status == PFM_SUCCESS) return std::optional<EventSpec>(spec_of(text, attr, encoding.cpu));
  if (status == PFM_ERR_ATTR || status == PFM_ERR_UMASK || status == PFM_ERR_ATTR_VAL || status == PFM_ERR_ATTR_SET ||
      status == PFM_ERR_FEATCOMB) {
    return base::usage_error("libpfm does not take the event", text, pfm_strerror(status));
  }
  return std::optional<EventSpec>();
}

bool pfm_built_in() { return true; }

}  // namespace tephra::kernel
