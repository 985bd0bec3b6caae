#pragma once

#include <string>
#include <tl/expected.hpp>
#include <type_traits>
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

// What a good result holds: its value, or nothing of Result<void>.
template <typename T>
T Taken(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace idleburn

// The value of an expression of type Result<...>, as in `const Book book = TRY(Open(path));`. Returns an error from the
// enclosing function. A whole statement or initialiser, never a part of one: what else the expression made would not be
// unmade everywhere. Exceptions would leave unsaid which calls can fail; a declaration and a check take two lines more.
#define TRY(...)                                                                              \
  __extension__({                                                                             \
    auto try_result = (__VA_ARGS__);                                                          \
    if (!try_result) return tl::unexpected<::idleburn::Error>(std::move(try_result).error()); \
    ::idleburn::Taken(std::move(try_result));                                                 \
  })
