#include <algorithm>
#include <array>

#include "collect/profile_type.h"

namespace tephra::collect {

extern const ProfileType kTypeCpu;
extern const ProfileType kTypeOffCpu;
extern const ProfileType kTypeWall;
extern const ProfileType kTypeContextSwitches;
extern const ProfileType kTypeCacheMisses;
extern const ProfileType kTypeSyscalls;
extern const ProfileType kTypeMemory;
extern const ProfileType kTypeIo;
extern const ProfileType kTypeTcp;

std::span<const ProfileType* const> profile_types() {
  static const std::array kTypes{&kTypeCpu, &kTypeOffCpu,          &kTypeWall,        &kTypeMemory,  &kTypeIo,
                                 &kTypeTcp, &kTypeContextSwitches, &kTypeCacheMisses, &kTypeSyscalls};
  return kTypes;
}

base::Result<const ProfileType*> find_profile_type(std::string_view name) {
  std::string names;
  for (const ProfileType* type : profile_types()) {
    if (type->name == name) return type;
    names += (names.empty() ? "" : ", ") + std::string(type->name);
  }
  return base::usage_error("no such type of profile", std::string(name), "", "There are: " + names + ".");
}

}  // namespace tephra::collect
