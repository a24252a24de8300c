#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/file.h"
#include "base/result.h"

namespace tephra::objects {

// Asks the servers of DEBUGINFOD_URLS for files by build id, with elfutils' client and its cache, which also remembers
// for a while what the servers do not have. One request at a time; threads wait for each other. A server that does not
// answer in time is not asked again by this object, so a dead one costs the time limit once.
class Debuginfod {
 public:
  struct Options {
    double timeout_s = 30;                 // without news from any server
    uint64_t largest = uint64_t{4} << 30;  // a larger file is given up
    // What arrived so far of how much (0: unknown), about once a second; and `done` once at the end of a request that
    // was reported.
    std::function<void(uint64_t got, uint64_t total)> progress;
    std::function<void()> done;
  };
  enum class Kind { kExecutable, kDebugInfo };
  struct Fetched {
    base::FileDescriptor fd;
    std::string path;  // in the client's cache
  };

  // Whether the environment names servers.
  static bool configured();

  explicit Debuginfod(Options options);
  ~Debuginfod();

  // The file, whatever it is: that it has the build id is for the caller to check. An error says whether there is none
  // or why it could not be had.
  base::Result<Fetched> fetch(Kind kind, base::Bytes build_id);

  // Why the servers are not asked any more; empty while they are.
  std::string trouble() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tephra::objects
