#pragma once

#include <string>
#include <vector>

#include "kernel/containers.h"

namespace tephra::kernel {

// Fills in the names that the files of container runtimes below `root` tell: those of Docker, Podman (also of single
// users) and Kubernetes. Files that are missing, not ours to read or broken leave names empty.
void name_containers(std::vector<Container>& containers, const std::string& root);

}  // namespace tephra::kernel
