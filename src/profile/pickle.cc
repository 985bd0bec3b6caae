#include "profile/pickle.h"

#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace idleburn {
namespace {

constexpr char kProto = '\x80';
// Python's pickletools documents the opcodes. These are refused: the first group could import or run something.
struct RefusedOpcode {
  unsigned char code;
  std::string_view name;
  bool runs;
};
constexpr auto kRefusedOpcodes = std::to_array<RefusedOpcode>({
    {'c', "GLOBAL", true},       {0x93, "STACK_GLOBAL", true}, {'R', "REDUCE", true},
    {'b', "BUILD", true},        {'i', "INST", true},          {'o', "OBJ", true},
    {0x81, "NEWOBJ", true},      {0x92, "NEWOBJ_EX", true},    {0x82, "EXT1", true},
    {0x83, "EXT2", true},        {0x84, "EXT4", true},         {'P', "PERSID", true},
    {'Q', "BINPERSID", true},    {0x97, "NEXT_BUFFER", false}, {0x98, "READONLY_BUFFER", false},
    {0x8f, "EMPTY_SET", false},  {0x90, "ADDITEMS", false},    {0x91, "FROZENSET", false},
    {0x96, "BYTEARRAY8", false}, {'I', "INT", false},          {'L', "LONG", false},
    {'F', "FLOAT", false},       {'S', "STRING", false},       {'V', "UNICODE", false},
    {'p', "PUT", false},         {'g', "GET", false},
});

std::string AtByte(std::size_t at) { return " at byte " + std::to_string(at); }

tl::unexpected<Error> RefuseOpcode(unsigned char code, std::size_t at) {
  for (const RefusedOpcode& row : kRefusedOpcodes) {
    if (row.code != code) continue;
    return Fail("opcode " + std::string(row.name) + AtByte(at) +
                (row.runs ? " could import or run code, so the pickle is refused; nothing was run"
                          : " is not plain data of protocol 2 to 5, so the pickle is refused"));
  }
  return Fail("unknown opcode " + std::to_string(code) + AtByte(at) + "; the pickle is damaged");
}

}  // namespace

std::optional<std::int64_t> PickledData::Int(Id id) const {
  if (KindOf(id) != Kind::kInt) return std::nullopt;
  return static_cast<std::int64_t>(values_[id].payload);
}

std::optional<bool> PickledData::Bool(Id id) const {
  if (KindOf(id) != Kind::kBool) return std::nullopt;
  return values_[id].payload != 0;
}

std::optional<double> PickledData::Float(Id id) const {
  if (KindOf(id) != Kind::kFloat) return std::nullopt;
  return std::bit_cast<double>(values_[id].payload);
}

std::optional<std::string_view> PickledData::Text(Id id) const {
  if (KindOf(id) != Kind::kText && KindOf(id) != Kind::kBytes) return std::nullopt;
  return std::string_view(bytes_).substr(values_[id].payload, values_[id].length);
}

std::span<const PickledData::Id> PickledData::Items(Id id) const {
  if (!IsSequence(id) && KindOf(id) != Kind::kDict) return {};
  return containers_[values_[id].payload];
}

std::optional<PickledData::Id> PickledData::Find(Id dict, std::string_view key) const {
  if (KindOf(dict) != Kind::kDict) return std::nullopt;
  const std::span<const Id> items = Items(dict);
  for (std::size_t at = items.size(); at >= 2; at -= 2) {
    if (KindOf(items[at - 2]) == Kind::kText && Text(items[at - 2]) == key) return items[at - 1];
  }
  return std::nullopt;
}

bool SniffPickle(std::string_view head) {
  return head.size() >= 2 && head[0] == kProto && head[1] >= 2 && head[1] <= 5;
}

// The machine of a pickle: a stack of values, marks in it, and a memo. It loops and never recurses.
class PickleReader {
 public:
  PickleReader(std::string bytes, std::size_t most) : most_(most) { data_.bytes_ = std::move(bytes); }

  Result<PickledData> Read() {
    if (!SniffPickle(data_.bytes_)) return Fail("is no pickle of protocol 2 to 5");
    while (!stopped_) {
      if (at_ >= data_.bytes_.size()) return Cut();
      opcode_at_ = at_;
      const auto code = static_cast<unsigned char>(data_.bytes_[at_++]);
      TRY(Step(code));
      if (data_.values_.size() > most_ || memo_.size() > most_ || stack_.size() > most_) {
        return Fail("has more than " + std::to_string(most_) +
                    " values; record fewer events: torch.cuda.memory._record_memory_history(max_entries=100000)");
      }
    }
    return std::move(data_);
  }

 private:
  using Kind = PickledData::Kind;
  using Id = PickledData::Id;

