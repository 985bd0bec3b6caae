#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace idleburn {

// What can go wrong in operation. `message` is one line a person can act on: what, where, what to do.
struct Error {
  enum class Kind { kFailed, kUsage };  // exit code 1, exit code 2

  std::string message;
  Kind kind = Kind::kFailed;
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> Fail(std::string message) { return tl::unexpected<Error>(Error{std::move(message)}); }
inline tl::unexpected<Error> FailUsage(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message), Error::Kind::kUsage});
}

}  // namespace idleburn

// Evaluates an expression of type Result<...>; returns its error from the enclosing function.
#define TRY(expression)                                                        \
  do {                                                                         \
    if (auto try_result = (expression); !try_result) {                         \
      return tl::unexpected<::idleburn::Error>(std::move(try_result).error()); \
    }                                                                          \
  } while (false)
