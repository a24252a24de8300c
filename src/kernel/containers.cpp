#include "kernel/containers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "kernel/cgroups.h"
#include "kernel/container_names.h"
#include "kernel/near_match.h"
#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

constexpr size_t kMostListed = 10;

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

bool is_long_id(std::string_view text) { return text.size() == 64 && is_hex(text); }

bool strip(std::string_view& text, std::string_view begin, std::string_view end = {}) {
  if (text.size() < begin.size() + end.size() || !text.starts_with(begin) || !text.ends_with(end)) return false;
  text.remove_prefix(begin.size());
  text.remove_suffix(end.size());
  return true;
}

// systemd writes characters that names of units may not have as \x2d.
std::string unescape_unit(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 2;
    if (text.substr(i).starts_with("\\x") && i + 4 <= text.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<Container> with_id(std::string_view runtime, std::string_view id) {
  if (!is_long_id(id)) return {};
  Container found;
  found.id = id;
  found.runtime = runtime;
  return found;
}

std::optional<Container> with_name(std::string_view runtime, std::string_view name) {
  if (name.empty()) return {};
  Container found;
  found.id = name;
  found.name = name;
  found.runtime = runtime;
  return found;
}

// PREFIX-ID.scope, or the same without .scope where systemd does not make the groups. The helpers that watch containers
// (libpod-conmon-ID.scope) have names that leave no plain id.
std::optional<Container> container_of_scope(std::string_view component) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPrefixes{{{"docker-", "docker"},
                                                                                    {"libpod-payload-", "podman"},
                                                                                    {"libpod-", "podman"},
                                                                                    {"cri-containerd-", "containerd"},
                                                                                    {"nerdctl-", "containerd"},
                                                                                    {"crio-", "crio"}}};
  std::string_view unit = component;
  strip(unit, {}, ".scope");
  for (const auto& [prefix, runtime] : kPrefixes) {
    std::string_view id = unit;
    if (!strip(id, prefix)) continue;
    if (auto found = with_id(runtime, id)) return found;
  }
  return {};
}

std::optional<Container> container_of_machine(std::string_view component) {
  std::string_view unit = component;
  if (strip(unit, "systemd-nspawn@", ".service")) return with_name("systemd-nspawn", unescape_unit(unit));
  if (!strip(unit, "machine-", ".scope")) return {};
  const std::string name = unescape_unit(unit);
  // Virtual machines are registered in the same way and have no processes of their own here.
  if (name.starts_with("qemu-")) return {};
  return with_name("systemd-nspawn", name);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// A group whose name is an id alone is told by where it is.
std::optional<Container> container_of_plain_id(std::string_view parent, std::string_view id) {
  if (!is_long_id(id)) return {};
  if (last_part(parent) == "docker") return with_id("docker", id);
  if (parent.find("/kubepods") != std::string_view::npos) return with_id("containerd", id);
  return with_id("container", id);
}

// What is known of a container while /proc is read.
struct Seen {
  Container container;
  std::string group;  // as /proc names it, in the hierarchy for events
};

class Finder {
 public:
  explicit Finder(const std::string& root) : root_(root) {
    if (auto found = cgroup_hierarchy(root)) hierarchy_ = *std::move(found);
    own_namespace_ = pid_namespace("self");
  }

  std::vector<Container> find() {
    for (const pid_t pid : all_processes(root_)) {
      if (!note_groups(pid)) note_namespace(pid);
    }
    std::vector<Container> containers;
    for (auto& [key, seen] : seen_) {
      if (hierarchy_ && !seen.group.empty()) seen.container.cgroup = folder_of_group(*hierarchy_, seen.group);
      containers.push_back(std::move(seen.container));
    }
    std::sort(containers.begin(), containers.end(), [](const Container& a, const Container& b) {
      return std::tie(a.first_process, a.id) < std::tie(b.first_process, b.id);
    });
    return containers;
  }

 private:
  // Whether the process is in a container by its control groups.
  bool note_groups(pid_t pid) {
    const auto text = base::read_small_file(fmt::format("{}/proc/{}/cgroup", root_, pid), 1 << 20);
    if (!text) return false;
    bool contained = false;
    for (const CgroupLine& line : parse_cgroup_lines(*text)) {
      const bool for_events = hierarchy_ && line.belongs_to(*hierarchy_);
      contained = note_path(pid, line.path, for_events) || contained;
    }
    return contained;
  }

  bool note_path(pid_t pid, std::string_view path, bool for_events) {
    bool contained = false;
    for (size_t begin = 1; begin < path.size();) {
      const size_t end = std::min(path.find('/', begin), path.size());
      const std::string_view parent = path.substr(0, begin - 1);
      auto found = container_of_component(parent, path.substr(begin, end - begin));
      // The service of systemd-nspawn holds its own process beside the container's.
      if (found && !path.substr(end).starts_with("/supervisor")) {
        Seen& seen = note(pid, *std::move(found));
        if (for_events) seen.group = path.substr(0, end);
        contained = true;
      }
      begin = end + 1;
    }
    return contained;
  }

  void note_namespace(pid_t pid) {
    const std::string number = pid_namespace(std::to_string(pid));
    if (number.empty() || own_namespace_.empty() || number == own_namespace_) return;
    Container found;
    found.id = number;
    found.runtime = "namespace";
    const Seen& seen = note(pid, std::move(found));
    if (seen.container.processes.size() == 1) name_by_host(pid, number);
  }

  Seen& note(pid_t pid, Container found) {
    Seen& seen = seen_[found.runtime + ":" + found.id];
    if (seen.container.id.empty()) seen.container = std::move(found);
    auto& processes = seen.container.processes;
    if (processes.empty()) seen.container.first_process = pid;
    if (processes.empty() || processes.back() != pid) processes.push_back(pid);
    return seen;
  }

  // The number in "pid:[4026531836]"; empty when it is not ours to read.
  std::string pid_namespace(const std::string& process) const {
    char target[64];
    const ssize_t size = ::readlink(fmt::format("{}/proc/{}/ns/pid", root_, process).c_str(), target, sizeof target);
    std::string_view text(target, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return strip(text, "pid:[", "]") ? std::string(text) : std::string();
  }

  void name_by_host(pid_t pid, const std::string& number) {
    // The host's own name would be no name for a namespace that shares our files.
    struct stat ours {};
    struct stat theirs {};
    const std::string top = fmt::format("{}/proc/{}/root", root_, pid);
    if (::stat((root_ + "/").c_str(), &ours) != 0 || ::stat((top + "/").c_str(), &theirs) != 0) return;
    if (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) return;
    seen_["namespace:" + number].container.name = host_name_below(top);
  }

  // Follows no links: those of a container lead into the host's files when we follow them.
  static std::string host_name_below(const std::string& top) {
    const base::FileDescriptor folder(::open((top + "/etc").c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return {};
    const base::FileDescriptor file(
        ::openat(folder.get(), "hostname", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    char text[256];
    const ssize_t size = ::read(file.get(), text, sizeof text);
    const std::string_view all(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
    const std::string_view line = all.substr(0, all.find_first_of("\r\n \t"));
    const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '.' || c == '_'; };
    return std::all_of(line.begin(), line.end(), allowed) ? std::string(line) : std::string();
  }

  const std::string root_;
  std::optional<CgroupHierarchy> hierarchy_;
  std::string own_namespace_;
  std::map<std::string, Seen> seen_;  // by runtime and id
};

std::string describe(const Container& container) {
  const std::string id = container.id.substr(0, is_long_id(container.id) ? 12 : std::string::npos);
  const std::string label = container.name.empty() ? id : container.name;
  if (container.name.empty() || container.name == container.id) return container.runtime + ":" + label;
  return fmt::format("{}:{} ({})", container.runtime, label, id);
}

std::string list(const std::vector<Container>& containers) {
  std::string text;
  for (size_t i = 0; i < containers.size() && i < kMostListed; ++i) {
    text += (i == 0 ? "" : ", ") + describe(containers[i]);
  }
  if (containers.size() > kMostListed) text += fmt::format(" and {} more", containers.size() - kMostListed);
  return text;
}

// Why containers that run may not be seen from here; empty when nothing hides them.
std::string what_hides_them(const std::string& root) {
  const auto mounts = base::read_small_file(root + "/proc/self/mountinfo");
  for (std::string_view rest = mounts ? std::string_view(*mounts) : std::string_view(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const bool hides = line.find("hidepid=") != std::string_view::npos && line.find("hidepid=0") == line.npos &&
                       line.find("hidepid=off") == line.npos;
    if (hides && line.find(" /proc ") != std::string_view::npos && ::geteuid() != 0) {
      return "/proc hides the processes of other users (hidepid)";
    }
  }
  constexpr std::string_view kInitial = "pid:[4026531836]";  // the kernel gives the first namespace this number
  char target[64];
  const ssize_t size = ::readlink((root + "/proc/self/ns/pid").c_str(), target, sizeof target);
  if (size > 0 && std::string_view(target, static_cast<size_t>(size)) != kInitial) {
    return "tephra runs in a container itself and sees only what runs in it";
  }
  return {};
}

base::Error not_found(const std::string& text, const std::vector<Container>& running, const std::string& root) {
  if (running.empty()) {
    std::string hidden = what_hides_them(root);
    const std::string fix =
        hidden.empty() ? "Start it first, or give its processes with -p." : "Run tephra on the host, as root.";
    return base::usage_error("no such container", text, hidden.empty() ? "none is running" : hidden, fix);
  }
  std::vector<std::string> names;
  for (const Container& each : running) {
    for (std::string_view rest = each.name; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      if (std::find(names.begin(), names.end(), part) == names.end()) names.emplace_back(part);
    }
  }
  const std::string near = did_you_mean(near_matches(text, names));
  return base::usage_error("no such container", text, {},
                           near + (near.empty() ? "" : " ") + "Running: " + list(running) + ".");
}

bool has_name(const Container& container, std::string_view text) {
  if (container.name.empty() || text.empty()) return false;
  return fmt::format("/{}/", container.name).find(fmt::format("/{}/", text)) != std::string::npos;
}

template <class Fits>
std::vector<Container> those(const std::vector<Container>& running, Fits fits) {
  std::vector<Container> found;
  std::copy_if(running.begin(), running.end(), std::back_inserter(found), fits);
  return found;
}

// By the first way of naming that fits any: exactly, as a part of a Kubernetes name, by the beginning of the id.
std::vector<Container> matches(const std::vector<Container>& running, std::string_view text) {
  if (text.empty()) return {};
  auto found = those(running, [&](const Container& each) { return each.id == text || each.name == text; });
  if (found.empty()) found = those(running, [&](const Container& each) { return has_name(each, text); });
  if (found.empty() && text.size() >= 4 && is_hex(text)) {
    found = those(running, [&](const Container& each) { return is_long_id(each.id) && each.id.starts_with(text); });
  }
  return found;
}

// The same with the runtime in front.
std::vector<Container> matches_of_runtime(const std::vector<Container>& running, std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto runtime = text.substr(0, colon);
  return matches(those(running, [&](const Container& each) { return each.runtime == runtime; }),
                 text.substr(colon + 1));
}

}  // namespace

std::optional<Container> container_of_component(std::string_view parent, std::string_view component) {
  if (auto found = container_of_scope(component)) return found;
  if (auto found = container_of_plain_id(parent, component)) return found;
  if (auto found = container_of_machine(component)) return found;
  std::string_view name = component;
  if (strip(name, "lxc.payload.")) return with_name("lxc", name);
  if (last_part(parent) == "lxc" || last_part(parent) == "lxc.payload") return with_name("lxc", component);
  // containerd below systemd's groups without systemd's help: SLICE:cri-containerd:ID
  constexpr std::string_view kMark = ":cri-containerd:";
  if (const size_t mark = component.find(kMark); mark != std::string_view::npos) {
    return with_id("containerd", component.substr(mark + kMark.size()));
  }
  return {};
}

std::vector<Container> running_containers(const std::string& root) {
  auto containers = Finder(root).find();
  name_containers(containers, root);
  return containers;
}

base::Result<Container> find_container(const std::string& text, const std::string& root) {
  if (text.empty()) return base::usage_error("no container is named by an empty text");
  const auto running = running_containers(root);
  auto found = matches(running, text);
  if (found.empty()) found = matches_of_runtime(running, text);
  if (found.size() == 1) return std::move(found.front());
  if (found.empty()) return not_found(text, running, root);
  return base::usage_error("several containers fit", text, {}, "Name one of: " + list(found) + ".");
}

}  // namespace tephra::kernel
