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

// Reading JSON in two ways: JsonParser holds a whole document in memory (up to kMaxJsonBytes), JsonStream reads
// tokens in constant memory. Answers of cloud APIs and schedulers are limited in size, and their members are needed
// in any order, so they are parsed whole. Prometheus answers may be as large as the dump they come from, so they are
// streamed.

// The size limit of formats that are read as one JSON document, because the whole text is in memory.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;

// A value inside a parsed document. Cheap to copy. Valid until its parser parses again.
class JsonNode {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  [[nodiscard]] Kind kind() const;
  // The characters of a string, the shortest exact decimal form of a number, "true" or "false" of a bool; else "".
  [[nodiscard]] std::string Text() const;
  // A member by name. Absent if there is none or this is not an object.
  [[nodiscard]] std::optional<JsonNode> Get(std::string_view key) const;
  // Text() of a member, or "" without one.
  [[nodiscard]] std::string GetText(std::string_view key) const;
  // The elements of an array. Empty if this is not an array.
  [[nodiscard]] std::vector<JsonNode> Items() const;
  // Items() of a member.
  [[nodiscard]] std::vector<JsonNode> GetItems(std::string_view key) const;
  // The members of an object in order. Empty if this is not an object.
  [[nodiscard]] std::vector<std::pair<std::string, JsonNode>> Members() const;
  // The same without copies, for documents of millions of values. The characters of a string are valid as the node is.
  void ForEachItem(const std::function<void(const JsonNode&)>& take) const;
  void ForEachMember(const std::function<void(std::string_view key, const JsonNode&)>& take) const;
  [[nodiscard]] std::string_view Characters() const;

 private:
  // Parses documents of a known size with simdjson.
  friend class JsonParser;
  template <typename Element>
  static JsonNode Wrap(const Element& element);
  template <typename Element>
  [[nodiscard]] Element Unwrap() const;

  alignas(8) std::array<std::byte, 16> element_{};  // simdjson's own handle, kept out of this header
};

// Parses whole documents. A node of the last document is invalid once Parse is called again.
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  // Returns the root of one document.
  Result<JsonNode> Parse(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Parses each document of a file in order. Text that is not JSON is counted, also between documents. At most
// kMaxJsonBytes.
Result<void> ForEachJsonDocument(ByteSource& in, DataQuality& quality,
                                 const std::function<void(const JsonNode&)>& take);

// A document within a text that holds several.
struct JsonPart {
  std::string_view before;    // the text before the document, trimmed
  std::string_view document;  // empty at the end
};
// Removes the next object or array from the front of `rest`. A document without its end is returned as far as it goes.
JsonPart TakeJsonDocument(std::string_view& rest);

// Reads JSON token by token, so that memory does not grow with the document. Several documents may follow one another.
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

  // Reads the next token. An input that ends inside a document, or is not JSON, is an error that names the line.
  Result<void> Next(Token* token);
  // Reads the members of the object, or the items of the array, that the last token opened. `take` gets a member's key
  // and the first token of its value, or the first token of an item. It must read the value to its end.
  Result<void> Members(const std::function<Result<void>(const std::string& key, Token value)>& take);
  Result<void> Items(const std::function<Result<void>(Token item)>& take);
  // Skips the rest of the value that `first` begins.
  Result<void> Skip(Token first);
  // The text of the last token. Valid until the next call.
  [[nodiscard]] std::string_view text() const { return text_; }
  // The line of the last token, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] const std::string& name() const { return in_.name(); }
  // The place of the last token: "file:line".
  [[nodiscard]] std::string Where() const { return name() + ":" + std::to_string(line_); }

 private:
  // What may come next in the innermost container. kFirst: a value or key, or the end of the container.
  enum class Wants : std::uint8_t { kValue, kFirst, kComma };  // kFirst: a value or key, or the end of its container

  // Bytes: shows the next one, the next that is no blank, or takes one. Peeking is false at the end of the input.
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
  std::vector<bool> objects_;  // per open container: whether it is an object
  Wants wants_ = Wants::kValue;
  bool after_key_ = false;
};

}  // namespace idleburn
