#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "analysis/verdict.h"
#include "base/result.h"
#include "cli/stack_options.h"
#include "formats/input_file.h"
#include "model/profile.h"
#include "model/redaction.h"
#include "stream/profile_builder.h"
#include "symbols/symbolize.h"

namespace tephra::cli {

// The options every command that reads a profile has: where it is, which samples to take, how to name frames, and what
// to say about quality.
struct InputOptions {
  std::string path;     // "-" is standard input; default "perf.data"
  std::string program;  // the ELF file that ran, where it was named before the profile, as pprof's users do
  stream::BuildOptions build;
  StackOptions stacks;
  symbols::Options symbols;
  std::string event;         // --event-filter; empty: the first event that has samples
  std::string weight;        // --weight; empty: as recorded
  std::string weight_words;  // what the help says of the words samples and value, for commands that take them
  std::string time;          // --time BEGIN,END in seconds, each may be empty
  std::string waits;         // --waits: how the kind of a wait is shown, "frame", "color", else not
  bool keep_idle = false;    // samples of the idle task, which are else counted and left out
  bool keep_own = false;     // samples of the recorder itself, likewise
  bool stitch_lbr = false;   // lengthen branch records by those of the sample before
  bool strict = false;
  bool quiet = false;
  bool verbose = false;
  std::string redact;  // --redact: the file with the key, "true" for a key that nobody knows; empty: names stay

  // Declares -i/FILE, --no-inline, --no-demangle, --full-names, --pid, --tid, --comm, --cpu, --time, --event-filter,
  // --weight, --idle, --own, --stitch-lbr, --redact, --strict, -q, -v.
  void declare(CLI::App& parser);
  // Also --focus and the other options about stacks, for commands that show whole profiles.
  void declare_stacks(CLI::App& parser) { stacks.declare(parser); }
  // Also --waits, with what of color, frame and none the command does; the first is the default.
  void declare_waits(CLI::App& parser, std::vector<std::string> ways);
  // Also PROGRAM PROFILE in the place of FILE.
  void declare_program(CLI::App& parser);

 private:
  std::string behind_;  // the word behind the first
};

// Declares --no-inline, --no-demangle, --full-names, and where names are found (cli/source_options.h).
void declare_names(CLI::App& parser, symbols::Options& symbols);

// Reads the same input once more.
using ReadAgain = std::function<base::Result<model::Profile>(const stream::BuildOptions& build)>;

// That a profile holds no samples, and why not. Where it is the event that is not there, reading again tells which are.
base::Error no_samples(const InputOptions& options, const model::Profile& profile, const ReadAgain& read);

// How names are replaced by hashes, where --redact asks for it.
base::Result<std::optional<model::Redaction>> redaction_of(const InputOptions& options);

struct Input {
  model::Profile profile;  // symbolized, of one event
  analysis::Verdict verdict;
  std::optional<model::Profile> named;  // with the names that --redact replaced, for filters; never to be shown
  std::string selection;                // what of the samples --focus and the like left, for the reader; empty: all
};

// Puts into the stacks of waits what else is known of them: who ended them, that there was no room for the stack, and,
// where --waits asks for it, what is waited for.
void show_waits(const InputOptions& options, Input& input);

// What unwinds copies of stacks while a recording is read: finds files, keeps their call-frame tables.
class StackUnwinding {
 public:
  // Finds files where names are found, too.
  explicit StackUnwinding(const symbols::Options& symbols);
  ~StackUnwinding();
  // Lets `build` unwind with it, for as long as this lives.
  void serve(stream::BuildOptions& build);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Lets the finder of `options.symbols` refuse files without a build id that were changed since. Pipes tell no time.
void tell_when_recorded(const InputOptions& options);

// What load() reads with: the filters of `options.build`, and those kept as text.
base::Result<stream::BuildOptions> build_options(const InputOptions& options);

// Opens, reads and symbolizes, with all events. A recording without samples is an error that says so.
base::Result<model::Profile> load_all_events(const InputOptions& options);
// The same of a file that is open: standard input can be read once.
base::Result<model::Profile> load_all_events(const InputOptions& options, const formats::InputFile& content);

// The event of a profile with samples that is shown where nobody chose one: that which the profile names, else the
// first.
std::string name_of_shown_event(const model::Profile& profile);

// Opens, reads, selects the event and symbolizes. A recording without samples is an error that says so.
base::Result<Input> load(const InputOptions& options);
base::Result<Input> load(const InputOptions& options, const formats::InputFile& content);

// The same without selecting an event: the profile and the verdict are of all of them.
base::Result<Input> load_with_all_events(const InputOptions& options);
base::Result<Input> load_with_all_events(const InputOptions& options, const formats::InputFile& content);

// Changes the stacks as --focus and the like ask for, and leaves out samples. Verdicts are about whole stacks, so judge
// before. load() does this by itself, load_all_events() does not.
base::Status edit_stacks(const InputOptions& options, Input& input);

// Whether the command's own output already holds the verdict's line.
enum class VerdictShown { kNo, kYes };

// Prints the verdict on standard error, as -q and -v ask, and returns the exit status --strict gives. A status that
// --strict changed is always explained.
int conclude(const InputOptions& options, const analysis::Verdict& verdict, VerdictShown shown = VerdictShown::kNo);

}  // namespace tephra::cli
