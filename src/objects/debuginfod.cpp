#include "objects/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "objects/debuginfod_cache.h"

namespace tephra::objects {
namespace {

using Clock = std::chrono::steady_clock;

// News is at least so many more bytes.
constexpr uint64_t kNews = 64 << 10;
// A request that trickles is given up after so many time limits.
constexpr double kMostLimits = 20;

// libdebuginfod, loaded when it is first needed: it brings an HTTP client with it, which few runs use.
struct Library {
  void* handle = nullptr;
  decltype(&::debuginfod_begin) begin = nullptr;
  decltype(&::debuginfod_end) end = nullptr;
  decltype(&::debuginfod_find_debuginfo) find_debuginfo = nullptr;
  decltype(&::debuginfod_find_executable) find_executable = nullptr;
  decltype(&::debuginfod_set_progressfn) set_progress = nullptr;

  bool load() {
    handle = ::dlopen(DEBUGINFOD_SONAME, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto take = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    return take(begin, "debuginfod_begin") && take(end, "debuginfod_end") &&
           take(find_debuginfo, "debuginfod_find_debuginfo") && take(find_executable, "debuginfod_find_executable") &&
           take(set_progress, "debuginfod_set_progressfn");
  }
};

enum class GivenUp { kNot, kTooLarge, kNoAnswer, kTooSlow };

std::string text_of(GivenUp why, const Debuginfod::Options& options) {
  switch (why) {
    case GivenUp::kTooLarge:
      return fmt::format("the file is larger than {} bytes", options.largest);
    case GivenUp::kNoAnswer:
      return fmt::format("no answer within {} seconds", options.timeout_s);
    case GivenUp::kTooSlow:
      return "the answer takes too long";
    default:
      return {};
  }
}

// One request: decides, whenever the client asks, whether to go on.
struct Request {
  const Debuginfod::Options& options;
  Clock::time_point begun = Clock::now();
  Clock::time_point last_news = begun;
  uint64_t got = 0;
  bool reported = false;
  GivenUp given_up = GivenUp::kNot;

  static double seconds_since(Clock::time_point moment) {
    return std::chrono::duration<double>(Clock::now() - moment).count();
  }

  // The client tells the bytes that arrived and their total once a server answered, and before that how often it
  // looked.
  bool go_on(uint64_t value, uint64_t total) {
    if (value > options.largest || total > options.largest) {
      given_up = GivenUp::kTooLarge;
    } else if (value >= got + kNews) {
      got = value;
      last_news = Clock::now();
    } else if (seconds_since(last_news) >= options.timeout_s) {
      given_up = GivenUp::kNoAnswer;
    }
    if (seconds_since(begun) >= options.timeout_s * kMostLimits) given_up = GivenUp::kTooSlow;
    if (options.progress && given_up == GivenUp::kNot && seconds_since(begun) > 1) {
      reported = true;
      options.progress(total > 0 ? value : 0, total);
    }
    return given_up == GivenUp::kNot;
  }
};

// The request that this thread waits for. The client calls back in the same thread, and the data that it would hand to
// the callback can only be had by a function of the library, which is not linked.
thread_local Request* asked = nullptr;

}  // namespace

struct Debuginfod::State {
  Options options;
  mutable std::mutex mutex;
  Library library;
  debuginfod_client* client = nullptr;
  std::string trouble;

  bool ready() {
    if (client != nullptr) return true;
    if (!library.load()) {
      trouble = "libdebuginfod is not installed";
      return false;
    }
    client = library.begin();
    if (client == nullptr) trouble = "libdebuginfod cannot be used";
    return client != nullptr;
  }
};

bool Debuginfod::configured() {
  const char* urls = std::getenv(DEBUGINFOD_URLS_ENV_VAR);
  return urls != nullptr && *urls != '\0';
}

Debuginfod::Debuginfod(Options options) : state_(new State) { state_->options = std::move(options); }

Debuginfod::~Debuginfod() {
  if (state_->client != nullptr) state_->library.end(state_->client);
  // The library stays loaded: its HTTP client has threads and exit handlers of its own.
}

std::string Debuginfod::trouble() const {
  const std::lock_guard lock(state_->mutex);
  return state_->trouble;
}

base::Result<Debuginfod::Fetched> Debuginfod::fetch(Kind kind, base::Bytes build_id) {
  const std::lock_guard lock(state_->mutex);
  const auto refuse = [](std::string why) { return base::failed("cannot ask debuginfod", {}, std::move(why)); };
  if (!state_->trouble.empty() || !state_->ready()) return refuse(state_->trouble);
  Request request{state_->options};
  const Library& library = state_->library;
  asked = &request;
  library.set_progress(state_->client, [](debuginfod_client*, long value, long total) {
    return asked->go_on(static_cast<uint64_t>(std::max(value, 0L)), static_cast<uint64_t>(std::max(total, 0L))) ? 0 : 1;
  });
  char* path = nullptr;
  const auto find = kind == Kind::kExecutable ? library.find_executable : library.find_debuginfo;
  const int fd = find(state_->client, reinterpret_cast<const unsigned char*>(build_id.data()),
                      static_cast<int>(build_id.size()), &path);
  asked = nullptr;
  if (request.reported && state_->options.done) state_->options.done();
  Fetched fetched{base::FileDescriptor(fd), path == nullptr ? "" : path};
  std::free(path);
  if (fd >= 0) return fetched;
  if (fd == -ENOENT && request.given_up == GivenUp::kNot) return refuse("the servers do not have it");
  forget_absence(debuginfod_cache_folder(), build_id, kind == Kind::kExecutable ? "executable" : "debuginfo");
  std::string why = request.given_up == GivenUp::kNot ? std::strerror(-fd) : text_of(request.given_up, request.options);
  // A file that is too large says nothing about the next one.
  if (request.given_up != GivenUp::kTooLarge) state_->trouble = why;
  return refuse(std::move(why));
}

}  // namespace tephra::objects
