#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace idleburn {

// What can go wrong in operation. `message` is one line a person can act on: what, where, what to do. kUsage is for
// what the user typed, kFailed for everything else.
struct Error {
  enum class Kind { kFailed, kUsage };  // exit code 1, exit code 2

  std::string message;
  Kind kind = Kind::kFailed;
};

template <typename T>
using Result = tl::expected<T, Error>;

// Make an error for a function to return: Fail for operation, FailUsage for what the user typed.
inline tl::unexpected<Error> Fail(std::string message) { return tl::unexpected<Error>(Error{std::move(message)}); }
inline tl::unexpected<Error> FailUsage(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message), Error::Kind::kUsage});
}

// The value of a good result, for TRY. Nothing for Result<void>.
template <typename T>
T Taken(Result<T>&& result) {
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace idleburn

// The value of an expression of type Result<...>, as in `const Book book = TRY(Open(path));`. If the expression has
// an error, the enclosing function returns it. Use it as a whole statement or initializer, never as part of an
// expression: other temporaries of that expression would not be destroyed everywhere. Exceptions were not used,
// because a call would not show that it can fail. A declaration and a check were not used, because they take two
// lines more at every call.
#define TRY(...)                                                                              \
  __extension__({                                                                             \
    auto try_result = (__VA_ARGS__);                                                          \
    if (!try_result) return tl::unexpected<::idleburn::Error>(std::move(try_result).error()); \
    ::idleburn::Taken(std::move(try_result));                                                 \
  })

// Aborts on a programmer's mistake, in every build, and says where. What can go wrong in operation returns a Result
// instead. A macro, because it prints the condition and its place.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
