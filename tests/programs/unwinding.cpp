// flags: -O2 -fomit-frame-pointer -momit-leaf-frame-pointer -fno-optimize-sibling-calls
// Calls of every shape that unwinding must follow, without frame pointers: `unwinding SHAPE SECONDS [PLUGIN]`. Burns that
// much CPU time at the end of a chain of functions whose names say what is expected. Compiled with -DPLUGIN it is the library
// that the shape "plugin" loads.
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define APART __attribute__((noinline, noclone, noipa))
#ifdef __clang__
#undef APART
#define APART __attribute__((noinline))
#endif

namespace {
volatile uint64_t sink;
}

APART void burn(unsigned rounds) {
  uint64_t state = rounds | 1;
  for (unsigned i = 0; i < rounds; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
  sink = state;
}

#ifdef PLUGIN

APART void plugin_inner(unsigned rounds) {
  burn(rounds);
  sink = sink + 1;
}
extern "C" APART void plugin_entry(unsigned rounds) {
  plugin_inner(rounds);
  sink = sink + 1;
}

#else

APART void recurse(unsigned depth, unsigned rounds) {
  char local[64];
  memset(local, static_cast<int>(depth), sizeof local);
  if (depth == 0) {
    burn(rounds);
  } else {
    recurse(depth - 1, rounds);
  }
  sink = sink + static_cast<uint64_t>(local[depth % sizeof local]);
}

struct Guard {
  explicit Guard(unsigned rounds) : rounds(rounds) {}
  APART ~Guard() { burn(rounds); }  // runs while the exception passes
  unsigned rounds;
};
APART void throws(unsigned rounds) {
  const Guard guard(rounds);
  throw std::runtime_error("expected");
}
APART void catches(unsigned rounds) {
  try {
    throws(rounds);
  } catch (const std::exception& error) {
    burn(rounds);  // inside the handler
    sink = sink + strlen(error.what());
  }
}

APART void call_function(const std::function<void(unsigned)>& work, unsigned rounds) {
  work(rounds);
  sink = sink + 1;
}
APART void calls_lambdas(unsigned rounds) {
  uint64_t own = rounds;
  call_function(
      [&own](unsigned inner) {
        burn(inner);
        sink = sink + own;
      },
      rounds);
  sink = sink + own;
}

APART void tail_called(unsigned rounds) {
  burn(rounds);
  sink = sink + 1;
}
// Jumps: it is in no stack.
__attribute__((noinline, optimize("optimize-sibling-calls"))) void tail_calls(unsigned rounds) { tail_called(rounds); }
APART void before_tail_call(unsigned rounds) {
  tail_calls(rounds);
  sink = sink + 1;
}

APART void with_alloca(unsigned bytes, unsigned rounds) {
  auto* memory = static_cast<char*>(alloca(bytes));
  memset(memory, 1, bytes);
  burn(rounds);
  sink = sink + static_cast<uint64_t>(memory[bytes / 2]);
}
// The stack is moved to a larger alignment than it came with.
APART void realigned(unsigned rounds) {
  alignas(64) volatile char wide[128];
  wide[rounds % sizeof wide] = 1;
  burn(rounds);
  sink = sink + reinterpret_cast<uintptr_t>(&wide);
}

// Time passes inside libraries, which call back.
APART bool compares(const uint64_t& a, const uint64_t& b) {
  burn(20);
  return a < b;
}
APART void sorts(unsigned rounds) {
  std::vector<uint64_t> values(64 + rounds % 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (i * 7919) % 1009;
  qsort(values.data(), values.size(), sizeof values[0], [](const void* a, const void* b) {
    return compares(*static_cast<const uint64_t*>(a), *static_cast<const uint64_t*>(b)) ? -1 : 1;
  });
  sink = sink + values[3];
}
APART void copies(unsigned rounds) {
  static std::vector<char> from(1 << 20, 'x'), to(1 << 20);
  memcpy(to.data(), from.data(), from.size() - rounds % 8);
  sink = sink + static_cast<uint64_t>(to[rounds % to.size()]);
}
// Short calls through the linkage table.
APART void calls_stubs(unsigned rounds) {
  char text[32];
  for (unsigned i = 0; i < rounds / 8; ++i) {
    snprintf(text, sizeof text, "%u", i);
    sink = sink + strlen(text);
  }
}
APART void asks_time(unsigned rounds) {
  timespec now{};
  for (unsigned i = 0; i < rounds / 8; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink = sink + static_cast<uint64_t>(now.tv_nsec);
  }
}

APART void handles(int) { burn(200000); }
APART void interrupted(unsigned rounds) {
  burn(rounds);
  sink = sink + 1;
}
APART void with_signals(unsigned rounds) {
  static bool ready = [] {
    struct sigaction action {};
    action.sa_handler = handles;
    action.sa_flags = SA_RESTART;
    sigaction(SIGVTALRM, &action, nullptr);
    const itimerval every{{0, 2000}, {0, 2000}};
    setitimer(ITIMER_VIRTUAL, &every, nullptr);
    return true;
  }();
  sink = sink + ready;
  interrupted(rounds);
  sink = sink + 1;
}

APART void* in_thread(void* rounds) {
  burn(static_cast<unsigned>(reinterpret_cast<uintptr_t>(rounds)));
  return nullptr;
}
APART void with_threads(unsigned rounds) {
  pthread_t threads[2];
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, in_thread, reinterpret_cast<void*>(static_cast<uintptr_t>(rounds * 20)));
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

namespace {

using Shape = std::function<void(unsigned)>;

Shape load_plugin(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  void* entry = library != nullptr ? dlsym(library, "plugin_entry") : nullptr;
  if (entry == nullptr) {
    fprintf(stderr, "unwinding: %s\n", dlerror());
    exit(1);
  }
  return [call = reinterpret_cast<void (*)(unsigned)>(entry)](unsigned rounds) { call(rounds); };
}

// CPU time, so that a busy machine changes nothing.
double seconds_used() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string_view, Shape> shapes{
      {"recursion", [](unsigned rounds) { recurse(30, rounds); }},
      {"exceptions", catches},
      {"lambdas", calls_lambdas},
      {"tail", before_tail_call},
      {"alloca", [](unsigned rounds) { with_alloca(256 + rounds % 999, rounds); }},
      {"realigned", realigned},
      {"qsort", sorts},
      {"memcpy", copies},
      {"stubs", calls_stubs},
      {"vdso", asks_time},
      {"signals", with_signals},
      {"threads", with_threads},
  };
  if (argc > 3) shapes["plugin"] = load_plugin(argv[3]);
  if (argc < 3) {
    fprintf(stderr, "usage: unwinding SHAPE|all SECONDS [PLUGIN]\n");
    return 2;
  }
  const std::string_view wanted = argv[1];
  const double end = seconds_used() + atof(argv[2]);
  unsigned rounds = 20000;
  while (seconds_used() < end) {
    for (const auto& [name, shape] : shapes) {
      if (wanted == "all" || wanted == name) shape(++rounds);
    }
  }
  return 0;
}

#endif
