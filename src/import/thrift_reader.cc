#include "import/thrift_reader.h"

#include "telemetry/byte_coding.h"

namespace idleburn {

std::uint8_t ThriftReader::Byte() {
  if (at_ >= bytes_.size()) {
    Break();
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::Varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = Byte();
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return ok_ ? value : 0;
  }
  Break();
  return 0;
}

std::int64_t ThriftReader::Integer() { return static_cast<std::int64_t>(Unzigzag(Varint())); }

std::string_view ThriftReader::Binary() {
  const std::uint64_t size = Varint();
  if (size > bytes_.size() - at_) {
    Break();
    return {};
  }
  const std::string_view text(bytes_.data() + at_, size);
  at_ += size;
  return text;
}

ThriftReader::Type ThriftReader::NextField(std::int64_t& id) {
  const std::uint8_t header = Byte();
  const int type = header & 0xF;
  if (!ok_ || header == 0) return Type::kStop;
  id = header >> 4 != 0 ? id + (header >> 4) : Integer();
  if (type == 0 || type > static_cast<int>(Type::kStruct)) Break();
  return ok_ ? static_cast<Type>(type) : Type::kStop;
}

std::uint64_t ThriftReader::ListHeader(Type& type) {
  const std::uint8_t header = Byte();
  const std::uint64_t size = header >> 4 == 0xF ? Varint() : header >> 4;
  type = static_cast<Type>(header & 0xF);
  // An element takes a byte at least.
  if (type == Type::kStop || type > Type::kStruct || size > bytes_.size() - at_) Break();
  return ok_ ? size : 0;
}

void ThriftReader::SkipBytes(std::uint64_t count) {
  if (count > bytes_.size() - at_) return Break();
  at_ += count;
}

void ThriftReader::SkipMap(int depth) {
  const std::uint64_t size = Varint();
  if (size == 0) return;
  const std::uint8_t types = Byte();
  if (size > bytes_.size() - at_) return Break();
  for (std::uint64_t i = 0; i < size && ok_; ++i) {
    for (const int type : {types >> 4, types & 0xF}) {
      if (type == 0 || type > static_cast<int>(Type::kStruct)) return Break();
      // Inside containers a truth value takes a byte.
      const auto inner = static_cast<Type>(type);
      Skip(inner == Type::kTrue || inner == Type::kFalse ? Type::kByte : inner, depth + 1);
    }
  }
}

void ThriftReader::Skip(Type type, int depth) {
  if (depth > kMostDepth) return Break();
  switch (type) {
    case Type::kStop:
    case Type::kTrue:
    case Type::kFalse:
      return;
    case Type::kByte:
      return SkipBytes(1);
    case Type::kI16:
    case Type::kI32:
    case Type::kI64:
      Varint();
      return;
    case Type::kDouble:
      return SkipBytes(8);
    case Type::kBinary:
      Binary();
      return;
    case Type::kList:
    case Type::kSet: {
      Type element = Type::kStop;
      std::uint64_t left = ListHeader(element);
      if (element == Type::kTrue || element == Type::kFalse) element = Type::kByte;
      for (; left > 0 && ok_; --left) Skip(element, depth + 1);
      return;
    }
    case Type::kMap:
      return SkipMap(depth);
    case Type::kStruct: {
      std::int64_t id = 0;
      for (Type field = NextField(id); field != Type::kStop; field = NextField(id)) Skip(field, depth + 1);
      return;
    }
  }
}

}  // namespace idleburn
