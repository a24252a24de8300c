#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace tephra::base {

// A regular expression in RE2's syntax, which is pprof's. Matching takes time linear in the text, whatever the
// expression; texts may hold any bytes. Copies share the compiled expression; threads may match at the same time.
class Pattern {
 public:
  // `option` names where the expression comes from, for the error.
  static Result<Pattern> compile(std::string_view option, std::string_view expression);

  // Whether the expression matches somewhere in the text.
  bool matches(std::string_view text) const;
  // Replaces every match; `replacement` may refer to groups as \1.
  std::string replaced(std::string_view text, std::string_view replacement) const;
  // Whether `replacement` refers only to groups that the expression has.
  bool can_replace_by(std::string_view replacement) const;
  const std::string& expression() const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace tephra::base
