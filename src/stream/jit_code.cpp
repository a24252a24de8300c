#include "stream/jit_code.h"

#include <algorithm>

#include "base/hash.h"

namespace tephra::stream {
namespace {

// How many forks without an exec a name is looked for through.
constexpr int kMaxAncestors = 64;

template <class T, class Member>
auto last_not_after(const std::vector<T>& rows, uint64_t moment, Member member) {
  return std::upper_bound(rows.begin(), rows.end(), moment,
                          [&](uint64_t when, const T& row) { return when < member(row); });
}

}  // namespace

JitUnwinding JitUnwinding::of(base::Bytes eh_frame, uint64_t address) {
  return {eh_frame, address, base::hash_bytes(eh_frame, address)};
}

JitCode::Epoch JitCode::now(int32_t pid) const {
  const auto found = epochs_.find(pid);
  return found == epochs_.end() || found->second.empty() ? Epoch{} : found->second.back();
}

void JitCode::exec(int32_t pid, uint64_t moment) {
  if (now(pid).track != 0) epochs_[pid].push_back({moment, 0});
}

void JitCode::fork(int32_t child, int32_t parent, uint64_t moment) {
  const Epoch of_parent = now(parent);
  if (of_parent.track == 0) return exec(child, moment);
  epochs_[child].push_back({moment, of_parent.track, std::min(of_parent.frozen, moment)});
}

JitCode::Track& JitCode::own_track(int32_t pid, uint64_t moment) {
  const Epoch epoch = now(pid);
  if (epoch.track != 0 && epoch.frozen == UINT64_MAX) return tracks_[epoch.track];
  epochs_[pid].push_back({moment, static_cast<uint32_t>(tracks_.size())});
  Track& track = tracks_.emplace_back();
  track.parent = epoch.track;
  track.fork_moment = epoch.frozen;
  return track;
}

uint32_t JitCode::add_function(std::string_view name, const std::vector<JitLine>& lines, bool unproven) {
  functions_.push_back({.name = name,
                        .first_line = static_cast<uint32_t>(lines_.size()),
                        .line_count = static_cast<uint32_t>(lines.size()),
                        .unproven = unproven});
  lines_.insert(lines_.end(), lines.begin(), lines.end());
  return static_cast<uint32_t>(functions_.size() - 1);
}

uint32_t JitCode::add_unwinding(const JitUnwinding& unwinding) {
  unwinding_.push_back(unwinding);
  return static_cast<uint32_t>(unwinding_.size() - 1);
}

void JitCode::describe(uint32_t function, const Description& description) {
  descriptions_.push_back(description);
  functions_[function].description = static_cast<uint32_t>(descriptions_.size());
}

bool JitCode::same(const Function& a, const Function& b) const {
  if (a.name != b.name) return false;
  const Description* of_a = description_of(a);
  const Description* of_b = description_of(b);
  if (of_a == nullptr || of_b == nullptr) return of_a == of_b;
  return of_a->address == of_b->address && unwinding_[of_a->unwinding].hash == unwinding_[of_b->unwinding].hash;
}

// The functions of a batch share their moments.
void JitCode::note_change(Track& track, uint64_t moment) {
  std::vector<uint64_t>& moments = track.moments;
  const size_t size = moments.size();
  const bool known = (size > 0 && moments[size - 1] == moment) || (size > 1 && moments[size - 2] == moment);
  if (!known) moments.push_back(moment);
}

void JitCode::load(int32_t pid, Source source, uint64_t start, uint64_t end, uint32_t function, uint64_t earliest,
                   uint64_t latest) {
  Track& track = own_track(pid, earliest);
  const auto equal = [this](uint32_t a, uint32_t b) { return same(functions_[a], functions_[b]); };
  if (!track.layers[static_cast<size_t>(source)].load(start, end, function, earliest, latest, equal)) return;
  for (const uint64_t moment : {earliest, latest}) note_change(track, moment);
}

void JitCode::unload(int32_t pid, Source source, uint64_t start, uint64_t moment) {
  const Epoch epoch = now(pid);
  if (epoch.track == 0 || epoch.frozen != UINT64_MAX) return;
  tracks_[epoch.track].layers[static_cast<size_t>(source)].unload(start, moment);
  note_change(tracks_[epoch.track], moment);
}

void JitCode::seal() {
  View next = 1;
  for (size_t at = 1; at < tracks_.size(); ++at) {
    Track& track = tracks_[at];
    for (JitLayer& layer : track.layers) layer.seal();
    std::sort(track.moments.begin(), track.moments.end());
    track.moments.erase(std::unique(track.moments.begin(), track.moments.end()), track.moments.end());
    track.first_view = next;
    next += static_cast<View>(track.moments.size()) + 1;
  }
}

JitCode::ViewPeriod JitCode::view(int32_t pid, uint64_t moment) const {
  ViewPeriod period;
  const auto found = epochs_.find(pid);
  if (found == epochs_.end()) return period;
  const std::vector<Epoch>& epochs = found->second;
  const auto after = last_not_after(epochs, moment, [](const Epoch& epoch) { return epoch.moment; });
  if (after != epochs.end()) period.until = after->moment;
  if (after == epochs.begin()) return period;
  const Epoch& epoch = *std::prev(after);
  period.from = epoch.moment;
  if (epoch.track == 0) return period;
  const Track& track = tracks_[epoch.track];
  const bool frozen = epoch.frozen != UINT64_MAX;
  const auto change = last_not_after(track.moments, frozen ? epoch.frozen : moment, [](uint64_t when) { return when; });
  if (!frozen && change != track.moments.end()) period.until = std::min(period.until, *change);
  if (!frozen && change != track.moments.begin()) period.from = std::max(period.from, *std::prev(change));
  period.value = track.first_view + static_cast<View>(change - track.moments.begin());
  return period;
}

JitCode::Found JitCode::find(View view, uint64_t address) const {
  if (view == 0) return {};
  const auto at = std::upper_bound(tracks_.begin() + 1, tracks_.end(), view,
                                   [](View wanted, const Track& track) { return wanted < track.first_view; });
  const Track* track = &*std::prev(at);
  const uint32_t change = view - track->first_view;
  uint64_t moment = change == 0 ? 0 : track->moments[change - 1];
  for (int depth = 0; depth < kMaxAncestors; ++depth) {
    for (const JitLayer& layer : track->layers) {
      if (layer.doubtful(address, moment)) return {nullptr, 0, true};
      if (const JitPiece* piece = layer.find(address, moment))
        return {&functions_[piece->function], piece->base, false};
    }
    if (track->parent == 0) break;
    moment = track->fork_moment;
    track = &tracks_[track->parent];
  }
  return {};
}

const JitLine* JitCode::line_at(const Function& function, uint64_t offset) const {
  const auto begin = lines_.begin() + function.first_line;
  const auto end = begin + function.line_count;
  const auto after =
      std::upper_bound(begin, end, offset, [](uint64_t wanted, const JitLine& line) { return wanted < line.offset; });
  return after == begin ? nullptr : &*std::prev(after);
}

}  // namespace tephra::stream
