#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace tephra::base {

// What went wrong, in the four parts a user needs. Errors are values: they travel up through Result and are printed
// once, by cli/. Every part but `what` may be empty.
struct Error {
  enum class Kind {
    kFailed,  // the job could not be done: exit status 1
    kUsage,   // the command line was wrong: exit status 2
  };

  std::string what;  // what failed: "cannot open the recording"
  std::string on;    // on what: "perf.data"
  std::string why;   // why: "No such file or directory"
  std::string fix;   // what to do next: "Run `tephra record` first."
  Kind kind = Kind::kFailed;

  // One line: `what 'on': why. fix`. Control characters in any part are shown as escapes, so that a hostile name cannot
  // forge a second line.
  std::string message() const;
};

Error failed(std::string what, std::string on = {}, std::string why = {}, std::string fix = {});
Error usage_error(std::string what, std::string on = {}, std::string why = {}, std::string fix = {});
// `why` is the text of the errno value given.
Error system_error(std::string what, std::string on, int error_number, std::string fix = {});

// A T, or the Error that kept us from having one.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by intent
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

// Done, or the Error that kept us from it. Default-constructed: done.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace tephra::base

#define TEPHRA_CONCAT_INNER(a, b) a##b
#define TEPHRA_CONCAT(a, b) TEPHRA_CONCAT_INNER(a, b)

// TEPHRA_TRY(auto file, open(path)): declares `file`, or returns the error to the caller.
#define TEPHRA_TRY(declaration, expression)                                          \
  auto TEPHRA_CONCAT(result_, __LINE__) = (expression);                              \
  if (!TEPHRA_CONCAT(result_, __LINE__))                                             \
    return std::move(TEPHRA_CONCAT(result_, __LINE__)).error();                      \
  declaration = std::move(TEPHRA_CONCAT(result_, __LINE__)).value()

// TEPHRA_CHECK_OK(write(bytes)): for Status; returns the error to the caller.
#define TEPHRA_CHECK_OK(expression)                                                                    \
  do {                                                                                                 \
    if (auto tephra_status = (expression); !tephra_status) return std::move(tephra_status).error();    \
  } while (false)
