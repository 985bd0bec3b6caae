#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "telemetry/data_quality.h"

namespace idleburn {

// The most a format that is one JSON document is read with: the whole text is held in memory.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;

// A value inside a parsed document, cheap to copy. Valid until its parser parses again.
class JsonNode {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  [[nodiscard]] Kind kind() const;
  // Of a string its characters, of a number its shortest exact decimal form, of a bool "true" or "false"; else "".
  [[nodiscard]] std::string Text() const;
  // The member of that name; absent if there is none or this is no object.
  [[nodiscard]] std::optional<JsonNode> Get(std::string_view key) const;
  // Text() of a member; "" without one.
  [[nodiscard]] std::string TextOf(std::string_view key) const;
  // Of an array; empty if this is none.
  [[nodiscard]] std::vector<JsonNode> Items() const;
  // Items() of a member.
  [[nodiscard]] std::vector<JsonNode> ItemsOf(std::string_view key) const;
  // Of an object, in their order; empty if this is none.
  [[nodiscard]] std::vector<std::pair<std::string, JsonNode>> Members() const;

 private:
  friend class JsonParser;
  template <typename Element>
  static JsonNode Wrap(const Element& element);
  template <typename Element>
  [[nodiscard]] Element Unwrap() const;

  alignas(8) std::array<std::byte, 16> element_{};  // simdjson's own handle, kept out of this header
};

class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  // The root of one document.
  Result<JsonNode> Parse(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Each document of a file that holds several, in order; what is no JSON, around documents too, is counted. At most
// kMaxJsonBytes.
Result<void> ForEachJsonDocument(ByteSource& in, DataQuality& quality,
                                 const std::function<void(const JsonNode&)>& take);

struct JsonPart {
  std::string_view before;    // what stands before the document, without blanks at its ends
  std::string_view document;  // empty at the end
};
// Takes the next object or array off the front of `rest`. A document without its end is returned as far as it goes.
JsonPart TakeJsonDocument(std::string_view& rest);

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
