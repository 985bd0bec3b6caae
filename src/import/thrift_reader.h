#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace idleburn {

// Reads the compact protocol of Apache Thrift, in which Parquet keeps its footer and the headers of its pages
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). Bounded by its bytes: after the
// first fault every answer is zero or empty, and ok() is false.
class ThriftReader {
 public:
  enum class Type : std::uint8_t {
    kStop,
    kTrue,
    kFalse,
    kByte,
    kI16,
    kI32,
    kI64,
    kDouble,
    kBinary,
    kList,
    kSet,
    kMap,
    kStruct,
  };

  explicit ThriftReader(std::span<const char> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  // Bytes read so far.
  [[nodiscard]] std::size_t position() const { return at_; }

  // Calls `on_field(id, type)` for each field of a struct; true from it says that it read the field, with one of the
  // functions below, else the field is skipped.
  template <typename OnField>
  void Struct(OnField on_field) {
    std::int64_t id = 0;
    for (Type type = NextField(id); type != Type::kStop; type = NextField(id)) {
      if (!on_field(id, type)) Skip(type, 0);
    }
  }
  // Calls `on_element(type)` for each element of a list, which must read it or Skip it.
  template <typename OnElement>
  void List(OnElement on_element) {
    Type type = Type::kStop;
    for (std::uint64_t left = ListHeader(type); left > 0 && ok_; --left) on_element(type);
  }
  // Any of the integers, which all look alike but for a byte's.
  std::int64_t Integer();
  std::string_view Binary();
  void Skip(Type type) { Skip(type, 0); }

 private:
  static constexpr int kMostDepth = 32;

  Type NextField(std::int64_t& id);
  std::uint64_t ListHeader(Type& type);
  std::uint64_t Varint();
  std::uint8_t Byte();
  void Skip(Type type, int depth);
  void SkipBytes(std::uint64_t count);
  void SkipMap(int depth);
  void Break() {
    ok_ = false;
    at_ = bytes_.size();
  }

  std::span<const char> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace idleburn
