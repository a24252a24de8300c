#include "cli/redaction_key.h"

#include <sys/random.h>

#include <cerrno>

#include "base/file.h"

namespace tephra::cli {

void declare_redact(CLI::App& parser, std::string& value) {
  // A flag takes a value only behind its "=", so that a recording's name may follow it.
  parser
      .add_flag(
          "--redact", value,
          "replace names by hashes; with the same KEY-FILE the same names get the same\nhashes, without one nobody can "
          "tell")
      ->type_name("[=KEY-FILE]");
}

void refuse_redact(CLI::App& parser) {
  // A check of a hidden option would not be told the option's name.
  const CLI::callback_t refuse = [](const CLI::results_t&) -> bool {
    throw CLI::ValidationError(
        "--redact",
        "a recording holds names in many places and is never redacted; share what 'tephra fold --redact' or "
        "'tephra flame --redact' makes of it instead.");
  };
  parser.add_option("--redact", refuse)->expected(0, 1)->group("");
}

base::Result<std::string> redaction_key(const std::string& path) {
  constexpr size_t kShortest = 16;  // bytes; what is shorter can be guessed
  constexpr size_t kLongest = 1 << 20;
  if (path == "true") {
    std::string key(32, '\0');
    if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
      return base::system_error("cannot make a key", "", errno);
    }
    return key;
  }
  TEPHRA_TRY(std::string key, base::read_small_file(path, kLongest));
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.size() < kShortest) {
    return base::usage_error("the key is too short", path, "names could be guessed from it",
                             "Make one of 16 bytes or more: head -c 32 /dev/urandom > KEY-FILE");
  }
  return key;
}

}  // namespace tephra::cli
