#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "model/profile.h"
#include "stream/profile_builder.h"
#include "stream/recording.h"

namespace tephra::formats {

// A file format. What a format cannot do is null. Event files (single records in time) have `open`, and are read
// through stream::build_profile; profile files have `read`.
struct Format {
  std::string_view name;
  std::string_view summary;
  std::string_view endings;  // of file names, separated by spaces, for choosing what to write: ".folded .collapsed"
  // Why bytes are not of this format, judged by content alone and mostly by their beginning, as the end of "NAME: …".
  // Empty: they are.
  std::string (*refusal)(base::Bytes bytes) = nullptr;
  base::Result<stream::Recording> (*open)(base::Bytes bytes) = nullptr;
  base::Result<model::Profile> (*read)(base::Bytes bytes) = nullptr;
  base::Result<std::string> (*write)(const model::Profile& profile) = nullptr;
  // It holds samples one by one: what is written should know when and where each was taken, if the input does.
  bool single_samples = false;
  // It holds numbers of one event. Which one is the caller's choice: the profile to write has samples of no other, but
  // for pairs that belong together (see folded.h).
  bool one_event = false;
};

// All formats, in the order they are tried: those with a signature first.
std::span<const Format* const> formats();
const Format* find_format(std::string_view name);

// The format to write a file of this name in; null when its ending says nothing. The longest ending decides,
// in upper or lower case, and .gz may stand behind it.
const Format* format_for_path(std::string_view path);

// The format of `bytes`. None: an error that lists what was tried and why not. `name` is for the message.
base::Result<const Format*> recognise(base::Bytes bytes, const std::string& name);

// Reads a profile of any readable format. For files that hold no single samples, the filter of `options` is what
// counts.
base::Result<model::Profile> read_profile(base::Bytes bytes, const std::string& name,
                                          const stream::BuildOptions& options);

}  // namespace tephra::formats
