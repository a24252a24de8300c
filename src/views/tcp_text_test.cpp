#include "views/tcp_text.h"

#include <gtest/gtest.h>

#include "model/profile_assembler.h"

namespace tephra::views {
namespace {

struct Told {
  std::string_view event;
  std::vector<std::pair<std::string_view, std::string_view>> labels;
  uint64_t value = 1;
  uint64_t count = 1;
};

model::Profile profile_of(const std::vector<Told>& all) {
  model::ProfileAssembler assembler;
  const auto thread = assembler.thread({1, 1, assembler.string("prog")});
  for (const Told& told : all) {
    std::vector<model::Label> labels;
    for (const auto& [key, text] : told.labels)
      labels.push_back({assembler.string(key), assembler.string(text), 0, {}});
    const auto event = assembler.event({assembler.string(told.event), assembler.string("count")});
    model::ProfileAssembler::Sample sample{.stack = {}, .event = event, .thread = thread};
    sample.count = told.count;
    sample.value = told.value;
    sample.labels = assembler.labels(std::move(labels));
    assembler.sample(sample);
  }
  return std::move(assembler).finish();
}

model::Profile usual() {
  return profile_of({
      {"tcp-events", {{"what", "connect"}, {"port", "80"}, {"peer", "10.0.0.1"}}, 4, 4},
      {"tcp-connect-time", {{"what", "connect"}, {"port", "80"}, {"peer", "10.0.0.1"}}, 8000, 4},
      {"tcp-events", {{"what", "accept"}, {"port", "443"}}, 2, 2},
      {"tcp-events",
       {{"what", "state change"}, {"state", "ESTABLISHED -> CLOSE"}, {"port", "443"}, {"context", "interrupt"}},
       3,
       3},
      {"tcp-events", {{"what", "reset sent"}, {"context", "unknown owner"}}, 5, 5},
      {"tcp-bytes", {{"direction", "sent"}, {"port", "80"}, {"peer", "10.0.0.1"}}, 2048, 6},
      {"tcp-bytes", {{"direction", "received"}, {"port", "443"}}, 4096, 7},
      {"cpu-clock", {}, 100, 100},
  });
}

TEST(TcpSummary, SumsByKindAndByPeer) {
  const auto summary = analysis::tcp_summary(usual());
  EXPECT_EQ(summary.all.connects, 4u);
  EXPECT_EQ(summary.all.connect_ns, 8000u);
  EXPECT_EQ(summary.all.accepts, 2u);
  EXPECT_EQ(summary.all.state_changes, 3u);
  EXPECT_EQ(summary.all.resets_sent, 5u);
  EXPECT_EQ(summary.all.sent, 2048u);
  EXPECT_EQ(summary.all.received, 4096u);
  EXPECT_EQ(summary.interrupts, 3u);
  EXPECT_EQ(summary.without_owner, 5u);
  ASSERT_EQ(summary.peers.size(), 3u);
  EXPECT_EQ(summary.peers[0].port, "443");
  EXPECT_EQ(summary.peers[1].address, "10.0.0.1");
  EXPECT_EQ(summary.peers[2].port, "");
}

TEST(TcpSummary, ProfilesOfOtherThingsHaveNone) {
  EXPECT_TRUE(analysis::tcp_summary({}).empty());
  EXPECT_TRUE(analysis::tcp_summary(profile_of({{"cpu-clock", {{"what", "connect"}}}})).empty());
  EXPECT_EQ(tcp_text({}, 10), "");
}

TEST(TcpText, TellsKindsThenPeers) {
  EXPECT_EQ(tcp_text(analysis::tcp_summary(usual()), 2),
            "TCP\n"
            "  connects                    4  2.00 us each, on average\n"
            "  accepts                     2\n"
            "  retransmits                 0\n"
            "  resets sent                 5\n"
            "  state changes               3\n"
            "  sent                 2.00 KiB  in 6 calls\n"
            "  received             4.00 KiB  in 7 calls\n"
            "3 of these happened outside of the threads' own calls, by packets and timers: they are told\n"
            "where the thread last used the connection\n"
            "5 of these are of connections whose owner is not known\n"
            "by port and peer\n"
            "  at our port 443         0 B sent    4.00 KiB received  2 accepts\n"
            "  to 10.0.0.1:80     2.00 KiB sent         0 B received  4 connects\n"
            "  and 1 more\n");
}

TEST(TcpFrames, SayWhatHappened) {
  const auto profile = analysis::with_tcp_frames(usual());
  std::vector<std::string> stacks;
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    std::string text;
    for (model::StackId at = profile.samples.stack[i]; at; at = profile.stacks[at].parent) {
      const model::Frame& frame = profile.frames[profile.stacks[at].frame];
      text = std::string(profile.text(profile.functions[frame.function].name)) + (text.empty() ? "" : ";") + text;
    }
    stacks.push_back(text);
  }
  EXPECT_EQ(stacks, (std::vector<std::string>{"[connect]", "[connect]", "[accept]",
                                              "[outside of its calls];[ESTABLISHED -> CLOSE]",
                                              "[unknown owner];[reset sent]", "[sent]", "[received]", ""}));
}

}  // namespace
}  // namespace tephra::views
