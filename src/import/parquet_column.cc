#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "import/parquet_coding.h"
#include "import/parquet_reader.h"
#include "text/strings.h"

namespace idleburn {

// From pages to values. ParquetPages reads and decompresses pages on demand. A column reader decodes the levels (which
// rows have a value) and the values of a page, in one of three encodings: plain, dictionary, delta.
//
// Values are decoded densely and then spread to their rows from the last one backwards, so that no second buffer is
// needed.

namespace {

// A larger page is refused, so that a damaged size does not fill the memory.
constexpr std::int64_t kMostPageBytes = std::int64_t{256} << 20;
// Headers contain the smallest and the largest value, which may be long texts.
constexpr std::size_t kUsualHeaderBytes = 512;
constexpr std::size_t kMostHeaderBytes = 16 << 20;

}  // namespace

// A page header. -1: not in the file.
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

// Reads the fields of the three kinds of pages. Other fields are skipped.
template <typename Header>
void ReadKind(ThriftReader& in, std::int64_t kind, Header& header) {
  in.Struct([&](std::int64_t id, ThriftType type) {
    std::int64_t* number = id == 1 ? &header.values : nullptr;
    // Numbers of the fields in parquet.thrift. Version 2 puts the sizes of its levels into the header.
    if (kind == Header::kDataPage2) {
      if (id == 7 && (type == ThriftType::kTrue || type == ThriftType::kFalse))
        header.values_packed = type == ThriftType::kTrue;
      if (id == 4) number = &header.encoding;
      if (id == 5) number = &header.level_bytes;
      if (id == 6) number = &header.repetition_bytes;
    } else {
      if (id == 2) number = &header.encoding;
      if (id == 3 && kind == Header::kDataPage) number = &header.level_encoding;
    }
    if (number == nullptr || !ThriftReader::IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

// Reads the header: the fields of every page, and the struct of its kind.
template <typename Header>
void ReadFields(ThriftReader& in, Header& header) {
  in.Struct([&](std::int64_t id, ThriftType type) {
    if (type == ThriftType::kStruct && (id == 5 || id == 7 || id == 8)) {
      ReadKind(in, id == 5 ? Header::kDataPage : id == 7 ? Header::kDictionaryPage : Header::kDataPage2, header);
      return true;
    }
    std::int64_t* const number = id == 1   ? &header.kind
                                 : id == 2 ? &header.unpacked
                                 : id == 3 ? &header.packed
                                           : nullptr;
    if (number == nullptr || !ThriftReader::IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

// Makes room for `size` bytes with readable slack behind them.
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

// The length of a header is unknown, so reading starts with a usual length and retries with more.
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

// Checks the sizes of a page before it is read.
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

// Reads the body of a page and decompresses it. In version 2 of data pages, levels are never compressed.
Result<ParquetPage> ParquetPages::Unpack(const Header& header) {
  const auto packed = static_cast<std::size_t>(header.packed);
  const auto unpacked = static_cast<std::size_t>(header.unpacked);
  std::size_t levels = 0;  // bytes of levels, which are never compressed
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
  // Texts of earlier chunks may still point into the last page.
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
    // Some writers omit the compressed block if there are no values.
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

namespace {

// Values beyond the range of microseconds become the nearest limit.
std::int64_t MillisToMicros(std::int64_t millis) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (millis > kMost / 1000) return kMost;
  return millis < -kMost / 1000 ? -kMost : millis * 1000;
}

// Converts a stored value to what it means, per kind of value. Integers of 8 and 16 bits are stored in 32, and only
// their low bits count.
template <ParquetValue kValue>
auto Converted(std::int32_t stored) {
  if constexpr (kValue == ParquetValue::kInt8) return std::int64_t{static_cast<std::int8_t>(stored)};
  if constexpr (kValue == ParquetValue::kInt16) return std::int64_t{static_cast<std::int16_t>(stored)};
  if constexpr (kValue == ParquetValue::kInt32) return std::int64_t{stored};
  if constexpr (kValue == ParquetValue::kUint8) return std::int64_t{static_cast<std::uint8_t>(stored)};
  if constexpr (kValue == ParquetValue::kUint16) return std::int64_t{static_cast<std::uint16_t>(stored)};
  if constexpr (kValue == ParquetValue::kUint32) return std::int64_t{static_cast<std::uint32_t>(stored)};
}
template <ParquetValue kValue>
std::int64_t Converted(std::int64_t stored) {
  if constexpr (kValue == ParquetValue::kMillis) return MillisToMicros(stored);
  if constexpr (kValue == ParquetValue::kNanosUtc) return stored / 1000;
  return stored;
}
template <ParquetValue kValue>
double Converted(float stored) {
  return stored;
}
template <ParquetValue kValue>
double Converted(double stored) {
  return stored;
}

// A dictionary of converted values, and the indices of a page into it.
template <typename Target>
class Dictionary {
 public:
  void Set(std::vector<Target> values) { values_ = std::make_shared<const std::vector<Target>>(std::move(values)); }
  [[nodiscard]] const std::shared_ptr<const std::vector<Target>>& values() const { return values_; }
  // The first byte is the width of the indices.
  bool Start(std::span<const char> bytes) {
    indices_ = RunReader();
    if (bytes.empty()) return true;  // valid for a page without values
    const auto width = static_cast<std::uint8_t>(bytes.front());
    if (width > 32) return false;
    indices_ = RunReader(bytes.subspan(1), width, static_cast<std::uint32_t>(values_->size()));
    return true;
  }
  bool Decode(std::size_t count, Target* out) {
    const Target* const values = values_->data();
    return Decode(count, out, [values](std::uint32_t code) { return values[code]; });
  }
  bool DecodeCodes(std::size_t count, std::uint32_t* out) {
    return Decode(count, out, [](std::uint32_t code) { return code; });
  }

 private:
  template <typename Out, typename Look>
  bool Decode(std::size_t count, Out* out, Look look) {
    while (count > 0) {
      const RunReader::Piece piece = indices_.Next(count);
      if (piece.count == 0) return false;
      if (piece.values == nullptr) {
        std::fill_n(out, piece.count, look(piece.repeated));
      } else {
        std::transform(piece.values, piece.values + piece.count, out, look);
      }
      out += piece.count;
      count -= piece.count;
    }
    return true;
  }

  std::shared_ptr<const std::vector<Target>> values_ = std::make_shared<const std::vector<Target>>();
  RunReader indices_;
};

// Moves values to the rows that have one, from the last backwards: the values are dense at the front of the same
// array, so no value is overwritten before it moved. Rows without a value get an empty one.
template <typename Target>
void SpreadRows(std::size_t at, std::size_t present, std::size_t end, const std::uint64_t* validity, Target* data) {
  std::size_t from = at + present;
  for (std::size_t row = end; row-- > at;) {
    const bool valid = (validity[row / 64] >> (row % 64) & 1) != 0;
    data[row] = valid ? data[--from] : Target{};
  }
}

// Uninitialized room for a value per row.
template <typename Target>
std::unique_ptr<std::byte[]> NewData(std::size_t rows) {
  return std::unique_ptr<std::byte[]>(new std::byte[rows * sizeof(Target)]);
}

template <typename Target>
Target* CellData(ParquetCells& cells) {
  return reinterpret_cast<Target*>(cells.data.get());
}

// Where values of the rows from `at` on go. Earlier rows that have codes get values too.
template <typename Target>
Target* DataFrom(std::size_t at, ParquetCells& cells) {
  if (cells.data == nullptr) cells.data = NewData<Target>(cells.rows);
  Target* const data = CellData<Target>(cells);
  if (cells.codes != nullptr) {
    const auto* const values = static_cast<const Target*>(cells.dictionary.get());
    // If the dictionary is empty, no row has a value.
    for (std::size_t row = 0; row < at; ++row) data[row] = cells.entries > 0 ? values[cells.codes[row]] : Target{};
    cells.codes = nullptr;
    cells.dictionary = nullptr;
  }
  return data + at;
}

// The encoding of a page's values.
enum class Form : std::uint8_t { kPlain, kDictionary, kDelta };

// Whether the values of a page are indices into the dictionary.
bool IsDictionary(int encoding) {
  return encoding == parquet_encoding::kPlainDictionary || encoding == parquet_encoding::kDictionary;
}

// Reads numbers and timestamps: `Stored` is the type in the file, kValue what it means.
template <typename Stored, ParquetValue kValue>
class NumberReader final : public ParquetColumnReader {
 public:
  using Target = decltype(Converted<kValue>(Stored{}));

  NumberReader(const ParquetColumn& column, const SeekableFile& file, BlockUnpacker& unpacker, bool coded)
      : ParquetColumnReader(column, file, unpacker), coded_(coded) {}

 private:
  // Converts the dictionary once, instead of every row that refers to it.
  bool TakeDictionary(const ParquetPage& page) override {
    plain_ = page.values;
    if (page.count > plain_.size() / sizeof(Stored)) return false;
    std::vector<Target> values(page.count);
    DecodePlain(page.count, values.data());
    dictionary_.Set(std::move(values));
    return true;
  }

  // Chooses the decoder of a page. Only integers may be stored as differences.
  bool StartValues(const ParquetPage& page, std::span<const char> values) override {
    form_ = IsDictionary(page.encoding)                 ? Form::kDictionary
            : page.encoding == parquet_encoding::kPlain ? Form::kPlain
                                                        : Form::kDelta;
    if (form_ == Form::kDictionary) return dictionary_.Start(values);
    plain_ = values;
    if (form_ == Form::kPlain) return true;
    if (!std::is_integral_v<Stored> || page.encoding != parquet_encoding::kDeltaPacked) return false;
    delta_ = DeltaReader(values);
    return true;
  }

  bool Decode(std::size_t count, std::size_t at, ParquetCells& cells) override {
    // Codes first; values as soon as one page of the chunk has them.
    if (form_ == Form::kDictionary && coded_ && HoldCodes(at, cells)) {
      return dictionary_.DecodeCodes(count, cells.codes.get() + at);
    }
    Target* const out = DataFrom<Target>(at, cells);
    if (form_ == Form::kDictionary) return dictionary_.Decode(count, out);
    if (form_ == Form::kDelta) return DecodeDelta(count, out);
    if (count > plain_.size() / sizeof(Stored)) return false;
    DecodePlain(count, out);
    return true;
  }

  // Decodes values that lie one after another. The caller has checked that there are enough.
  void DecodePlain(std::size_t count, Target* out) {
    const char* const in = plain_.data();
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = Converted<kValue>(LoadLittle<Stored>(in + i * sizeof(Stored)));
    }
    plain_ = plain_.subspan(count * sizeof(Stored));
  }

  // Whether the chunk's rows can stay codes of the current dictionary. False if the rows before `at` have values
  // outside it, as when a page falls back to plain values or the chunk has two dictionaries.
  bool HoldCodes(std::size_t at, ParquetCells& cells) {
    if (at == 0) {
      cells.codes.reset(new std::uint32_t[cells.rows]);
      cells.dictionary = std::shared_ptr<const void>(dictionary_.values(), dictionary_.values()->data());
      cells.entries = dictionary_.values()->size();
    }
    return cells.codes != nullptr && cells.dictionary.get() == dictionary_.values()->data();
  }

  // Decodes differences. False for reals, which are never stored so.
  bool DecodeDelta(std::size_t count, Target* out) {
    if constexpr (std::is_integral_v<Stored>) {
      deltas_.resize(count);
      if (!delta_.Read(deltas_)) return false;
      for (std::size_t i = 0; i < count; ++i) out[i] = Converted<kValue>(static_cast<Stored>(deltas_[i]));
      return true;
    }
    return false;
  }

  void Spread(std::size_t at, std::size_t present, std::size_t end, ParquetCells& cells) override {
    if (cells.codes != nullptr) {
      SpreadRows(at, present, end, cells.validity.get(), cells.codes.get());
    } else {
      SpreadRows(at, present, end, cells.validity.get(), CellData<Target>(cells));
    }
  }

  bool coded_;
  Form form_ = Form::kPlain;
  std::span<const char> plain_;
  Dictionary<Target> dictionary_;
  DeltaReader delta_;
  std::vector<std::uint64_t> deltas_;
};

// Reads texts. Cells point into the bytes of their page or of the dictionary, which the chunk keeps alive.
class TextReader final : public ParquetColumnReader {
 public:
  TextReader(const ParquetColumn& column, const SeekableFile& file, BlockUnpacker& unpacker)
      : ParquetColumnReader(column, file, unpacker) {}

 private:
  bool TakeDictionary(const ParquetPage& page) override {
    plain_ = page.values;
    if (page.count > plain_.size() / sizeof(std::uint32_t)) return false;
    std::vector<TextCell> values(page.count);
    if (!DecodePlain(page.count, values.data())) return false;
    dictionary_.Set(std::move(values));
    dictionary_bytes_ = pages().kept();
    return true;
  }

  bool StartValues(const ParquetPage& page, std::span<const char> values) override {
    plain_ = values;
    by_dictionary_ = IsDictionary(page.encoding);
    return by_dictionary_ ? dictionary_.Start(values) : page.encoding == parquet_encoding::kPlain;
  }

  bool Decode(std::size_t count, std::size_t at, ParquetCells& cells) override {
    TextCell* const out = DataFrom<TextCell>(at, cells);
    // The chunk shares the bytes that its cells point at.
    const std::shared_ptr<const char[]> bytes = by_dictionary_ ? dictionary_bytes_ : pages().kept();
    if (cells.texts.empty() || cells.texts.back() != bytes) cells.texts.push_back(bytes);
    return by_dictionary_ ? dictionary_.Decode(count, out) : DecodePlain(count, out);
  }

  // Decodes texts that lie one after another, each behind its length in four bytes.
  bool DecodePlain(std::size_t count, TextCell* out) {
    for (std::size_t i = 0; i < count; ++i) {
      if (plain_.size() < sizeof(std::uint32_t)) return false;
      const auto size = LoadLittle<std::uint32_t>(plain_.data());
      plain_ = plain_.subspan(sizeof size);
      if (size > plain_.size()) return false;
      out[i] = TextCell({plain_.data(), size});
      plain_ = plain_.subspan(size);
    }
    return true;
  }

  void Spread(std::size_t at, std::size_t present, std::size_t end, ParquetCells& cells) override {
    SpreadRows(at, present, end, cells.validity.get(), CellData<TextCell>(cells));
  }

  bool by_dictionary_ = false;
  std::span<const char> plain_;
  Dictionary<TextCell> dictionary_;
  std::shared_ptr<const char[]> dictionary_bytes_;
};

}  // namespace

ParquetColumnReader::ParquetColumnReader(const ParquetColumn& column, const SeekableFile& file, BlockUnpacker& unpacker)
    : name_(Printable(column.table.name)),
      optional_(column.optional),
      pages_(file, unpacker, column.value == ParquetValue::kText) {}

void ParquetColumnReader::Start(const ParquetPart& part) {
  pages_.Start(part);
  page_left_ = 0;
}

// Finds the levels and the values of a page. A column whose rows all have a value has no levels.
bool ParquetColumnReader::StartPage(const ParquetPage& page) {
  std::span<const char> levels = page.levels;
  std::span<const char> values = page.values;
  // Version 1 of data pages puts the levels in front of the values, behind their size in four bytes.
  if (optional_ && page.levels_counted) {
    if (!page.runs || values.size() < sizeof(std::uint32_t)) return false;
    const auto size = LoadLittle<std::uint32_t>(values.data());
    values = values.subspan(sizeof size);
    if (size > values.size()) return false;
    levels = values.first(size);
    values = values.subspan(size);
  }
  // A level is 1 where the row has a value: flat columns have no others.
  levels_ = RunReader(levels, 1, 2);
  page_left_ = page.count;
  return StartValues(page, values);
}

// Reads pages until rows are to come. A dictionary page brings none.
Result<void> ParquetColumnReader::NextPage() {
  const Result<ParquetPage> page = pages_.Next();
  if (!page) return Fail("column '" + name_ + "': " + page.error().message);
  if (page->dictionary ? TakeDictionary(*page) : StartPage(*page)) return {};
  return Fail("column '" + name_ +
              "': a Parquet page is damaged, or its encoding differs from the one the file declares");
}

// Counts the values among the next `count` rows and marks rows without a value. The validity bits are only made once
// a row lacks a value, since most columns have one in every row.
bool ParquetColumnReader::ReadLevels(std::size_t count, std::size_t at, std::size_t rows, std::size_t& present,
                                     ParquetCells& cells) {
  present = count;
  if (!optional_) return true;
  while (count > 0) {
    const RunReader::Piece piece = levels_.Next(count);
    if (piece.count == 0) return false;
    // A run of ones needs nothing done.
    if (piece.values != nullptr || piece.repeated == 0) {
      if (cells.validity == nullptr) {
        const std::size_t words = (rows + 63) / 64;
        cells.validity.reset(new std::uint64_t[words]);
        std::fill_n(cells.validity.get(), words, ~std::uint64_t{0});
      }
      for (std::size_t i = 0; i < piece.count; ++i) {
        const std::uint32_t level = piece.values != nullptr ? piece.values[i] : 0;
        const std::size_t row = at + i;
        cells.validity[row / 64] &= ~(std::uint64_t{level ^ 1} << row % 64);
        present -= level ^ 1;
      }
    }
    at += piece.count;
    count -= piece.count;
  }
  return true;
}

// Fills the rows page by page: levels first, which say how many values to decode, then the values, then their places.
Result<void> ParquetColumnReader::Read(std::size_t rows, ParquetCells& cells) {
  cells.rows = rows;
  std::size_t at = 0;
  while (at < rows) {
    if (page_left_ == 0) {
      TRY(NextPage());
      continue;
    }
    const std::size_t count = std::min(rows - at, page_left_);
    std::size_t present = 0;
    if (!ReadLevels(count, at, rows, present, cells) || !Decode(present, at, cells)) {
      return Fail("column '" + name_ + "': a Parquet page is damaged; copy or write the file again");
    }
    if (present < count) Spread(at, present, at + count, cells);
    at += count;
    page_left_ -= count;
  }
  return {};
}

std::unique_ptr<ParquetColumnReader> ParquetColumnReader::Make(const ParquetColumn& column, const SeekableFile& file,
                                                               BlockUnpacker& unpacker, bool coded) {
  using V = ParquetValue;
  const auto number = [&]<typename Stored, V kValue>() -> std::unique_ptr<ParquetColumnReader> {
    return std::make_unique<NumberReader<Stored, kValue>>(column, file, unpacker, coded);
  };
  switch (column.value) {
    case V::kInt8:
      return number.template operator()<std::int32_t, V::kInt8>();
    case V::kInt16:
      return number.template operator()<std::int32_t, V::kInt16>();
    case V::kInt32:
      return number.template operator()<std::int32_t, V::kInt32>();
    case V::kUint8:
      return number.template operator()<std::int32_t, V::kUint8>();
    case V::kUint16:
      return number.template operator()<std::int32_t, V::kUint16>();
    case V::kUint32:
      return number.template operator()<std::int32_t, V::kUint32>();
    case V::kInt64:
    case V::kUint64:
    case V::kMicros:
    case V::kNanos:
      return number.template operator()<std::int64_t, V::kInt64>();
    case V::kMillis:
      return number.template operator()<std::int64_t, V::kMillis>();
    case V::kNanosUtc:
      return number.template operator()<std::int64_t, V::kNanosUtc>();
    case V::kFloat:
      return number.template operator()<float, V::kFloat>();
    case V::kDouble:
      return number.template operator()<double, V::kDouble>();
    case V::kText:
      return std::make_unique<TextReader>(column, file, unpacker);
    case V::kOther:
      return nullptr;
  }
  return nullptr;
}

}  // namespace idleburn
