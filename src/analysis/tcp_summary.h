#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// What a profile tells of TCP (stream/tcp_reading.h): how much of each kind there was, and with whom.
struct TcpSummary {
  struct Counts {
    uint64_t connects = 0;
    uint64_t failed_connects = 0;
    uint64_t accepts = 0;
    uint64_t retransmits = 0;  // segments
    uint64_t resets_sent = 0;
    uint64_t resets_received = 0;
    uint64_t state_changes = 0;
    uint64_t sent = 0;      // bytes
    uint64_t received = 0;  // bytes
    uint64_t send_calls = 0;
    uint64_t receive_calls = 0;
    uint64_t connect_ns = 0;  // until connections were there or had failed, of all together
    bool operator==(const Counts&) const = default;
  };
  struct Peer {
    std::string address;  // of the other side, where connections were opened by us; empty: they came to our port
    std::string port;     // empty: not known
    Counts counts;
  };
  Counts all;
  std::vector<Peer> peers;     // the most bytes first, then the most of all else
  uint64_t interrupts = 0;     // of all, what happened outside of the owner's calls
  uint64_t without_owner = 0;  // of all, what is of sockets whose owner is not known

  bool empty() const { return all == Counts(); }
};

// Of the samples of its events of TCP; others are left out.
TcpSummary tcp_summary(const model::Profile& profile);

// The profile with what happened as the innermost frame of each sample of TCP: "[connect]", "[sent]"; and with
// "[outside of its calls]" below it where the stack is not of where it happened, but of the last call before.
model::Profile with_tcp_frames(model::Profile profile);

}  // namespace tephra::analysis
