#include "stream/tcp_reading.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "abi/activity_record.h"
#include "stream/profile_builder.h"
#include "stream/recording_for_tests.h"

namespace tephra::stream {
namespace {

constexpr unsigned kLoopback[4] = {127, 0, 0, 1};

tephra_activity_record record_of(unsigned kind, uint64_t count) {
  tephra_activity_record record{};
  record.size = sizeof record;
  record.kind = kind;
  record.detail = 80;
  record.count = count;
  return record;
}

class TcpReadingTest : public testing::Test {
 protected:
  TcpReadingTest() : test_(TestRecording::kUsual | PERF_SAMPLE_RAW) { test_.events()[0].name = "tcp"; }

  void add(const tephra_activity_record& record) { add_raw(TestBytes().put(record).put(uint32_t{0}).text()); }
  void add_raw(std::string raw) {
    test_.sample({.time = 5, .callchain = {kTestUserMarker, 1}, .period = 1, .raw = std::move(raw)});
  }
  // "event value/count key=text …" of each sample, in any order.
  std::multiset<std::string> shown() const {
    Recording recording = test_.recording();
    recording.recorder.emplace();
    EXPECT_TRUE(add_readings(recording, {}).ok());
    const auto profile = build_profile(recording, {});
    std::multiset<std::string> all;
    for (size_t i = 0; i < profile.samples.size(); ++i) {
      std::string text(profile.text(profile.events[profile.samples.event[i]].name));
      text += " " + std::to_string(profile.samples.value[i]) + "/" + std::to_string(profile.samples.count[i]);
      if (!profile.samples.labels.empty()) {
        for (const model::Label& label : profile.label_sets[profile.samples.labels[i]].labels) {
          text.append(" ").append(profile.text(label.key)).append("=").append(profile.text(label.text));
        }
      }
      all.insert(text);
    }
    return all;
  }

  TestRecording test_;
};

TEST_F(TcpReadingTest, ConnectsHaveTimesAndPeers) {
  auto connect = record_of(TEPHRA_TCP_CONNECT, 3);
  connect.ns = 900;
  connect.extra[10] = connect.extra[11] = 0xff;
  for (int i = 0; i < 4; ++i) connect.extra[12 + i] = static_cast<unsigned char>(kLoopback[i]);
  add(connect);
  auto failed = record_of(TEPHRA_TCP_CONNECT_FAILED, 1);
  failed.extra[15] = 1;
  add(failed);
  EXPECT_EQ(shown(), (std::multiset<std::string>{
                         "tcp-events 3/3 what=connect port=80 peer=127.0.0.1",
                         "tcp-connect-time 900/3 what=connect port=80 peer=127.0.0.1",
                         "tcp-events 1/1 what=failed connect port=80 peer=::1",
                         "tcp-connect-time 0/1 what=failed connect port=80 peer=::1",
                     }));
}

TEST_F(TcpReadingTest, BytesWeighAndCallsAreCounted) {
  auto sent = record_of(TEPHRA_TCP_SENT, 2);
  sent.bytes = 4096;
  add(sent);
  auto received = record_of(TEPHRA_TCP_RECEIVED, 7);
  received.bytes = 5;
  received.flags = TEPHRA_ACTIVITY_NO_STACK;
  add(received);
  const auto all = shown();
  EXPECT_TRUE(all.contains("tcp-bytes 4096/2 direction=sent port=80"));
  EXPECT_EQ(all.size(), 2u);
  EXPECT_TRUE(all.begin()->starts_with("tcp-bytes")) << *all.begin();
}

TEST_F(TcpReadingTest, WhatHappensOutsideOfCallsSaysSo) {
  auto state = record_of(TEPHRA_TCP_STATE, 1);
  state.flags = TEPHRA_ACTIVITY_INTERRUPT | 1 << TEPHRA_ACTIVITY_OLD_STATE_SHIFT | 8 << TEPHRA_ACTIVITY_NEW_STATE_SHIFT;
  add(state);
  state.flags = 77 << TEPHRA_ACTIVITY_OLD_STATE_SHIFT;
  add(state);
  auto reset = record_of(TEPHRA_TCP_RESET_SENT, 4);
  reset.flags = TEPHRA_ACTIVITY_NO_OWNER;
  reset.detail = 0;
  add(reset);
  EXPECT_EQ(shown(), (std::multiset<std::string>{
                         "tcp-events 1/1 what=state change state=ESTABLISHED -> CLOSE_WAIT port=80 context=interrupt",
                         "tcp-events 1/1 what=state change state=state 77 -> state 0 port=80 context=own call",
                         "tcp-events 4/4 what=reset sent context=unknown owner",
                     }));
}

TEST_F(TcpReadingTest, WhatIsNotToldStaysAsRecorded) {
  add_raw(std::string(4, '\0'));
  add_raw(std::string(12, '\xff'));
  auto cut = record_of(TEPHRA_TCP_SENT, 1);
  cut.size = 8;
  add(cut);
  add(record_of(TEPHRA_SYSCALL, 1));
  add(record_of(TEPHRA_TCP_ACCEPT, 0));
  EXPECT_EQ(shown(), (std::multiset<std::string>{"tcp 5/5"}));
}

TEST_F(TcpReadingTest, OlderRecordersTellLess) {
  auto record = record_of(TEPHRA_TCP_ACCEPT, 6);
  record.size = offsetof(tephra_activity_record, bytes);
  const std::string bytes = TestBytes().put(record).text();
  add_raw(bytes.substr(0, record.size) + std::string(4, '\0'));
  EXPECT_EQ(shown(), (std::multiset<std::string>{"tcp-events 6/6 what=accept port=80"}));
}

}  // namespace
}  // namespace tephra::stream
