#pragma once

#include "formats/format.h"
#include "formats/legacy_profile.h"

namespace tephra::formats {

// What the Java agent of old writes as text: "--- heapz 1 ---" and "--- contentionz 1 ---" with "format = java".
extern const Format kJavaProfile;

// The names behind the samples of such profiles: lines such as "0x2a com.example.Work.run (Work.java:12)".
void add_java_names(std::string_view text, LegacyProfile& profile);

}  // namespace tephra::formats
