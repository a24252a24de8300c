#include "base/result.h"

#include <fmt/format.h>

#include <system_error>

namespace tephra::base {
namespace {

Error make(Error::Kind kind, std::string what, std::string on, std::string why, std::string fix) {
  return Error{std::move(what), std::move(on), std::move(why), std::move(fix), kind};
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += static_cast<char>(c);
    }
  }
  return out;
}

}  // namespace

std::string Error::message() const {
  std::string text = printable(what);
  if (!on.empty()) text += fmt::format(" '{}'", printable(on));
  if (!why.empty()) text += ": " + printable(why);
  if (!fix.empty()) {
    if (!text.empty() && text.back() != '.') text += '.';
    text += ' ' + printable(fix);
  }
  return text;
}

Error failed(std::string what, std::string on, std::string why, std::string fix) {
  return make(Error::Kind::kFailed, std::move(what), std::move(on), std::move(why), std::move(fix));
}

Error usage_error(std::string what, std::string on, std::string why, std::string fix) {
  return make(Error::Kind::kUsage, std::move(what), std::move(on), std::move(why), std::move(fix));
}

Error system_error(std::string what, std::string on, int error_number, std::string fix) {
  return failed(std::move(what), std::move(on), std::generic_category().message(error_number), std::move(fix));
}

}  // namespace tephra::base
