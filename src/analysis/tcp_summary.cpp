#include "analysis/tcp_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/added_frames.h"
#include "stream/tcp_reading.h"

namespace tephra::analysis {
namespace {

using Counts = TcpSummary::Counts;
using model::Profile;

enum class Shown { kOther, kEvents, kBytes, kConnectTime };

Shown shown_as(std::string_view event) {
  if (event == stream::kTcpEvents) return Shown::kEvents;
  if (event == stream::kTcpBytes) return Shown::kBytes;
  return event == stream::kTcpConnectTime ? Shown::kConnectTime : Shown::kOther;
}

std::vector<Shown> shown_events(const Profile& profile) {
  std::vector<Shown> shown;
  for (const model::Event& event : profile.events) shown.push_back(shown_as(profile.text(event.name)));
  return shown;
}

// What the labels of a sample say; views into the profile.
struct Told {
  std::string_view what;
  std::string_view direction;
  std::string_view state;
  std::string_view port;
  std::string_view peer;
  std::string_view context;
};

Told told_by(const Profile& profile, model::LabelSetId set) {
  const std::pair<std::string_view, std::string_view Told::*> keys[] = {
      {stream::kTcpWhatLabel, &Told::what},   {stream::kTcpDirectionLabel, &Told::direction},
      {stream::kTcpStateLabel, &Told::state}, {stream::kTcpPortLabel, &Told::port},
      {stream::kTcpPeerLabel, &Told::peer},   {stream::kTcpContextLabel, &Told::context}};
  Told told;
  for (const model::Label& label : profile.label_sets[set].labels) {
    for (const auto& [key, member] : keys) {
      if (profile.text(label.key) == key) told.*member = profile.text(label.text);
    }
  }
  return told;
}

uint64_t* count_of(std::string_view what, Counts& counts) {
  if (what == "connect") return &counts.connects;
  if (what == "failed connect") return &counts.failed_connects;
  if (what == "accept") return &counts.accepts;
  if (what == "retransmit") return &counts.retransmits;
  if (what == "reset sent") return &counts.resets_sent;
  if (what == "reset received") return &counts.resets_received;
  return what == "state change" ? &counts.state_changes : nullptr;
}

void add(Shown shown, const Told& told, uint64_t value, uint64_t count, Counts& counts) {
  if (shown == Shown::kConnectTime) {
    counts.connect_ns += value;
  } else if (shown == Shown::kEvents) {
    if (uint64_t* const number = count_of(told.what, counts)) *number += count;
  } else if (told.direction == "sent") {
    counts.sent += value;
    counts.send_calls += count;
  } else if (told.direction == "received") {
    counts.received += value;
    counts.receive_calls += count;
  }
}

uint64_t happened(const Counts& counts) {
  return counts.connects + counts.failed_connects + counts.accepts + counts.retransmits + counts.resets_sent +
         counts.resets_received + counts.state_changes;
}

}  // namespace

TcpSummary tcp_summary(const Profile& profile) {
  TcpSummary summary;
  const model::Samples& samples = profile.samples;
  if (samples.labels.empty()) return summary;
  const std::vector<Shown> events = shown_events(profile);
  std::map<std::pair<std::string_view, std::string_view>, Counts> peers;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Shown shown = events[samples.event[i].value];
    if (shown == Shown::kOther) continue;
    const Told told = told_by(profile, samples.labels[i]);
    add(shown, told, samples.value[i], samples.count[i], summary.all);
    add(shown, told, samples.value[i], samples.count[i], peers[{told.peer, told.port}]);
    if (told.context == "interrupt") summary.interrupts += samples.count[i];
    if (told.context == "unknown owner") summary.without_owner += samples.count[i];
  }
  for (const auto& [who, counts] : peers) {
    summary.peers.push_back({std::string(who.first), std::string(who.second), counts});
  }
  std::ranges::stable_sort(summary.peers, std::greater(), [](const TcpSummary::Peer& peer) {
    return std::pair(peer.counts.sent + peer.counts.received, happened(peer.counts));
  });
  return summary;
}

Profile with_tcp_frames(Profile profile) {
  model::Samples& samples = profile.samples;
  if (samples.labels.empty()) return profile;
  const std::vector<Shown> events = shown_events(profile);
  std::unordered_map<std::string, model::FrameId> frames;
  std::map<std::pair<uint32_t, uint32_t>, model::StackId> stacks;
  const auto push = [&](model::StackId parent, const std::string& name) {
    const auto [frame, fresh_frame] = frames.try_emplace(name);
    if (fresh_frame) frame->second = add_frame(name, profile);
    const auto [stack, fresh] = stacks.try_emplace({parent.value, frame->second.value});
    if (fresh) stack->second = profile.stacks.add({parent, frame->second});
    return stack->second;
  };
  for (size_t i = 0; i < samples.size(); ++i) {
    if (events[samples.event[i].value] == Shown::kOther) continue;
    const Told told = told_by(profile, samples.labels[i]);
    const std::string_view what = told.direction.empty() ? told.what : told.direction;
    if (what.empty()) continue;
    model::StackId stack = samples.stack[i];
    if (told.context == "interrupt") stack = push(stack, "[outside of its calls]");
    if (told.context == "unknown owner") stack = push(stack, "[unknown owner]");
    samples.stack[i] = push(stack, told.state.empty() ? fmt::format("[{}]", what) : fmt::format("[{}]", told.state));
  }
  return profile;
}

}  // namespace tephra::analysis
