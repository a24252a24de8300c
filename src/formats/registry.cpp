#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/folded.h"
#include "formats/format.h"
#include "formats/perf_data.h"

namespace tephra::formats {

// One line a format; the order is the order of sniffing.
std::span<const Format* const> formats() {
  static constexpr std::array<const Format*, 2> kFormats{&kPerfData, &kFolded};
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto all = formats();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Format* format) { return format->name == name; });
  return found == all.end() ? nullptr : *found;
}

base::Result<const Format*> recognise(base::Bytes bytes, const std::string& name) {
  if (bytes.empty()) return base::failed("cannot read", name, "the file is empty");
  std::string tried;
  for (const Format* format : formats()) {
    if (format->sniff(bytes)) return format;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", format->name);
  }
  return base::failed("cannot read", name, fmt::format("it is none of the known formats (tried {})", tried));
}

base::Result<model::Profile> read_profile(base::Bytes bytes, const std::string& name,
                                          const stream::BuildOptions& options) {
  TEPHRA_TRY(const Format* format, recognise(bytes, name));
  if (format->read != nullptr) {
    auto profile = format->read(bytes);
    if (!profile) profile.error().on = name;
    return profile;
  }
  auto recording = format->open(bytes);
  if (!recording) {
    recording.error().on = name;
    return std::move(recording).error();
  }
  return stream::build_profile(*recording, options);
}

}  // namespace tephra::formats
