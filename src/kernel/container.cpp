#include "kernel/container.h"

#include <algorithm>
#include <array>

namespace tephra::kernel {
namespace {

constexpr size_t kIdLength = 64;

bool is_id(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kIdLength && std::all_of(text.begin(), text.end(), is_hex);
}

std::string_view without(std::string_view text, std::string_view prefix, std::string_view suffix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

// Names of groups that begin with the runtime's and end with the container's id.
struct IdPrefix {
  std::string_view prefix;
  std::string_view kind;
};
constexpr std::array kIdPrefixes{IdPrefix{"docker-", "docker"}, IdPrefix{"libpod-", "podman"},
                                 IdPrefix{"cri-containerd-", "containerd"}, IdPrefix{"crio-", "kubernetes"},
                                 IdPrefix{"nerdctl-", "containerd"}};

// Names of groups that hold the container's name.
struct NamePattern {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view kind;
};
constexpr std::array kNamePatterns{NamePattern{"lxc.payload.", "", "lxc"},
                                   NamePattern{"systemd-nspawn@", ".service", "systemd-nspawn"},
                                   NamePattern{"machine-", ".scope", "systemd-nspawn"}};

Container from_component(std::string_view parent, std::string_view name) {
  for (const IdPrefix& each : kIdPrefixes) {
    const auto id = without(name, each.prefix, ".scope");
    if (name.starts_with(each.prefix) && is_id(id)) return {std::string(each.kind), std::string(id)};
  }
  for (const NamePattern& each : kNamePatterns) {
    if (!name.starts_with(each.prefix) || !name.ends_with(each.suffix)) continue;
    const auto id = without(name, each.prefix, each.suffix);
    // Virtual machines of libvirt are named like containers of systemd.
    if (!id.empty() && !id.starts_with("qemu")) return {std::string(each.kind), std::string(id)};
  }
  if (parent == "docker" && is_id(name)) return {"docker", std::string(name)};
  if ((parent == "lxc" || parent == "lxc.payload") && !name.empty()) return {"lxc", std::string(name)};
  return is_id(name) ? Container{"containerd", std::string(name)} : Container{};
}

Container from_path(std::string_view path) {
  const bool kubernetes = path.find("kubepods") != std::string_view::npos;
  Container found;
  std::string_view parent;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const auto name = path.substr(0, slash);
    if (auto inner = from_component(parent, name); !inner.kind.empty()) found = std::move(inner);
    parent = name;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  if (kubernetes && !found.kind.empty()) found.kind = "kubernetes";
  return found;
}

}  // namespace

Container container_of(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const auto line = text.substr(0, end);
    // number:controllers:path
    const size_t path = line.find('/', line.find(':', line.find(':') + 1));
    if (path != std::string_view::npos) {
      if (auto found = from_path(line.substr(path)); !found.kind.empty()) return found;
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

}  // namespace tephra::kernel
