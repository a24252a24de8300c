#include "cli/profile_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/call_tree.h"
#include "analysis/io_summary.h"
#include "analysis/resident_memory.h"
#include "analysis/top.h"
#include "analysis/top_waits.h"
#include "base/file.h"
#include "cli/report_page.h"
#include "cli/source_options.h"
#include "cli/wait_colors.h"
#include "formats/folded.h"
#include "model/event_weight.h"
#include "stream/io_events.h"
#include "views/flame_svg.h"
#include "views/io_text.h"
#include "views/report_text.h"
#include "views/resident_memory_text.h"

namespace tephra::cli {
namespace {

constexpr size_t kTopFunctions = 10;

// Waits are as wide as they are long, however many there were.
bool weighs_by_value(const DrawnType& drawn) {
  return model::weighs_by_value(drawn.input.profile) || drawn.type->table == collect::TypeTable::kWaits;
}

// Folded stacks and the flame graph of one type.
base::Status draw_type(const DrawnType& drawn, const InputOptions& wanted) {
  const model::Profile& profile = drawn.input.profile;
  const bool by_value = weighs_by_value(drawn);
  TEPHRA_CHECK_OK(base::write_file(drawn.stem + ".folded", formats::write_folded(profile, {.by_value = by_value})));
  views::FlameSvgOptions picture;
  picture.title = drawn.title.empty() ? std::string(drawn.type->title) : drawn.title;
  picture.full_names = wanted.symbols.full_names;
  picture.weight = by_value ? analysis::Weight::kValue : analysis::Weight::kSamples;
  const auto tree = tree_with_wait_colors(profile, {}, picture);
  return base::write_file(drawn.stem + ".svg", views::flame_svg(profile, tree, drawn.input.verdict, picture));
}

// Whether samples are of one event, so that what is shown of the profile is all of it.
bool has_one_event(const model::Profile& profile) {
  const auto& events = profile.samples.event;
  return std::all_of(events.begin(), events.end(), [&](model::EventId event) { return event == events[0]; });
}

bool has_samples_of(const model::Profile& profile, const std::string& event) {
  return event.empty() || std::ranges::any_of(profile.samples.event, [&](model::EventId id) {
           return profile.text(profile.events[id].name) == event;
         });
}

// Requests to devices and calls on files have a picture each, where there were any. `options` are those of one event.
base::Status draw_io(const model::Profile& all, const collect::ProfileType& type, const std::string& stem,
                     InputOptions options, std::vector<DrawnType>& drawn) {
  const bool timed = has_samples_of(all, std::string(stream::kBlockTimeEvent));
  const struct {
    std::string_view event;
    std::string_view name;
    std::string_view title;
  } pictures[] = {{timed ? stream::kBlockTimeEvent : stream::kBlockBytesEvent, "io-block",
                   timed ? "Requests to devices, by time" : "Requests to devices, by bytes"},
                  {stream::kFileTimeEvent, "io-file", "Calls on files, by time"}};
  bool more = false;
  for (const auto& picture : pictures) {
    options.event = picture.event;
    if (!has_samples_of(all, options.event)) continue;
    DrawnType next{&type, fmt::format("{}.{}", stem, picture.name), {}, std::string(picture.title), "", more};
    TEPHRA_TRY(next.input, load(options));
    if (!more) next.text = views::io_text(analysis::io_summary(all, kTopFunctions), !options.symbols.full_names);
    TEPHRA_CHECK_OK(draw_type(next, options));
    drawn.push_back(std::move(next));
    more = true;
  }
  return {};
}

void show_type(const DrawnType& drawn, const InputOptions& wanted, bool alone) {
  if (drawn.more) return;
  const Input& input = drawn.input;
  if (!alone) fmt::print("{}\n", drawn.type->title);
  const model::Totals whole = model::totals(input.profile);
  const bool shorten = !wanted.symbols.full_names;
  if (!drawn.text.empty()) {
    fmt::print("{}\n", drawn.text);
  } else if (drawn.type->table == collect::TypeTable::kWaits) {
    fmt::print("{}\n", views::top_waits_text(analysis::top_waits(input.profile, kTopFunctions), whole, shorten));
  } else {
    fmt::print("{}\n", views::top_text(analysis::top_functions(input.profile, kTopFunctions), whole, shorten));
  }
  if (drawn.type->table == collect::TypeTable::kMemory) {
    fmt::print("{}\n", views::resident_memory_text(analysis::resident_memory(input.profile)));
  }
  fmt::print("{}\n\n", wanted.verbose ? analysis::details(input.verdict) : analysis::one_line(input.verdict));
}

}  // namespace

// The report needs every sample of all events, the other files one event: most recordings are read once.
base::Result<std::vector<DrawnType>> draw_profile(const std::string& stem, const std::vector<ShownType>& types,
                                                  const InputOptions& wanted) {
  InputOptions options = wanted;
  options.path = stem + ".perf.data";
  options.build.keep_every_sample = true;
  TEPHRA_TRY(Input all, load_with_all_events(options));
  const std::string title = types.size() == 1 ? std::string(types[0].type->title) : "Profile";
  TEPHRA_CHECK_OK(write_report_page(all, stem + ".html", {.title = title, .full_names = wanted.symbols.full_names}));
  options.build.keep_every_sample = false;
  std::vector<DrawnType> drawn;
  for (const ShownType& shown : types) {
    if (shown.type->table == collect::TypeTable::kIo) {
      TEPHRA_CHECK_OK(draw_io(all.profile, *shown.type, stem, options, drawn));
      continue;
    }
    if (types.size() > 1 && !has_samples_of(all.profile, shown.event)) continue;
    DrawnType next{shown.type, types.size() == 1 ? stem : fmt::format("{}.{}", stem, shown.type->name), {}};
    if (types.size() == 1 && has_one_event(all.profile)) {
      next.input = std::move(all);
    } else {
      options.event = shown.event;
      TEPHRA_TRY(next.input, load(options));
    }
    TEPHRA_CHECK_OK(draw_type(next, wanted));
    drawn.push_back(std::move(next));
  }
  return drawn;
}

void show_profile(const std::vector<DrawnType>& drawn, const std::vector<ShownType>& types, const std::string& stem,
                  const InputOptions& wanted) {
  if (!wanted.quiet) {
    for (const DrawnType& each : drawn) show_type(each, wanted, types.size() == 1);
    for (const ShownType& shown : types) {
      const auto is_shown = [&](const DrawnType& each) { return each.type == shown.type; };
      if (std::ranges::none_of(drawn, is_shown)) fmt::print("{}: nothing was recorded\n\n", shown.type->title);
    }
    const std::string refused = wanted.verbose ? refused_sources(wanted.symbols) : "";
    if (!refused.empty()) fmt::print("files that were found and not used for names:{}\n\n", refused);
    fmt::print("recording    {}.perf.data\n", stem);
    for (const DrawnType& each : drawn) fmt::print("folded       {}.folded\n", each.stem);
  }
  for (const DrawnType& each : drawn) fmt::print("flame graph  {}.svg\n", each.stem);
  fmt::print("report       {}.html\n", stem);
  if (!wanted.quiet) {
    fmt::print("\nOpen the report with: xdg-open {}.html\n", stem);
    fmt::print("It is one file that works offline: copy it to where there is a browser.\n");
  }
}

}  // namespace tephra::cli
