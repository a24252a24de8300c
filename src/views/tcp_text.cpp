#include "views/tcp_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using Counts = analysis::TcpSummary::Counts;
using Peer = analysis::TcpSummary::Peer;

std::string calls(uint64_t count) { return "in " + base::counted(count, "call"); }

std::string line(std::string_view name, const std::string& amount, std::string_view more = "") {
  return fmt::format("  {:<16} {:>12}{}{}\n", name, amount, more.empty() ? "" : "  ", more);
}

// What there was none of is told, too, but for what most programs have none of.
std::string kinds(const Counts& all) {
  const auto number = [](uint64_t count) { return base::with_separators(count); };
  const uint64_t ended = all.connects + all.failed_connects;
  const std::string time = ended == 0 ? "" : base::duration_text(all.connect_ns / ended) + " each, on average";
  std::string text = line("connects", number(all.connects), time);
  if (all.failed_connects != 0) text += line("failed connects", number(all.failed_connects));
  text += line("accepts", number(all.accepts));
  text += line("retransmits", number(all.retransmits), all.retransmits != 0 ? "segments" : "");
  if (all.resets_sent != 0) text += line("resets sent", number(all.resets_sent));
  if (all.resets_received != 0) text += line("resets received", number(all.resets_received));
  text += line("state changes", number(all.state_changes));
  text += line("sent", base::bytes_text(all.sent), calls(all.send_calls));
  return text + line("received", base::bytes_text(all.received), calls(all.receive_calls));
}

std::string name_of(const Peer& peer) {
  if (peer.port.empty() && peer.address.empty()) return "not known";
  if (peer.address.empty()) return "at our port " + printable(peer.port);
  const bool six = peer.address.find(':') != std::string::npos;
  return six ? fmt::format("to [{}]:{}", printable(peer.address), printable(peer.port))
             : fmt::format("to {}:{}", printable(peer.address), printable(peer.port));
}

std::string peer_line(const Peer& peer, size_t width) {
  const Counts& counts = peer.counts;
  std::string text = fmt::format("  {:<{}}  {:>10} sent  {:>10} received", name_of(peer), width,
                                 base::bytes_text(counts.sent), base::bytes_text(counts.received));
  const auto add = [&](uint64_t count, std::string_view thing) {
    if (count != 0) text += fmt::format("  {}", base::counted(count, thing));
  };
  add(counts.connects, "connect");
  add(counts.failed_connects, "failed connect");
  add(counts.accepts, "accept");
  add(counts.retransmits, "retransmit");
  if (counts.resets_sent != 0) text += fmt::format("  {} sent", base::counted(counts.resets_sent, "reset"));
  if (counts.resets_received != 0) text += fmt::format("  {} received", base::counted(counts.resets_received, "reset"));
  return text + "\n";
}

std::string peers_text(const std::vector<Peer>& peers, size_t most) {
  const size_t shown = std::min(most, peers.size());
  size_t width = 0;
  for (size_t i = 0; i < shown; ++i) width = std::max(width, name_of(peers[i]).size());
  std::string text = "by port and peer\n";
  for (size_t i = 0; i < shown; ++i) text += peer_line(peers[i], width);
  if (shown < peers.size()) {
    text += fmt::format("  and {} more\n", base::with_separators(peers.size() - shown));
  }
  return text;
}

}  // namespace

std::string tcp_text(const analysis::TcpSummary& summary, size_t most_peers) {
  if (summary.empty()) return "";
  std::string text = "TCP\n" + kinds(summary.all);
  if (summary.interrupts != 0) {
    text += fmt::format(
        "{} of these happened outside of the threads' own calls, by packets and timers: they are told\n"
        "where the thread last used the connection\n",
        base::with_separators(summary.interrupts));
  }
  if (summary.without_owner != 0) {
    text += fmt::format("{} of these are of connections whose owner is not known\n",
                        base::with_separators(summary.without_owner));
  }
  return text + peers_text(summary.peers, most_peers);
}

}  // namespace tephra::views
