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

}  // namespace idleburn
