// Reads a recording with copies of stacks into a profile of addresses, several times, and prints for the fastest round
// samples, seconds and what was complete. Each round maps the file anew; the first one, in which
// call-frame tables are made or loaded, is apart.
//
//   unwind_bench FILE [ROUNDS]

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "abi/walk_end.h"
#include "base/disk_cache.h"
#include "base/file.h"
#include "formats/format.h"
#include "unwind/offline_unwinder.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tephra;
  if (argc < 2) return 2;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  symbols::FileFinder files;
  const auto cache = base::DiskCache::of_user();
  unwind::TableStore tables(files, cache);
  unwind::OfflineUnwinder unwinder(tables);
  stream::BuildOptions build;
  build.unwinder = &unwinder;
  double first = 0;
  double best = 1e9;
  uint64_t samples = 0;
  uint64_t whole = 0;
  uint64_t frames = 0;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const auto content = base::FileContent::open(argv[1]);
    if (!content) return 2;
    build.done_with = [&](base::Bytes part) { content->forget(part); };
    build.will_read = [&](base::Bytes part) { content->fetch(part); };
    const auto profile = formats::read_profile(content->bytes(), argv[1], build);
    const double seconds = seconds_since(begin);
    if (!profile) return 1;
    if (round == 0) {
      first = seconds;
    } else if (seconds < best) {
      best = seconds;
    }
    samples = whole = frames = 0;
    for (size_t i = 0; i < profile->samples.size(); ++i) {
      samples += profile->samples.count[i];
      const int end = profile->samples.walk_end[i] & ~TEPHRA_WALK_GUESSED;
      if (end == TEPHRA_WALK_OUTERMOST) whole += profile->samples.count[i];
      for (auto stack = profile->samples.stack[i]; stack; stack = profile->stacks[stack].parent) {
        frames += profile->samples.count[i];
      }
    }
  }
  std::printf("{\"samples\": %lu, \"whole\": %lu, \"frames\": %lu, \"first_seconds\": %.6f, \"seconds\": %.6f}\n",
              samples, whole, frames, first, best);
  return 0;
}
