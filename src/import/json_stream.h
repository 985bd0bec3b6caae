#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace idleburn {

// Reads JSON token by token, so that memory does not grow with a document. Several documents may follow one another.
class JsonStream {
 public:
  enum class Token : std::uint8_t {
    kObject,  // {
    kObjectEnd,
    kArray,  // [
    kArrayEnd,
    kKey,     // of a member; its value is the next token
    kString,  // both with their escapes resolved: text()
    kNumber,  // as written: text()
    kWord,    // true, false or null: text()
    kEnd,     // of the input, after whole documents
  };
  static constexpr std::size_t kMaxText = 1 << 20;  // a longer key, string or number is an error
  static constexpr std::size_t kMaxDepth = 64;

  explicit JsonStream(ByteSource& in) : in_(in) {}

  // The next token. An input that ends inside a document, or is no JSON, is an error with its line.
  Result<void> Next(Token* token);
  // Of the object, or array, that the last token opened: calls `take` with each member's key and the first token of its
  // value, or with the first token of each item. `take` reads the value to its end.
  Result<void> Members(const std::function<Result<void>(const std::string& key, Token value)>& take);
  Result<void> Items(const std::function<Result<void>(Token item)>& take);
  // Passes over the rest of the value that `first` begins.
  Result<void> Skip(Token first);
  // Of the last token; valid until the next call.
  [[nodiscard]] std::string_view text() const { return text_; }
  // Of the last token, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] const std::string& name() const { return in_.name(); }
  // "file:line" of the last token.
  [[nodiscard]] std::string Where() const { return name() + ":" + std::to_string(line_); }

 private:
  enum class Wants : std::uint8_t { kValue, kFirst, kComma };  // kFirst: a value or key, or the end of its container

  Result<bool> Peek(char* c);  // false at the end of the input
  Result<bool> PeekSolid(char* c);
  Result<void> Take(char* c);
  [[nodiscard]] tl::unexpected<Error> Bad(std::string_view what) const;
  [[nodiscard]] tl::unexpected<Error> Cut() const;
  Result<void> Open(bool object);
  void Close();
  Result<void> ReadKey();
  Result<void> ReadScalar(char first, Token* token);
  Result<void> ReadString();
  Result<void> ReadEscape();
  Result<void> ReadHex(char32_t* value);

  ByteSource& in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t line_ = 1;
  std::string text_;
  std::vector<bool> objects_;  // open containers: whether each is an object
  Wants wants_ = Wants::kValue;
  bool after_key_ = false;
};

}  // namespace idleburn
