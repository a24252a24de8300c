#pragma once

#include <string>
#include <string_view>

#include "model/profile.h"

namespace tephra::model {

// Replaces names by keyed hashes: who does not know the key can neither read a name nor try whether a guess is right,
// and with the same key the same name always gets the same hash, so that redacted profiles can be compared.
class Redaction {
 public:
  // The key may be any bytes; guessable ones protect nothing.
  explicit Redaction(std::string key) : key_(std::move(key)) {}

  // A name of a kind: what has the same name as a function and as a file has two hashes. An empty name stays empty.
  std::string function(std::string_view name) const { return word("fn", name); }
  std::string source(std::string_view path) const { return word("src", path); }
  std::string comm(std::string_view name) const { return word("comm", name); }
  // Names in brackets, and memory without a file, are the kernel's own and stay.
  std::string path(std::string_view path) const;
  BuildId build_id(const BuildId& id) const;
  uint64_t number(uint64_t value) const;
  // Events of probes that users set are named after their code.
  std::string event(std::string_view name) const;
  // A stand-in for a name, "[unknown] FILE+0xOFFSET".
  std::string stand_in(std::string_view text) const;

 private:
  std::string word(std::string_view kind, std::string_view name) const;
  std::string key_;
};

// The profile without names: functions, files, source files, threads, build ids, events of probes, host and command
// line. Names of the kernel and its threads stay, as do numbers of processes, lines and addresses. Functions that were
// told apart before still are, and equal ones are still equal.
Profile redact(const Profile& profile, const Redaction& redaction);

}  // namespace tephra::model
