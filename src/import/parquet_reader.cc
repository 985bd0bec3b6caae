#include "import/parquet_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>
#include <utility>

#include "import/parquet_coding.h"
#include "text/strings.h"

namespace idleburn {

// The footer is Thrift; only the fields that matter are read, and the rest is skipped. It decides whether this reader
// covers a file. If a file has anything unknown, DuckDB reads it, so nothing here guesses.

namespace {

// Larger files are left to DuckDB, so that a footer takes at most some tens of megabytes of memory.
constexpr std::uint64_t kMostFooterBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostColumns = 1 << 14;
constexpr std::size_t kMostParts = 1 << 20;

// A few bytes can encode any number of equal rows. A file that claims more rows than this is left to DuckDB.
constexpr std::uint64_t kAnyFileRows = 1 << 22;
constexpr std::uint64_t kMostRowsPerByte = 1000;

// Numbers of the format's definition (parquet.thrift). -1: not in the file.
enum PhysicalType : std::int8_t { kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6 };
enum LogicalType : std::int8_t { kString = 1, kTimestamp = 8, kInteger = 10 };
enum ConvertedType : std::int8_t { kUtf8 = 0, kTimestampMillis = 9, kTimestampMicros = 10 };

// An element of the schema as the footer has it: the root, or a column.
struct SchemaElement {
  std::int64_t physical = -1;
  std::int64_t repetition = -1;
  std::int64_t children = 0;
  std::int64_t converted = -1;
  std::int64_t logical = -1;
  std::int64_t unit = -1;  // of a timestamp: 1 ms, 2 us, 3 ns
  bool utc = false;
  std::string name;
};

// Reads the logical type of a timestamp: whether it is UTC, and its unit. The unit is a union, and the id of its
// field tells which.
void ReadTimestamp(ThriftReader& in, SchemaElement& element) {
  in.Struct([&](std::int64_t id, ThriftType type) {
    if (id == 1) element.utc = type == ThriftType::kTrue;
    if (id != 2 || type != ThriftType::kStruct)
      return id == 1 && (type == ThriftType::kTrue || type == ThriftType::kFalse);
    in.Struct([&](std::int64_t unit, ThriftType) {
      element.unit = unit;
      return false;
    });
    return true;
  });
}

// Reads one element of the schema.
SchemaElement ReadElement(ThriftReader& in) {
  SchemaElement element;
  in.Struct([&](std::int64_t id, ThriftType type) {
    if (id == 4 && type == ThriftType::kBinary) {
      element.name = in.Binary();
      return true;
    }
    if (id == 10 && type == ThriftType::kStruct) {
      in.Struct([&](std::int64_t logical, ThriftType inner) {
        element.logical = logical;
        if (logical != kTimestamp || inner != ThriftType::kStruct) return false;
        ReadTimestamp(in, element);
        return true;
      });
      return true;
    }
    std::int64_t* const number = id == 1   ? &element.physical
                                 : id == 3 ? &element.repetition
                                 : id == 5 ? &element.children
                                 : id == 6 ? &element.converted
                                           : nullptr;
    if (number == nullptr || !ThriftReader::IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
  return element;
}

// Derives the kind of value from physical, converted and logical type. Files have the older converted types, the newer
// logical ones, or both.
ParquetValue FindValueKind(const SchemaElement& e) {
  using V = ParquetValue;
  if (e.logical == kTimestamp) {
    if (e.physical != kInt64) return V::kOther;
    if (e.unit == 3) return e.utc ? V::kNanosUtc : V::kNanos;
    return e.unit == 1 ? V::kMillis : e.unit == 2 ? V::kMicros : V::kOther;
  }
  // Other logical types (decimals, dates, times, UUIDs) have meanings that this reader does not know.
  if (e.logical != -1 && e.logical != kString && e.logical != kInteger) return V::kOther;
  // Without any annotation the stored type is the meaning. Bytes without one are not text.
  if (e.converted == -1 && e.logical == -1) {
    switch (e.physical) {
      case kInt32:
        return V::kInt32;
      case kInt64:
        return V::kInt64;
      case kFloat:
        return V::kFloat;
      case kDouble:
        return V::kDouble;
      default:
        return V::kOther;
    }
  }
  // Which value a converted type means, with the physical type that it must have. 11 to 18 are the integers of 8 to
  // 64 bits, unsigned first.
  struct Row {
    std::int8_t converted;
    PhysicalType physical;
    ParquetValue value;
  };
  constexpr std::array<Row, 11> kRows = {{{kUtf8, kByteArray, V::kText},
                                          {kTimestampMillis, kInt64, V::kMillis},
                                          {kTimestampMicros, kInt64, V::kMicros},
                                          {11, kInt32, V::kUint8},
                                          {12, kInt32, V::kUint16},
                                          {13, kInt32, V::kUint32},
                                          {14, kInt64, V::kUint64},
                                          {15, kInt32, V::kInt8},
                                          {16, kInt32, V::kInt16},
                                          {17, kInt32, V::kInt32},
                                          {18, kInt64, V::kInt64}}};
  for (const Row& row : kRows) {
    if (row.converted == e.converted && row.physical == e.physical) return row.value;
  }
  return V::kOther;
}

// DuckDB returns milliseconds, and everything with a zone, as microseconds.
TableType TableTypeOf(ParquetValue value, bool utc) {
  switch (value) {
    case ParquetValue::kFloat:
    case ParquetValue::kDouble:
      return TableType::kReal;
    case ParquetValue::kText:
      return TableType::kText;
    case ParquetValue::kMillis:
    case ParquetValue::kMicros:
      return utc ? TableType::kTimestampUtc : TableType::kTimestampMicros;
    case ParquetValue::kNanos:
      return TableType::kTimestampNanos;
    case ParquetValue::kNanosUtc:
      return TableType::kTimestampUtc;
    case ParquetValue::kOther:
      return TableType::kOther;
    default:
      return TableType::kInteger;
  }
}

// The columns below the root. Absent if there are nested or repeated ones, or names that differ only in case, because
// DuckDB does not tell those apart.
std::optional<std::vector<ParquetColumn>> FlatColumns(const std::vector<SchemaElement>& schema) {
  if (schema.size() < 2 || schema[0].children != static_cast<std::int64_t>(schema.size() - 1)) return std::nullopt;
  std::vector<ParquetColumn> columns;
  std::set<std::string> names;
  for (std::size_t i = 1; i < schema.size(); ++i) {
    const SchemaElement& e = schema[i];
    if (e.children != 0 || e.repetition < 0 || e.repetition > 1 || e.name.empty()) return std::nullopt;
    if (!names.insert(Lower(e.name)).second) return std::nullopt;
    const ParquetValue value = FindValueKind(e);
    columns.push_back({{e.name, TableTypeOf(value, e.utc)}, value, e.repetition == 1});
  }
  return columns;
}

// A column chunk as the footer describes it.
struct PartInfo {
  std::int64_t packing = -1;
  std::int64_t values = -1;
  std::int64_t bytes = -1;
  std::int64_t data = -1;
  std::int64_t dictionary = -1;
  bool elsewhere = false;  // in another file, or encrypted
  bool encodings = true;   // all are supported
};

// Whether this reader supports the encoding.
bool IsCovered(std::int64_t encoding) {
  constexpr std::array<int, 6> kCovered = {
      parquet_encoding::kPlain,      parquet_encoding::kPlainDictionary, parquet_encoding::kRuns,
      parquet_encoding::kDictionary, parquet_encoding::kBitPackedLevels, parquet_encoding::kDeltaPacked};
  return std::find(kCovered.begin(), kCovered.end(), encoding) != kCovered.end();
}

// Reads the metadata of a column chunk.
void ReadColumnMetaData(ThriftReader& in, PartInfo& part) {
  in.Struct([&](std::int64_t id, ThriftType type) {
    if (id == 2 && type == ThriftType::kList) {
      in.List([&](ThriftType element) {
        if (!ThriftReader::IsInteger(element)) return in.Skip(element);
        part.encodings = IsCovered(in.Integer()) && part.encodings;
      });
      return true;
    }
    std::int64_t* const number = id == 4    ? &part.packing
                                 : id == 5  ? &part.values
                                 : id == 7  ? &part.bytes
                                 : id == 9  ? &part.data
                                 : id == 11 ? &part.dictionary
                                            : nullptr;
    if (number == nullptr || !ThriftReader::IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

// The packing behind a codec's number in parquet.thrift. Absent if it is not supported.
std::optional<BlockPacking> FindPacking(std::int64_t codec) {
  switch (codec) {
    case 0:
      return BlockPacking::kNone;
    case 1:
      return BlockPacking::kSnappy;
    case 2:
      return BlockPacking::kGzip;
    case 6:
      return BlockPacking::kZstd;
    default:
      return std::nullopt;
  }
}

// Checks positions against the file before anything is read there. `data_end`: where the footer begins. A part that
// fails is not covered, which matters only if its column is selected.
ParquetPart CheckedPart(const PartInfo& info, std::uint64_t rows, std::uint64_t data_end) {
  ParquetPart part;
  const std::optional<BlockPacking> packing = FindPacking(info.packing);
  // The dictionary page stands before the data pages. Some writers leave its position 0 if there is none.
  const std::int64_t begin = info.dictionary > 0 ? std::min(info.dictionary, info.data) : info.data;
  const auto end = static_cast<std::int64_t>(data_end);
  if (!packing || begin < static_cast<std::int64_t>(kParquetMagic.size()) || begin > end || info.bytes < 0 ||
      info.bytes > end - begin) {
    return part;
  }
  part.begin = static_cast<std::uint64_t>(begin);
  part.end = static_cast<std::uint64_t>(begin + info.bytes);
  part.packing = *packing;
  part.covered = !info.elsewhere && info.encodings && info.values == static_cast<std::int64_t>(rows);
  return part;
}

// Reads a row group. Absent if it has another number of columns than the schema.
std::optional<ParquetGroup> ReadGroup(ThriftReader& in, std::size_t columns, std::uint64_t data_end) {
  std::int64_t rows = -1;
  std::vector<PartInfo> infos;
  in.Struct([&](std::int64_t id, ThriftType type) {
    if (id == 3 && ThriftReader::IsInteger(type)) {
      rows = in.Integer();
      return true;
    }
    if (id != 1 || type != ThriftType::kList) return false;
    in.List([&](ThriftType element) {
      if (element != ThriftType::kStruct || infos.size() > columns) return in.Skip(element);
      PartInfo& info = infos.emplace_back();
      in.Struct([&](std::int64_t field, ThriftType inner) {
        // file_path, and the two fields of encrypted columns.
        if (field == 1 || field == 8 || field == 9) info.elsewhere = true;
        if (field != 3 || inner != ThriftType::kStruct) return false;
        ReadColumnMetaData(in, info);
        return true;
      });
    });
    return true;
  });
  if (rows < 0 || infos.size() != columns) return std::nullopt;
  ParquetGroup group;
  group.rows = static_cast<std::uint64_t>(rows);
  for (const PartInfo& info : infos) group.parts.push_back(CheckedPart(info, group.rows, data_end));
  return group;
}

// Parses the bytes of a footer. The schema comes before the groups, which need its width.
std::optional<ParquetFooter> Parse(std::span<const char> bytes, std::uint64_t data_end) {
  ThriftReader in(bytes);
  ParquetFooter footer;
  std::vector<SchemaElement> schema;
  bool covered = true;
  in.Struct([&](std::int64_t id, ThriftType type) {
    // Field 8 names the algorithm of an encrypted file.
    covered = covered && id != 8;  // encryption
    if (id == 2 && type == ThriftType::kList) {
      in.List([&](ThriftType element) {
        if (element != ThriftType::kStruct || schema.size() > kMostColumns) return in.Skip(element);
        schema.push_back(ReadElement(in));
      });
      return true;
    }
    if (id != 4 || type != ThriftType::kList) return false;
    const std::size_t width = schema.empty() ? 0 : schema.size() - 1;
    in.List([&](ThriftType element) {
      covered = covered && element == ThriftType::kStruct && (footer.groups.size() + 1) * width <= kMostParts;
      if (!covered) return in.Skip(element);
      std::optional<ParquetGroup> group = ReadGroup(in, width, data_end);
      covered = group.has_value();
      if (covered) footer.groups.push_back(std::move(*group));
    });
    return true;
  });
  std::optional<std::vector<ParquetColumn>> columns = FlatColumns(schema);
  if (!in.ok() || !covered || !columns || columns->size() > kMostColumns) return std::nullopt;
  // A damaged footer may have its schema twice, or after its groups.
  const auto fits = [&](const ParquetGroup& group) { return group.parts.size() == columns->size(); };
  if (!std::all_of(footer.groups.begin(), footer.groups.end(), fits)) return std::nullopt;
  footer.columns = std::move(*columns);
  return footer;
}

// Whether the footer claims more rows than the file can reasonably hold.
bool ClaimsTooMuch(const ParquetFooter& footer, std::uint64_t file_bytes) {
  const std::uint64_t most = std::max(kAnyFileRows, file_bytes * kMostRowsPerByte);
  std::uint64_t rows = 0;
  for (const ParquetGroup& group : footer.groups) {
    if (group.rows > most - rows) return true;
    rows += group.rows;
  }
  return false;
}

}  // namespace

std::optional<ParquetFooter> ReadParquetFooter(const SeekableFile& file) {
  // A file is: magic, pages, footer, size of the footer in 4 bytes, magic.
  std::array<char, 8> tail{};
  if (file.size() < kParquetMagic.size() + tail.size() || !file.ReadAt(file.size() - tail.size(), tail))
    return std::nullopt;
  if (std::string_view(tail.data() + 4, kParquetMagic.size()) != kParquetMagic) return std::nullopt;
  const std::uint64_t size = LoadLittle<std::uint32_t>(tail.data());
  if (size > kMostFooterBytes || size > file.size() - tail.size() - kParquetMagic.size()) return std::nullopt;
  const std::uint64_t begin = file.size() - tail.size() - size;
  std::vector<char> bytes(size);
  if (!file.ReadAt(begin, bytes)) return std::nullopt;
  std::optional<ParquetFooter> footer = Parse(bytes, begin);
  if (footer && ClaimsTooMuch(*footer, file.size())) return std::nullopt;
  return footer;
}

namespace {

// Rows of a chunk, as many as in DuckDB's.
constexpr std::size_t kChunkRows = 2048;

// Replaces integers by their digits as text cells, for columns that name GPUs.
void ToTexts(std::size_t rows, bool is_unsigned, ParquetCells& cells) {
  constexpr std::size_t kMostDigits = 20;
  const std::shared_ptr<char[]> digits(new char[rows * kMostDigits]);
  std::unique_ptr<std::byte[]> data(new std::byte[rows * sizeof(TextCell)]);
  const auto* const values = reinterpret_cast<const std::uint64_t*>(cells.data.get());
  auto* const texts = reinterpret_cast<TextCell*>(data.get());
  char* at = digits.get();
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t value = values[i];
    const std::to_chars_result done = is_unsigned
                                          ? std::to_chars(at, at + kMostDigits, value)
                                          : std::to_chars(at, at + kMostDigits, static_cast<std::int64_t>(value));
    texts[i] = TextCell({at, static_cast<std::size_t>(done.ptr - at)});
    at = done.ptr;
  }
  cells.data = std::move(data);
  cells.texts.push_back(digits);
}

// Unsigned values beyond the signed range become absent, as in DuckDB.
void DropBeyondSigned(std::size_t rows, ParquetCells& cells) {
  const auto* const values = reinterpret_cast<const std::uint64_t*>(cells.data.get());
  for (std::size_t i = 0; i < rows; ++i) {
    if (values[i] >> 63 == 0) continue;
    if (cells.validity == nullptr) {
      const std::size_t words = (rows + 63) / 64;
      cells.validity.reset(new std::uint64_t[words]);
      std::fill_n(cells.validity.get(), words, ~std::uint64_t{0});
    }
    cells.validity[i / 64] &= ~(std::uint64_t{1} << i % 64);
  }
}

// Rows decoded from one row group.
class ParquetChunk final : public TableChunk {
 public:
  ParquetChunk(std::size_t rows, std::vector<ParquetCells> cells) : rows_(rows), cells_(std::move(cells)) {}
  [[nodiscard]] std::size_t rows() const override { return rows_; }
  [[nodiscard]] TableVector Vector(std::size_t column) const override {
    const ParquetCells& cells = cells_[column];
    if (cells.codes == nullptr) return {cells.data.get(), cells.validity.get()};
    return {cells.dictionary.get(), cells.validity.get(), cells.codes.get(), cells.dictionary, cells.entries};
  }

 private:
  std::size_t rows_;
  std::vector<ParquetCells> cells_;
};

// Decodes the selected columns, 2,048 rows at a time. A chunk lies within one row group.
class ParquetStream final : public TableStream {
 public:
  ParquetStream(const SeekableFile& file, std::shared_ptr<const ParquetFooter> footer,
                std::span<const ParquetReader::Selection> selected)
      : footer_(std::move(footer)), selected_(selected.begin(), selected.end()) {
    for (const ParquetReader::Selection& s : selected_) {
      const ParquetColumn& column = footer_->columns[s.position];
      columns_.push_back({column.table.name, s.form});
      // Codes stay only where nothing else happens to the values behind them.
      const bool coded = s.form == column.table.type && column.value != ParquetValue::kUint64;
      readers_.push_back(ParquetColumnReader::Make(column, file, unpacker_, coded));
    }
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return columns_; }

  Result<std::unique_ptr<TableChunk>> Next() override {
    // Moves to the next row group that has rows.
    while (left_ == 0) {
      if (group_ == footer_->groups.size()) return std::unique_ptr<TableChunk>();
      const ParquetGroup& group = footer_->groups[group_++];
      left_ = group.rows;
      for (std::size_t i = 0; i < selected_.size(); ++i) readers_[i]->Start(group.parts[selected_[i].position]);
    }
    const std::size_t rows = std::min<std::uint64_t>(left_, kChunkRows);
    std::vector<ParquetCells> cells(selected_.size());
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      TRY(readers_[i]->Read(rows, cells[i]));
      const ParquetColumn& column = footer_->columns[selected_[i].position];
      const bool is_unsigned = column.value == ParquetValue::kUint64;
      if (selected_[i].form != column.table.type) {
        ToTexts(rows, is_unsigned, cells[i]);
      } else if (is_unsigned) {
        DropBeyondSigned(rows, cells[i]);
      }
    }
    left_ -= rows;
    return std::make_unique<ParquetChunk>(rows, std::move(cells));
  }

 private:
  std::shared_ptr<const ParquetFooter> footer_;
  std::vector<ParquetReader::Selection> selected_;
  std::vector<StreamColumn> columns_;
  BlockUnpacker unpacker_;
  std::vector<std::unique_ptr<ParquetColumnReader>> readers_;
  std::size_t group_ = 0;   // the next
  std::uint64_t left_ = 0;  // rows left of the current group
};

// Whether the column can be read in the selected form in every row group.
bool Covers(const ParquetFooter& footer, const ParquetReader::Selection& selection) {
  const ParquetColumn& column = footer.columns[selection.position];
  if (column.value == ParquetValue::kOther) return false;
  const bool digits = column.table.type == TableType::kInteger && selection.form == TableType::kText;
  if (selection.form != column.table.type && !digits) return false;
  return std::all_of(footer.groups.begin(), footer.groups.end(),
                     [&](const ParquetGroup& group) { return group.parts[selection.position].covered; });
}

}  // namespace

ParquetReader::ParquetReader(const SeekableFile& file, ParquetFooter footer)
    : file_(&file), footer_(std::make_shared<const ParquetFooter>(std::move(footer))) {
  for (const ParquetColumn& column : footer_->columns) columns_.push_back(column.table);
}

std::optional<ParquetReader> ParquetReader::Open(const SeekableFile& file) {
  std::optional<ParquetFooter> footer = ReadParquetFooter(file);
  if (!footer) return std::nullopt;
  return ParquetReader(file, std::move(*footer));
}

std::uint64_t ParquetReader::rows() const {
  const auto add = [](std::uint64_t sum, const ParquetGroup& group) { return sum + group.rows; };
  return std::accumulate(footer_->groups.begin(), footer_->groups.end(), std::uint64_t{0}, add);
}

std::unique_ptr<TableStream> ParquetReader::Read(std::span<const Selection> selected) const {
  const bool covered =
      std::all_of(selected.begin(), selected.end(), [&](const Selection& s) { return Covers(*footer_, s); });
  return covered ? std::make_unique<ParquetStream>(*file_, footer_, selected) : nullptr;
}

}  // namespace idleburn
