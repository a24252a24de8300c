#include "cli/profile_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/call_tree.h"
#include "analysis/resident_memory.h"
#include "analysis/top.h"
#include "analysis/top_waits.h"
#include "base/file.h"
#include "cli/report_page.h"
#include "cli/source_options.h"
#include "cli/type_pictures.h"
#include "cli/wait_colors.h"
#include "formats/folded.h"
#include "model/event_weight.h"
#include "views/flame_svg.h"
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
  picture.title = drawn.title;
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

void show_type(const DrawnType& drawn, const InputOptions& wanted, bool alone) {
  if (drawn.more) return;
  const Input& input = drawn.input;
  if (!alone) fmt::print("{}\n", drawn.type->title);
  if (!drawn.table.empty()) fmt::print("{}\n", drawn.table);
  const model::Totals whole = model::totals(input.profile);
  const bool shorten = !wanted.symbols.full_names;
  if (drawn.type->table == collect::TypeTable::kWaits) {
    fmt::print("{}\n", views::top_waits_text(analysis::top_waits(input.profile, kTopFunctions), whole, shorten));
  } else if (drawn.table.empty() || drawn.type->table == collect::TypeTable::kTcp) {
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
    std::string table = table_of(*shown.type, all.profile, kTopFunctions, !wanted.symbols.full_names);
    bool more = false;
    for (const TypePicture& picture : pictures_of(shown, all.profile, types.size() == 1)) {
      DrawnType next{shown.type, stem + picture.ending, {}, picture.title, std::exchange(table, ""), more};
      more = true;
      if (types.size() == 1 && has_one_event(all.profile)) {
        next.input = std::move(all);
      } else {
        options.event = picture.event;
        TEPHRA_TRY(next.input, load(options));
      }
      TEPHRA_CHECK_OK(draw_type(next, wanted));
      drawn.push_back(std::move(next));
    }
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
