#include "stream/tcp_reading.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "stream/activity_samples.h"
#include "stream/wait_states.h"

namespace tephra::stream {
namespace {

std::optional<tephra_activity_record> tcp_record(base::Bytes raw) {
  const auto record =
      activity_record(raw, TEPHRA_TCP_CONNECT, TEPHRA_TCP_RECEIVED, offsetof(tephra_activity_record, bytes));
  return record && record->count > 0 ? record : std::nullopt;
}

std::string_view what_of(uint32_t kind) {
  switch (kind) {
    case TEPHRA_TCP_CONNECT:
      return "connect";
    case TEPHRA_TCP_ACCEPT:
      return "accept";
    case TEPHRA_TCP_CONNECT_FAILED:
      return "failed connect";
    case TEPHRA_TCP_RETRANSMIT:
      return "retransmit";
    case TEPHRA_TCP_RESET_SENT:
      return "reset sent";
    case TEPHRA_TCP_RESET_RECEIVED:
      return "reset received";
    case TEPHRA_TCP_STATE:
      return "state change";
    default:
      return "";
  }
}

bool is_bytes(uint32_t kind) { return kind == TEPHRA_TCP_SENT || kind == TEPHRA_TCP_RECEIVED; }
bool is_connect(uint32_t kind) { return kind == TEPHRA_TCP_CONNECT || kind == TEPHRA_TCP_CONNECT_FAILED; }

// What a thread does only in calls of its own needs no word about it.
bool may_interrupt(uint32_t kind) {
  return kind == TEPHRA_TCP_RETRANSMIT || kind == TEPHRA_TCP_RESET_SENT || kind == TEPHRA_TCP_RESET_RECEIVED ||
         kind == TEPHRA_TCP_STATE;
}

std::string state_name(uint32_t state) {
  static constexpr std::array<std::string_view, 13> kNames{
      "",      "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",   "TIME_WAIT",
      "CLOSE", "CLOSE_WAIT",  "LAST_ACK", "LISTEN",   "CLOSING",   "NEW_SYN_RECV"};
  if (state == 0 || state >= kNames.size()) return fmt::format("state {}", state);
  return std::string(kNames[state]);
}

using Address = std::array<unsigned char, 16>;

std::string address_text(const Address& address) {
  constexpr Address kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (address == Address{}) return "";
  const bool is_v4 = std::equal(address.begin(), address.begin() + 12, kMapped.begin());
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4) {
    ::inet_ntop(AF_INET, address.data() + 12, text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

std::string_view context_of(uint32_t flags) {
  if (flags & TEPHRA_ACTIVITY_NO_OWNER) return "unknown owner";
  return flags & TEPHRA_ACTIVITY_INTERRUPT ? "interrupt" : "own call";
}

// What decides about labels.
struct LabelKey {
  uint32_t kind = 0;
  uint32_t port = 0;
  uint32_t flags = 0;
  Address peer{};
  auto operator<=>(const LabelKey&) const = default;
};

LabelKey key_of(const tephra_activity_record& record) {
  LabelKey key{record.kind, record.detail, record.flags, {}};
  std::copy(std::begin(record.extra), std::end(record.extra), key.peer.begin());
  return key;
}

SampleReading::Labels labels_of(const LabelKey& key) {
  SampleReading::Labels labels;
  const auto text = [&](std::string_view label, std::string_view value) {
    if (!value.empty()) labels.push_back({std::string(label), std::string(value), 0, ""});
  };
  if (is_bytes(key.kind)) {
    text(kTcpDirectionLabel, key.kind == TEPHRA_TCP_SENT ? "sent" : "received");
  } else {
    text(kTcpWhatLabel, what_of(key.kind));
  }
  // Where there was no room for more than the thread and the kind, the states are not known.
  const bool knows_states = key.flags >> TEPHRA_ACTIVITY_OLD_STATE_SHIFT != 0;
  if (key.kind == TEPHRA_TCP_STATE && knows_states) {
    text(kTcpStateLabel, fmt::format("{} -> {}", state_name(key.flags >> TEPHRA_ACTIVITY_OLD_STATE_SHIFT & 0xff),
                                     state_name(key.flags >> TEPHRA_ACTIVITY_NEW_STATE_SHIFT & 0xff)));
  }
  if (key.port != 0) text(kTcpPortLabel, fmt::format("{}", key.port));
  text(kTcpPeerLabel, address_text(key.peer));
  if (may_interrupt(key.kind)) text(kTcpContextLabel, context_of(key.flags));
  if (key.flags & TEPHRA_ACTIVITY_NO_STACK) text(kStackLabel, kStackNotKept);
  return labels;
}

class TcpReading : public SampleReading {
 public:
  struct Events {
    uint32_t recorded = 0;
    uint32_t happened = 0;
    uint32_t bytes = 0;
    uint32_t connect_time = 0;
  };

  explicit TcpReading(const Events& events) : events_(events), label_sets_(1) {}

  // Makes the labels of a sample known. Returns whether it could be read.
  bool note(const Sample& sample) {
    const auto record = tcp_record(sample.raw);
    if (!record) return false;
    const auto [at, is_new] = numbers_.try_emplace(key_of(*record), static_cast<uint32_t>(label_sets_.size()));
    if (is_new) label_sets_.push_back(labels_of(at->first));
    return true;
  }

  bool reads(uint32_t event) const override { return event == events_.recorded; }

  // What cannot be read is left with the event that was recorded.
  void read(const Sample& sample, uint64_t, std::vector<Part>& parts) const override {
    const auto record = tcp_record(sample.raw);
    const auto known = record ? numbers_.find(key_of(*record)) : numbers_.end();
    if (known == numbers_.end()) {
      parts.push_back({.event = events_.recorded, .value = sample.period});
      return;
    }
    const uint32_t labels = known->second;
    if (is_bytes(record->kind)) {
      parts.push_back({events_.bytes, record->bytes, record->count, labels});
      return;
    }
    parts.push_back({events_.happened, record->count, record->count, labels});
    if (is_connect(record->kind)) parts.push_back({events_.connect_time, record->ns, record->count, labels});
  }

  std::span<const Labels> label_sets() const override { return label_sets_; }

 private:
  Events events_;
  std::map<LabelKey, uint32_t> numbers_;
  std::vector<Labels> label_sets_;
};

}  // namespace

base::Status add_tcp_reading(Recording& recording, const ReadingOptions& options) {
  const auto recorded = activity_event(recording, kTcpRecorded);
  if (!recorded) return {};
  TcpReading::Events events{.recorded = *recorded};
  events.happened = add_shown_event(recording, events.recorded, kTcpEvents, "count", "");
  events.bytes = add_shown_event(recording, events.recorded, kTcpBytes, "bytes", "calls");
  events.connect_time = add_shown_event(recording, events.recorded, kTcpConnectTime, "ns", "connects");
  auto reading = std::make_shared<TcpReading>(events);
  note_samples(recording, options, events.recorded, "TCP", *reading);
  recording.readings.push_back(std::move(reading));
  return {};
}

}  // namespace tephra::stream
