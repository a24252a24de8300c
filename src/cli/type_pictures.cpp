#include "cli/type_pictures.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/call_summary.h"
#include "analysis/io_summary.h"
#include "analysis/tcp_summary.h"
#include "stream/io_events.h"
#include "stream/syscall_reading.h"
#include "stream/tcp_reading.h"
#include "views/calls_text.h"
#include "views/io_text.h"
#include "views/tcp_text.h"

namespace tephra::cli {
namespace {

using collect::TypeTable;

bool has_samples_of(const model::Profile& profile, std::string_view event) {
  return event.empty() || std::ranges::any_of(profile.samples.event, [&](model::EventId id) {
           return profile.text(profile.events[id].name) == event;
         });
}

std::vector<TypePicture> wanted_pictures(const ShownType& shown, const model::Profile& all, bool alone) {
  const std::string ending = alone ? "" : fmt::format(".{}", shown.type->name);
  const std::string title(shown.type->title);
  switch (shown.type->table) {
    case TypeTable::kIo: {
      const bool timed = has_samples_of(all, stream::kBlockTimeEvent);
      return {{std::string(timed ? stream::kBlockTimeEvent : stream::kBlockBytesEvent), ".io-block",
               timed ? "Requests to devices, by time" : "Requests to devices, by bytes"},
              {std::string(stream::kFileTimeEvent), ".io-file", "Calls on files, by time"}};
    }
    case TypeTable::kCalls:
      return {{shown.event, ending, title},
              {std::string(stream::kSyscallTimes), ending + ".time", "System calls, by time"}};
    case TypeTable::kTcp:
      return {{shown.event, ending, title}, {std::string(stream::kTcpBytes), ending + ".bytes", "TCP bytes"}};
    default:
      return {{shown.event, ending, title}};
  }
}

}  // namespace

std::vector<TypePicture> pictures_of(const ShownType& shown, const model::Profile& all, bool alone) {
  std::vector<TypePicture> pictures = wanted_pictures(shown, all, alone);
  if (alone && pictures.size() == 1) return pictures;
  std::erase_if(pictures, [&](const TypePicture& picture) { return !has_samples_of(all, picture.event); });
  return pictures;
}

std::string table_of(const collect::ProfileType& type, const model::Profile& all, size_t limit, bool shorten) {
  switch (type.table) {
    case TypeTable::kIo:
      return views::io_text(analysis::io_summary(all, limit), shorten);
    case TypeTable::kCalls: {
      const auto summary = analysis::call_summary(all, limit);
      return summary.rows.empty() ? "" : views::calls_text(summary, shorten);
    }
    case TypeTable::kTcp:
      return views::tcp_text(analysis::tcp_summary(all), limit);
    default:
      return "";
  }
}

}  // namespace tephra::cli
