#include "collect/stored_names.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace tephra::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilent{1};

}  // namespace

uint64_t StoredNames::room() const {
  return mapped_files_ && most_file_bytes_ ? std::min<uint64_t>(*most_file_bytes_ / 32, 1 << 20) : 0;
}

void StoredNames::begin(const std::string& path) {
  struct stat info {};
  if (!mapped_files_ || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  EmbedSettings settings;
  if (most_file_bytes_) settings.most_bytes = room();
  if (auto status = embedder_.begin(path, mapped_files_->files(), settings); !status) note_(status.error().message());
}

void StoredNames::hear(std::chrono::milliseconds wait) {
  if (!embedder_.busy()) return;
  for (const NameEmbedder::Result& result : embedder_.results(wait)) take(result);
}

void StoredNames::take(const NameEmbedder::Result& result) {
  totals_.cpu_seconds += result.cpu_seconds;
  if (!result.done) return note_(fmt::format("no names were stored in {}: {}", result.path, result.why_not));
  totals_.addresses += result.done->addresses - result.done->unknown;
  totals_.bytes += result.done->bytes;
  if (result.done->addresses > 0 && result.done->bytes == 0) {
    note_(fmt::format("the size limit left no room for names in {}", result.path));
  } else if (result.done->inlines_cut) {
    note_(fmt::format("some inlined functions and lines are not stored in {}: looking them up took too long",
                      result.path));
  }
}

void StoredNames::finish(kernel::SignalInbox& signals) {
  if (!mapped_files_) return;
  if (const auto over = mapped_files_->totals().over_limit; over > 0) {
    note_(fmt::format("{} more mapped files than could be held open: their names are looked up by path", over));
  }
  const auto begun = Clock::now();
  bool said = false;
  while (embedder_.busy()) {
    hear(std::chrono::milliseconds(100));
    if (embedder_.busy() && Clock::now() - begun > kSilent && !std::exchange(said, true)) {
      note_("looking up the names of what was sampled, to store them; Ctrl-C leaves them out");
    }
    while (const int signal = signals.next()) {
      if (signal == SIGCHLD || !embedder_.busy()) continue;
      embedder_.stop();
      note_("no names were stored");
    }
  }
}

}  // namespace tephra::collect
