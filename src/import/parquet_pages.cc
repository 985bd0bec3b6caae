#include "import/parquet_pages.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "import/parquet_numbers.h"
#include "import/thrift_reader.h"

namespace idleburn {
namespace {

using Type = ThriftReader::Type;

constexpr std::int64_t kMostPageBytes = std::int64_t{256} << 20;
// Headers hold the least and the greatest value, which may be long texts.
constexpr std::size_t kUsualHeaderBytes = 512;
constexpr std::size_t kMostHeaderBytes = 16 << 20;

bool IsInteger(Type type) { return type == Type::kI16 || type == Type::kI32 || type == Type::kI64; }

}  // namespace

struct ParquetPages::Header {
  enum Kind : std::int8_t { kDataPage = 0, kIndexPage = 1, kDictionaryPage = 2, kDataPage2 = 3 };

  std::int64_t kind = -1;
  std::int64_t unpacked = -1;  // bytes
  std::int64_t packed = -1;
  std::int64_t values = -1;
  std::int64_t encoding = -1;
  std::int64_t level_encoding = parquet_encoding::kRuns;
  std::int64_t level_bytes = 0;       // of kDataPage2
  std::int64_t repetition_bytes = 0;  // of kDataPage2
  bool values_packed = true;          // of kDataPage2
};

namespace {

// Fields of the three kinds of page; other fields are skipped.
template <typename Header>
void ReadKind(ThriftReader& in, std::int64_t kind, Header& header) {
  in.Struct([&](std::int64_t id, Type type) {
    std::int64_t* number = id == 1 ? &header.values : nullptr;
    if (kind == Header::kDataPage2) {
      if (id == 7 && (type == Type::kTrue || type == Type::kFalse)) header.values_packed = type == Type::kTrue;
      if (id == 4) number = &header.encoding;
      if (id == 5) number = &header.level_bytes;
      if (id == 6) number = &header.repetition_bytes;
    } else {
      if (id == 2) number = &header.encoding;
      if (id == 3 && kind == Header::kDataPage) number = &header.level_encoding;
    }
    if (number == nullptr || !IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

template <typename Header>
void ReadFields(ThriftReader& in, Header& header) {
  in.Struct([&](std::int64_t id, Type type) {
    if (type == Type::kStruct && (id == 5 || id == 7 || id == 8)) {
      ReadKind(in, id == 5 ? Header::kDataPage : id == 7 ? Header::kDictionaryPage : Header::kDataPage2, header);
      return true;
    }
    std::int64_t* const number = id == 1   ? &header.kind
                                 : id == 2 ? &header.unpacked
                                 : id == 3 ? &header.packed
                                           : nullptr;
    if (number == nullptr || !IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

// Leaves the slack behind `size` readable.
template <typename Pointer>
void Reserve(Pointer& buffer, std::size_t& room, std::size_t size) {
  if (buffer == nullptr || room < size) {
    buffer.reset(new char[size + kParquetSlack]);
    room = size;
  }
  std::memset(buffer.get() + size, 0, kParquetSlack);
}

}  // namespace

tl::unexpected<Error> ParquetPages::Broken(const char* what) const {
  return Fail("the Parquet page at byte " + std::to_string(page_at_) + " " + what + "; copy or write the file again");
}

Result<ParquetPages::Header> ParquetPages::ReadHeader() {
  std::array<char, kUsualHeaderBytes> usual;
  std::vector<char> larger;
  std::span<char> bytes = usual;
  while (true) {
    const std::uint64_t rest = part_.end - at_;
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), rest)));
    if (!file_.ReadAt(at_, bytes)) return Broken("cannot be read");
    ThriftReader in(bytes);
    Header header;
    ReadFields(in, header);
    if (in.ok()) {
      at_ += in.position();
      return header;
    }
    if (bytes.size() == rest || bytes.size() >= kMostHeaderBytes) return Broken("has a damaged header");
    larger.resize(bytes.size() * 8);
    bytes = larger;
  }
}

Result<ParquetPage> ParquetPages::Next() {
  while (true) {
    page_at_ = at_;
    if (at_ >= part_.end) return Broken("is missing");
    const Header header = TRY(ReadHeader());
    if (header.packed < 0 || header.unpacked < 0 || static_cast<std::uint64_t>(header.packed) > part_.end - at_) {
      return Broken("says a wrong size");
    }
    if (header.unpacked > kMostPageBytes || header.packed > kMostPageBytes) return Broken("is beyond 256 MiB");
    const std::uint64_t next = at_ + static_cast<std::uint64_t>(header.packed);
    if (header.kind == Header::kIndexPage) {
      at_ = next;
      continue;
    }
    if (header.kind < Header::kDataPage || header.kind > Header::kDataPage2) return Broken("is of an unknown kind");
    if (header.values < 0 || header.values > INT32_MAX) return Broken("says a wrong number of values");
    Result<ParquetPage> page = Unpack(header);
    at_ = next;
    return page;
  }
}

Result<ParquetPage> ParquetPages::Unpack(const Header& header) {
  const auto packed = static_cast<std::size_t>(header.packed);
  const auto unpacked = static_cast<std::size_t>(header.unpacked);
  std::size_t levels = 0;  // which are never packed
  bool pack = part_.packing != BlockPacking::kNone;
  if (header.kind == Header::kDataPage2) {
    const auto most = static_cast<std::int64_t>(std::min(packed, unpacked));
    if (header.repetition_bytes != 0 || header.level_bytes < 0 || header.level_bytes > most) {
      return Broken("says wrong sizes of levels");
    }
    levels = static_cast<std::size_t>(header.level_bytes);
    pack = pack && header.values_packed;
  }
  if (!pack && packed != unpacked) return Broken("says a wrong size");
  if (keep_) unpacked_ = nullptr;
  Reserve(unpacked_, unpacked_room_, unpacked);
  const std::span<char> out(unpacked_.get(), unpacked);
  if (!pack) {
    if (!file_.ReadAt(at_, out)) return Broken("cannot be read");
  } else {
    Reserve(packed_, packed_room_, packed);
    const std::span<char> in(packed_.get(), packed);
    if (!file_.ReadAt(at_, in)) return Broken("cannot be read");
    std::copy_n(in.begin(), levels, out.begin());
    // Without values some writers leave no block either.
    const bool nothing = packed == levels && unpacked == levels;
    if (!nothing && !unpacker_.Unpack(part_.packing, in.subspan(levels), out.subspan(levels))) {
      return Broken("does not unpack");
    }
  }
  ParquetPage page;
  page.dictionary = header.kind == Header::kDictionaryPage;
  page.count = static_cast<std::size_t>(header.values);
  page.encoding = static_cast<int>(header.encoding);
  page.runs = header.level_encoding == parquet_encoding::kRuns;
  page.levels_counted = header.kind == Header::kDataPage;
  page.levels = out.first(levels);
  page.values = out.subspan(levels);
  return page;
}

}  // namespace idleburn
