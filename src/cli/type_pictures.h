#pragma once

#include <string>
#include <vector>

#include "cli/profile_drawing.h"
#include "model/profile.h"

namespace tephra::cli {

// A picture of a type: of one event.
struct TypePicture {
  std::string event;
  std::string ending;  // of the names of its files, behind what all files of the recording are called
  std::string title;
};

// The pictures of a type, those of events that have samples in the whole recording `all`; most types have one. That is
// there even without samples where the type is alone, for the message.
std::vector<TypePicture> pictures_of(const ShownType& shown, const model::Profile& all, bool alone);

// What tells most of a type, where that is made of several events; else empty.
std::string table_of(const collect::ProfileType& type, const model::Profile& all, size_t limit, bool shorten);

}  // namespace tephra::cli
