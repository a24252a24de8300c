#include "base/pattern.h"

#include <re2/re2.h>

namespace tephra::base {

Result<Pattern> Pattern::compile(std::string_view option, std::string_view expression) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(re2::StringPiece(expression.data(), expression.size()), options);
  if (!compiled->ok()) {
    return usage_error(std::string(option) + " is no regular expression", std::string(expression), compiled->error(),
                       "A backslash before a special character makes it an ordinary one: operator\\(\\).");
  }
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

std::string Pattern::replaced(std::string_view text, std::string_view replacement) const {
  std::string result(text);
  RE2::GlobalReplace(&result, *compiled_, re2::StringPiece(replacement.data(), replacement.size()));
  return result;
}

bool Pattern::can_replace_by(std::string_view replacement) const {
  std::string error;
  return compiled_->CheckRewriteString(re2::StringPiece(replacement.data(), replacement.size()), &error);
}

const std::string& Pattern::expression() const { return compiled_->pattern(); }

}  // namespace tephra::base
