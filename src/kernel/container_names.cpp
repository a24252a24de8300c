#include "kernel/container_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/file.h"
#include "kernel/folder.h"
#include "base/json_reader.h"

namespace tephra::kernel {
namespace {

constexpr size_t kLargestFile = 8 << 20;
constexpr size_t kMostEntries = 10'000;  // of a folder

using ById = std::unordered_map<std::string_view, Container*>;

// Where users may keep containers of their own.
std::vector<std::string> data_folders_of_users(const std::string& root) {
  std::vector<std::string> folders{root + "/root/.local/share"};
  for (const std::string& user : entries_of(root + "/home", kMostEntries)) {
    folders.push_back(fmt::format("{}/home/{}/.local/share", root, user));
  }
  return folders;
}

base::JsonValue read_json(const std::string& path) {
  const auto text = base::read_small_file(path, kLargestFile);
  if (!text) return {};
  auto json = base::parse_json(*text);
  return json ? *std::move(json) : base::JsonValue();
}

void give_name(Container& container, std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);  // Docker's way
  if (container.name.empty()) container.name = name.substr(0, 256);
}

// Kubernetes links the logs of containers as POD_NAMESPACE_CONTAINER-ID.log; none of the three may hold a '_'.
void name_by_kubernetes(const std::string& root, const ById& by_id) {
  constexpr std::string_view kEnd = ".log";
  constexpr size_t kIdSize = 64;
  for (const std::string& entry : entries_of(root + "/var/log/containers", kMostEntries)) {
    std::string_view text = entry;
    if (!text.ends_with(kEnd) || text.size() < kIdSize + kEnd.size() + 1) continue;
    text.remove_suffix(kEnd.size());
    const auto found = by_id.find(text.substr(text.size() - kIdSize));
    text.remove_suffix(kIdSize + 1);
    const size_t first = text.find('_');
    const size_t second = first == std::string_view::npos ? first : text.find('_', first + 1);
    if (found == by_id.end() || second == std::string_view::npos) continue;
    give_name(*found->second, fmt::format("{}/{}/{}", text.substr(first + 1, second - first - 1), text.substr(0, first),
                                          text.substr(second + 1)));
  }
}

void name_by_docker(const std::vector<std::string>& data_folders, Container& container) {
  for (const std::string& folder : data_folders) {
    if (!container.name.empty()) return;
    give_name(container,
              read_json(fmt::format("{}/containers/{}/config.v2.json", folder, container.id))["Name"].text());
  }
}

void name_by_podman(const std::vector<std::string>& storages, const ById& by_id) {
  for (const std::string& storage : storages) {
    for (const char* kind : {"overlay", "vfs", "btrfs", "zfs"}) {
      for (const char* file : {"containers.json", "volatile-containers.json"}) {
        const base::JsonValue list = read_json(fmt::format("{}/{}-containers/{}", storage, kind, file));
        for (const base::JsonValue& entry : list.elements()) {
          const auto found = by_id.find(entry["id"].text());
          if (found == by_id.end() || entry["names"].elements().empty()) continue;
          give_name(*found->second, entry["names"].elements()[0].text());
        }
      }
    }
  }
}

}  // namespace

void name_containers(std::vector<Container>& containers, const std::string& root) {
  ById by_id;
  for (Container& container : containers) {
    if (container.name.empty()) by_id.emplace(container.id, &container);
  }
  if (by_id.empty()) return;
  name_by_kubernetes(root, by_id);
  std::vector<std::string> docker{root + "/var/lib/docker", root + "/var/snap/docker/common/var-lib-docker"};
  std::vector<std::string> podman{root + "/var/lib/containers/storage"};
  for (const std::string& data : data_folders_of_users(root)) {
    docker.push_back(data + "/docker");
    podman.push_back(data + "/containers/storage");
  }
  for (auto& [id, container] : by_id) {
    if (container->runtime == "docker" || container->runtime == "container") name_by_docker(docker, *container);
  }
  const auto stored = [](const Container& each) { return each.runtime == "podman" || each.runtime == "crio"; };
  if (std::any_of(containers.begin(), containers.end(), stored)) name_by_podman(podman, by_id);
}

}  // namespace tephra::kernel
