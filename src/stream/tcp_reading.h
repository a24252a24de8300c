#pragma once

#include <string_view>

#include "base/result.h"
#include "stream/sample_reading.h"

namespace tephra::stream {

// What samples of the event `tcp` are shown as.
inline constexpr std::string_view kTcpEvents = "tcp-events";             // counts, by the label "what"
inline constexpr std::string_view kTcpBytes = "tcp-bytes";               // by the label "direction"
inline constexpr std::string_view kTcpConnectTime = "tcp-connect-time";  // until a connection was there, or failed

inline constexpr std::string_view kTcpWhatLabel = "what";
inline constexpr std::string_view kTcpDirectionLabel = "direction";  // "sent", "received"
inline constexpr std::string_view kTcpStateLabel = "state";          // "ESTABLISHED -> CLOSE_WAIT"
inline constexpr std::string_view kTcpPortLabel = "port";
inline constexpr std::string_view kTcpPeerLabel = "peer";  // the address of the other side, where we opened it
// Of what may happen outside of the owner's calls: "own call", "interrupt", "unknown owner".
inline constexpr std::string_view kTcpContextLabel = "context";

// Where a recording holds what our recorder summed up of TCP (the event `tcp`, whose raw data abi/activity_record.h
// describes): connects, accepts and what else happened as counts, bytes, and times of connecting.
base::Status add_tcp_reading(Recording& recording, const ReadingOptions& options);

}  // namespace tephra::stream
