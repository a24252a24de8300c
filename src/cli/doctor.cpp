#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "analysis/activity_advice.h"
#include "analysis/health.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "kernel/machine_facts.h"
#include "kernel/process_activity.h"
#include "symbols/process_facts.h"
#include "views/health_json.h"
#include "views/health_text.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary =
    "Says what of profiling works on this machine for this user, what is lost, and how to get it; with -p, how well a\n"
    "process can be profiled and which type of profile fits what it does. Nothing on the machine is changed.";

constexpr const char* kExamples =
    "  tephra doctor                 the machine and this user\n"
    "  tephra doctor -p 1234         and a process, looked at for two seconds\n";

struct Flags {
  std::optional<int> pid;
  double seconds = 2;
  bool json = false;
};

bool terminal_speaks_utf8() {
  // Of the environment alone: the program itself runs in the C locale.
  const locale_t theirs = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (theirs == nullptr) return false;
  const std::string_view charset = ::nl_langinfo_l(CODESET, theirs);
  const bool utf8 = charset == "UTF-8" || charset == "utf8";
  ::freelocale(theirs);
  return utf8;
}

views::HealthTextOptions text_options() {
  views::HealthTextOptions options;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  options.color = terminal && (no_color == nullptr || *no_color == 0);
  options.utf8 = terminal_speaks_utf8();
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = std::clamp<size_t>(size.ws_col, 60, 120);
  }
  return options;
}

// A process that is about to be looked at for seconds, with all that was found.
struct Patient {
  symbols::ProcessFacts facts;
  std::vector<analysis::Finding> findings;
  std::optional<kernel::ProcessActivity> activity;
  std::optional<analysis::ActivityAdvice> advice;
};

base::Result<Patient> examine(pid_t pid, const kernel::MachineFacts& machine) {
  Patient patient;
  TEPHRA_TRY(patient.facts, symbols::process_facts(pid));
  patient.findings = analysis::judge_process(patient.facts, machine);
  return patient;
}

void watch(Patient& patient, double seconds) {
  constexpr std::string_view kStandingStill = "TtZX";
  const auto& facts = patient.facts;
  if (seconds <= 0 || facts.kernel_thread || kStandingStill.find(facts.state) != std::string_view::npos) return;
  patient.activity = kernel::watch_process(facts.pid, std::chrono::duration<double>(seconds));
  if (patient.activity) patient.advice = analysis::advise(*patient.activity, facts.pid);
}

// Prints what was found, the machine's part before the process is watched, which takes its time.
base::Status show(const kernel::MachineFacts& machine, std::optional<Patient>& patient, const Flags& flags) {
  const auto findings = analysis::judge_machine(machine);
  const auto options = text_options();
  if (!flags.json) TEPHRA_CHECK_OK(base::write_file("-", views::machine_health_text(machine, findings, options)));
  std::optional<views::ProcessHealth> process;
  if (patient) {
    watch(*patient, flags.seconds);
    process.emplace(views::ProcessHealth{patient->facts, patient->findings, patient->activity, patient->advice});
  }
  if (flags.json) {
    return base::write_file("-", views::health_json(machine, findings, process ? &*process : nullptr));
  }
  return process ? base::write_file("-", "\n" + views::process_health_text(*process, options)) : base::Status();
}

base::Result<int> doctor(std::span<const std::string> arguments) {
  Flags flags;
  const auto parser = make_parser("doctor", kSummary, kExamples);
  parser->add_option("-p,--pid", flags.pid, "a process to look at as well")->type_name("PID");
  parser->add_option("--seconds", flags.seconds, "how long to look at it (2); 0: not at all")->type_name("SECONDS");
  parser->add_flag("--json", flags.json, "all facts and findings as JSON");
  TEPHRA_TRY(const bool go_on, parse(*parser, arguments));
  if (!go_on) return kExitDone;
  if (!(flags.seconds >= 0 && flags.seconds <= 3600)) {
    return base::usage_error("not a duration", std::to_string(flags.seconds), "", "Write seconds, for example 2.");
  }
  if (flags.pid && *flags.pid <= 0) return base::usage_error("not a process id", std::to_string(*flags.pid));
  const kernel::MachineFacts machine = kernel::machine_facts();
  bool works = analysis::cpu_profiling_works(machine);
  std::optional<Patient> patient;
  if (flags.pid) {
    TEPHRA_TRY(patient, examine(*flags.pid, machine));
    const auto& facts = patient->facts;
    works = works && facts.event.works && !facts.ended && facts.state != 'Z' && facts.state != 'X';
  }
  TEPHRA_CHECK_OK(show(machine, patient, flags));
  return works ? kExitDone : kExitFailed;
}

}  // namespace

extern const Command kDoctorCommand{"doctor", "say what of profiling works here, and how to get the rest", doctor};

}  // namespace tephra::cli
