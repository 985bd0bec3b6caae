#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace idleburn {

// The most values a pickle may hold. One takes about 64 bytes, so a document stays below 1 GiB.
inline constexpr std::size_t kMostPickledValues = 12'000'000;
// The most opened and unclosed brackets. A memory snapshot opens about ten.
inline constexpr std::size_t kDeepestPickle = 1000;

// Plain data out of a Python pickle: a table of values that refer to each other by number. Texts are views of the
// pickle's own bytes. A value may be shared, and a list may even contain itself, so a reader must bound its own walk.
class PickledData {
 public:
  using Id = std::uint32_t;
  enum class Kind : std::uint8_t { kNone, kBool, kInt, kLongInt, kFloat, kText, kBytes, kList, kTuple, kDict };

  [[nodiscard]] Id root() const { return root_; }
  // How many values the pickle made.
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] Kind KindOf(Id id) const { return values_[id].kind; }
  [[nodiscard]] bool IsSequence(Id id) const { return KindOf(id) == Kind::kList || KindOf(id) == Kind::kTuple; }
  // Absent if the value is of another kind, or for an integer beyond 64 bits (kLongInt).
  [[nodiscard]] std::optional<std::int64_t> Int(Id id) const;
  [[nodiscard]] std::optional<bool> Bool(Id id) const;
  [[nodiscard]] std::optional<double> Float(Id id) const;
  // The bytes of a text or of bytes, as they are in the pickle.
  [[nodiscard]] std::optional<std::string_view> Text(Id id) const;
  // The values of a list or tuple. Of a dict: key, value, key, value. Empty for other kinds.
  [[nodiscard]] std::span<const Id> Items(Id id) const;
  // The value of a text key of a dict. The last one wins, as in Python.
  [[nodiscard]] std::optional<Id> Find(Id dict, std::string_view key) const;

 private:
  friend class PickleReader;
  struct Value {
    Kind kind = Kind::kNone;
    std::uint32_t length = 0;   // of a text
    std::uint64_t payload = 0;  // an integer, the bits of a double, the place of a text, the number of a container
  };
  std::string bytes_;
  std::vector<Value> values_;
  std::vector<std::vector<Id>> containers_;
  Id root_ = 0;
};

// True if the bytes begin like a pickle of protocol 2 to 5.
bool SniffPickle(std::string_view head);

// Reads a pickle of protocol 2 to 5 that holds plain data only: dict, list, tuple, text, bytes, int, float, bool, None.
// Nothing is imported or executed: an opcode that could do so is an error that names it and its byte, and so is every
// other opcode that plain data does not need. What is behind the pickle's end is left alone, as Python does. The error
// names no file, because the caller knows it.
Result<PickledData> ReadPickle(std::string bytes, std::size_t most_values = kMostPickledValues);

}  // namespace idleburn
