#include "collect/name_embedder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include <fmt/format.h>

namespace tephra::collect {
namespace {

// Inlined functions are given up earlier (EmbedSettings); this is for what hangs.
constexpr std::chrono::seconds kMostTime{60};

struct Answer {
  Embedded embedded;
  bool ok = false;
  char why_not[512] = {};
};

Answer answer_of(const std::string& path, const symbols::KeptFiles& files, const EmbedSettings& settings) {
  Answer answer;
  std::string why_not;
  try {
    const auto done = embed_names(path, files, settings);
    answer.ok = done.ok();
    if (done) answer.embedded = *done;
    if (!done) why_not = done.error().message();
  } catch (const std::exception& error) {
    why_not = error.what();
  }
  why_not.copy(answer.why_not, sizeof answer.why_not - 1);
  return answer;
}

// The first to be killed when memory runs out.
void offer_to_be_killed() {
  const base::FileDescriptor fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) (void)base::write_all(fd.get(), base::as_bytes("1000"), "oom_score_adj").ok();
}

[[noreturn]] void run_child(int answer_fd, pid_t parent, const std::string& path, const symbols::KeptFiles& files,
                            const EmbedSettings& settings) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  offer_to_be_killed();
  const Answer answer = answer_of(path, files, settings);
  (void)base::write_all(answer_fd, std::as_bytes(std::span(&answer, 1)), "the answer").ok();
  ::_exit(0);
}

double seconds_of(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * double(time.tv_usec); }

}  // namespace

NameEmbedder::~NameEmbedder() { stop(); }

base::Status NameEmbedder::begin(const std::string& path, const symbols::KeptFiles& files,
                                 const EmbedSettings& settings) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_error("cannot name what was sampled in", path, errno);
  base::FileDescriptor read_end(ends[0]);
  base::FileDescriptor write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::system_error("cannot name what was sampled in", path, errno);
  if (pid == 0) run_child(write_end.get(), parent, path, files, settings);
  children_.push_back({pid, std::move(read_end), path, Clock::now()});
  return {};
}

NameEmbedder::Result NameEmbedder::result_of(Child& child, bool too_late) {
  Result result;
  result.path = child.path;
  Answer answer;
  size_t got = 0;
  while (!too_late && got < sizeof answer) {
    const ssize_t more = ::read(child.answer.get(), reinterpret_cast<char*>(&answer) + got, sizeof answer - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  if (too_late) ::kill(child.pid, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(child.pid, &status, 0, &usage) < 0 && errno == EINTR) continue;
  result.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  if (too_late) {
    result.why_not = fmt::format("it took longer than {} s", kMostTime.count());
  } else if (got < sizeof answer) {
    result.why_not = WIFSIGNALED(status) ? fmt::format("the files could not be read (signal {})", WTERMSIG(status))
                                         : "the files could not be read";
  } else if (answer.ok) {
    result.done = answer.embedded;
  } else {
    answer.why_not[sizeof answer.why_not - 1] = '\0';
    result.why_not = answer.why_not;
  }
  return result;
}

std::vector<NameEmbedder::Result> NameEmbedder::results(std::chrono::milliseconds wait) {
  std::vector<pollfd> waits;
  for (const Child& child : children_) waits.push_back({child.answer.get(), POLLIN, 0});
  ::poll(waits.data(), waits.size(), static_cast<int>(wait.count()));
  std::vector<Result> results;
  for (size_t i = 0; i < waits.size(); ++i) {
    Child& child = children_[i];
    const bool ready = waits[i].revents != 0;
    const bool too_late = !ready && Clock::now() - child.begun > kMostTime;
    if (!ready && !too_late) continue;
    results.push_back(result_of(child, too_late));
    child.pid = 0;
  }
  std::erase_if(children_, [](const Child& child) { return child.pid == 0; });
  return results;
}

void NameEmbedder::stop() {
  for (const Child& child : children_) {
    ::kill(child.pid, SIGKILL);
    while (::waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  children_.clear();
}

}  // namespace tephra::collect