  static constexpr Id kNoValue = std::numeric_limits<Id>::max();

  [[nodiscard]] tl::unexpected<Error> Cut() const {
    return Fail("ends in the middle of the pickle, after " + std::to_string(data_.bytes_.size()) +
                " bytes; copy the file again");
  }
  [[nodiscard]] tl::unexpected<Error> Damaged() const {
    return Fail("is a damaged pickle: the opcode" + AtByte(opcode_at_) + " has no values to work on");
  }

  // An unsigned number of `size` bytes, little-endian.
  Result<std::uint64_t> Number(std::size_t size) {
    if (data_.bytes_.size() - at_ < size) return Cut();
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) {
      number |= static_cast<std::uint64_t>(static_cast<unsigned char>(data_.bytes_[at_ + i])) << (8 * i);
    }
    at_ += size;
    return number;
  }

  Id Add(Kind kind, std::uint64_t payload = 0, std::uint32_t length = 0) {
    data_.values_.push_back({kind, length, payload});
    return static_cast<Id>(data_.values_.size() - 1);
  }
  Result<void> Push(Kind kind, std::uint64_t payload = 0) {
    stack_.push_back(Add(kind, payload));
    return {};
  }
  Result<void> PushText(Kind kind, std::size_t size_bytes) {
    const std::uint64_t length = TRY(Number(size_bytes));
    if (length > data_.bytes_.size() - at_) return Cut();
    if (length > std::numeric_limits<std::uint32_t>::max()) return Damaged();
    stack_.push_back(Add(kind, at_, static_cast<std::uint32_t>(length)));
    at_ += length;
    return {};
  }
  // Two's complement of so many bytes, little-endian. What 64 bits do not hold is kept without its value.
  Result<void> PushLong(std::size_t size_bytes) {
    const std::uint64_t size = TRY(Number(size_bytes));
    if (size > data_.bytes_.size() - at_) return Cut();
    if (size > 8) {
      at_ += size;
      return Push(Kind::kLongInt);
    }
    std::uint64_t number = TRY(Number(size));
    if (size > 0 && size < 8 && (number >> (8 * size - 1)) != 0) number |= ~std::uint64_t{0} << (8 * size);
    return Push(Kind::kInt, number);
  }
  Result<void> PushFloat() {
    const std::uint64_t little = TRY(Number(8));
    return Push(Kind::kFloat, __builtin_bswap64(little));  // the only number that a pickle has big-endian
  }

  // How many values lie above the last mark.
  [[nodiscard]] std::size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  [[nodiscard]] bool Has(std::size_t values) const { return stack_.size() - Floor() >= values; }

  // Makes a container of the last `count` values.
  Result<void> Collect(Kind kind, std::size_t count) {
    if (!Has(count) || (kind == Kind::kDict && count % 2 != 0)) return Damaged();
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    data_.containers_.emplace_back(first, stack_.end());
    stack_.erase(first, stack_.end());
    return Push(kind, data_.containers_.size() - 1);
  }
  Result<void> CollectToMark(Kind kind) {
    const std::size_t count = TRY(PopMark());
    return Collect(kind, count);
  }
  // Takes the last mark away; how many values lay above it.
  Result<std::size_t> PopMark() {
    if (marks_.empty()) return Damaged();
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return count;
  }
  // Moves the last `count` values into the list or dict below them.
  Result<void> Extend(Kind kind, std::size_t count) {
    if (!Has(count + 1) || (kind == Kind::kDict && count % 2 != 0)) return Damaged();
    const Id target = stack_[stack_.size() - count - 1];
    if (data_.values_[target].kind != kind) return Damaged();
    std::vector<Id>& items = data_.containers_[data_.values_[target].payload];
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    items.insert(items.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
    return {};
  }
  Result<void> ExtendToMark(Kind kind) {
    const std::size_t count = TRY(PopMark());
    return Extend(kind, count);
  }

  Result<void> Put(std::uint64_t index) {
    if (!Has(1)) return Damaged();
    if (index >= most_) return Damaged();
    if (index >= memo_.size()) memo_.resize(index + 1, kNoValue);
    if (memo_[index] == kNoValue) ++memoized_;
    memo_[index] = stack_.back();
    return {};
  }
  Result<void> Get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kNoValue) return Damaged();
    stack_.push_back(memo_[index]);
    return {};
  }
  Result<void> Pop() {
    if (!Has(1)) {
      if (marks_.empty()) return Damaged();
      marks_.pop_back();  // as Python: a pop on a mark removes the mark
      return {};
    }
    stack_.pop_back();
    return {};
  }
  Result<void> PopToMark() {
    const std::size_t count = TRY(PopMark());
    stack_.resize(stack_.size() - count);
    return {};
  }
  Result<void> Mark() {
    if (marks_.size() == kDeepestPickle) {
      return Fail("nests more than " + std::to_string(kDeepestPickle) + " levels" + AtByte(opcode_at_) +
                  ", which no memory snapshot does");
    }
    marks_.push_back(stack_.size());
    return {};
  }
  Result<void> Duplicate() {
    if (!Has(1)) return Damaged();
    stack_.push_back(Id{stack_.back()});
    return {};
  }
  Result<void> Protocol() {
    const std::uint64_t version = TRY(Number(1));
    if (version < 2 || version > 5) return Fail("has protocol " + std::to_string(version) + "; idleburn reads 2 to 5");
    return {};
  }
  Result<void> Frame() {
    const std::uint64_t length = TRY(Number(8));
    if (length > data_.bytes_.size() - at_) return Cut();
    return {};
  }
  Result<void> Stop() {
    if (!marks_.empty() || stack_.empty()) return Damaged();
    data_.root_ = stack_.back();
    stopped_ = true;
    return {};
  }
  Result<void> SmallInt(std::size_t size) {
    const std::uint64_t number = TRY(Number(size));
    const bool is_signed = size == 4;
    return Push(Kind::kInt, is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                            static_cast<std::int32_t>(static_cast<std::uint32_t>(number))))
                                      : number);
  }
  Result<void> PutNumbered(std::size_t size) {
    const std::uint64_t index = TRY(Number(size));
    return Put(index);
  }
  Result<void> GetNumbered(std::size_t size) {
    const std::uint64_t index = TRY(Number(size));
    return Get(index);
  }

  // Values and texts; everything else is Structure's.
  Result<void> Step(unsigned char code) {
    switch (code) {
      case 0x80:
        return Protocol();
      case 0x95:
        return Frame();
      case '.':
        return Stop();
      case 'N':
        return Push(Kind::kNone);
      case 0x88:
        return Push(Kind::kBool, 1);
      case 0x89:
        return Push(Kind::kBool, 0);
      case 'J':
        return SmallInt(4);
      case 'K':
        return SmallInt(1);
      case 'M':
        return SmallInt(2);
      case 0x8a:
        return PushLong(1);
      case 0x8b:
        return PushLong(4);
      case 'G':
        return PushFloat();
      case 0x8c:
        return PushText(Kind::kText, 1);
      case 'X':
        return PushText(Kind::kText, 4);
      case 0x8d:
        return PushText(Kind::kText, 8);
      case 'U':
        return PushText(Kind::kText, 1);
      case 'T':
        return PushText(Kind::kText, 4);
      case 'C':
        return PushText(Kind::kBytes, 1);
      case 'B':
        return PushText(Kind::kBytes, 4);
      case 0x8e:
        return PushText(Kind::kBytes, 8);
      default:
        return Structure(code);
    }
  }
  Result<void> Structure(unsigned char code) {
    switch (code) {
      case '(':
        return Mark();
      case '0':
        return Pop();
      case '1':
        return PopToMark();
      case '2':
        return Duplicate();
      case ']':
        return Collect(Kind::kList, 0);
      case '}':
        return Collect(Kind::kDict, 0);
      case ')':
        return Collect(Kind::kTuple, 0);
      case 0x85:
        return Collect(Kind::kTuple, 1);
      case 0x86:
        return Collect(Kind::kTuple, 2);
      case 0x87:
        return Collect(Kind::kTuple, 3);
      case 't':
        return CollectToMark(Kind::kTuple);
      case 'l':
        return CollectToMark(Kind::kList);
      case 'd':
        return CollectToMark(Kind::kDict);
      case 'a':
        return Extend(Kind::kList, 1);
      case 'e':
        return ExtendToMark(Kind::kList);
      case 's':
        return Extend(Kind::kDict, 2);
      case 'u':
        return ExtendToMark(Kind::kDict);
      case 'q':
        return PutNumbered(1);
      case 'r':
        return PutNumbered(4);
      case 0x94:
        return Put(memoized_);
      case 'h':
        return GetNumbered(1);
      case 'j':
        return GetNumbered(4);
      default:
        return RefuseOpcode(code, opcode_at_);
    }
  }

  PickledData data_;
  std::size_t most_;
  std::size_t at_ = 0;
  std::size_t opcode_at_ = 0;
  bool stopped_ = false;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Id> memo_;
  std::size_t memoized_ = 0;  // a pickle may number its memo with gaps
};

Result<PickledData> ReadPickle(std::string bytes, std::size_t most_values) {
  return PickleReader(std::move(bytes), most_values).Read();
}

}  // namespace idleburn
