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
  std::string label(std::string_view text) const { return word("label", text); }
  // What a mapping is called, by its kind: names that the kernel gives to its own memory and to memory without a file
  // stay, whatever else looks like them does not.
  std::string path(std::string_view path, CodeKind kind) const;
  BuildId build_id(const BuildId& id) const;
  uint64_t number(uint64_t value) const;
  // Users name events after their code, as those of probes; what is not known to be Linux's own name is replaced.
  std::string event(std::string_view name) const;
  // A stand-in for a name in code of a kind, "[unknown] FILE+0xOFFSET".
  std::string stand_in(std::string_view text, CodeKind kind) const;
  // A name that a format without addresses brought along, which may end in a mark of its kind: "_[k]".
  std::string imported(std::string_view name) const;

 private:
  std::string word(std::string_view kind, std::string_view name) const;
  std::string key_;
};

// The profile without names: functions, files, source files, threads, build ids, events of probes, keys and texts of
// labels, host, command line and comments. Names of the kernel and its threads stay, as do numbers of processes, lines
// and addresses. Functions that were told apart before still are, and equal ones are still equal. Mappings, frames,
// stacks and threads keep their numbers.
Profile redact(const Profile& profile, const Redaction& redaction);

}  // namespace tephra::model
