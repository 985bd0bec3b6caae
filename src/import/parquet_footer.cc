#include "import/parquet_footer.h"

#include <algorithm>
#include <array>
#include <set>

#include "import/parquet_numbers.h"
#include "import/thrift_reader.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using Type = ThriftReader::Type;

constexpr std::string_view kMagic = "PAR1";
// Beyond these a file is left to DuckDB: what is kept of a footer stays within some tens of megabytes.
constexpr std::uint64_t kMostFooterBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostColumns = 1 << 14;
constexpr std::size_t kMostParts = 1 << 20;

// A few bytes may stand for any number of equal rows. A file that claims more than this is left to DuckDB.
constexpr std::uint64_t kAnyFileRows = 1 << 22;
constexpr std::uint64_t kMostRowsPerByte = 1000;

// The numbers of the format's definition (parquet.thrift). -1: not said.
enum Physical : std::int8_t { kInt32 = 1, kInt64 = 2, kFloat = 4, kDouble = 5, kByteArray = 6 };
enum Logical : std::int8_t { kString = 1, kTimestamp = 8, kInteger = 10 };
enum Converted : std::int8_t { kUtf8 = 0, kTimestampMillis = 9, kTimestampMicros = 10 };

struct SchemaElement {
  std::int64_t physical = -1;
  std::int64_t repetition = -1;
  std::int64_t children = 0;
  std::int64_t converted = -1;
  std::int64_t logical = -1;
  std::int64_t unit = -1;  // of a logical timestamp: 1 ms, 2 us, 3 ns
  bool utc = false;
  std::string name;
};

bool IsInteger(Type type) { return type == Type::kI16 || type == Type::kI32 || type == Type::kI64; }

void ReadTimestamp(ThriftReader& in, SchemaElement& element) {
  in.Struct([&](std::int64_t id, Type type) {
    if (id == 1) element.utc = type == Type::kTrue;
    if (id != 2 || type != Type::kStruct) return id == 1 && (type == Type::kTrue || type == Type::kFalse);
    in.Struct([&](std::int64_t unit, Type) {
      element.unit = unit;
      return false;
    });
    return true;
  });
}

SchemaElement ReadElement(ThriftReader& in) {
  SchemaElement element;
  in.Struct([&](std::int64_t id, Type type) {
    if (id == 4 && type == Type::kBinary) {
      element.name = in.Binary();
      return true;
    }
    if (id == 10 && type == Type::kStruct) {
      in.Struct([&](std::int64_t logical, Type inner) {
        element.logical = logical;
        if (logical != kTimestamp || inner != Type::kStruct) return false;
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
    if (number == nullptr || !IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
  return element;
}

ParquetValue ValueOf(const SchemaElement& e) {
  using V = ParquetValue;
  if (e.logical == kTimestamp) {
    if (e.physical != kInt64) return V::kOther;
    if (e.unit == 3) return e.utc ? V::kNanosUtc : V::kNanos;
    return e.unit == 1 ? V::kMillis : e.unit == 2 ? V::kMicros : V::kOther;
  }
  if (e.logical != -1 && e.logical != kString && e.logical != kInteger) return V::kOther;
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
  struct Row {
    std::int8_t converted;
    Physical physical;
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

// DuckDB gives milliseconds as microseconds, and everything with a zone too.
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

// A root and its columns; absent if there is anything below them.
std::optional<std::vector<ParquetColumn>> ColumnsOf(const std::vector<SchemaElement>& schema) {
  if (schema.size() < 2 || schema[0].children != static_cast<std::int64_t>(schema.size() - 1)) return std::nullopt;
  std::vector<ParquetColumn> columns;
  std::set<std::string> names;
  for (std::size_t i = 1; i < schema.size(); ++i) {
    const SchemaElement& e = schema[i];
    if (e.children != 0 || e.repetition < 0 || e.repetition > 1 || e.name.empty()) return std::nullopt;
    if (!names.insert(Lower(e.name)).second) return std::nullopt;
    const ParquetValue value = ValueOf(e);
    columns.push_back({{e.name, TableTypeOf(value, e.utc)}, value, e.repetition == 1});
  }
  return columns;
}

struct PartInfo {
  std::int64_t packing = -1;
  std::int64_t values = -1;
  std::int64_t bytes = -1;
  std::int64_t data = -1;
  std::int64_t dictionary = -1;
  bool elsewhere = false;  // in another file, or encrypted
  bool encodings = true;   // all are ours
};

bool IsCovered(std::int64_t encoding) {
  constexpr std::array<int, 6> kCovered = {
      parquet_encoding::kPlain,      parquet_encoding::kPlainDictionary, parquet_encoding::kRuns,
      parquet_encoding::kDictionary, parquet_encoding::kBitPackedLevels, parquet_encoding::kDeltaPacked};
  return std::find(kCovered.begin(), kCovered.end(), encoding) != kCovered.end();
}

void ReadColumnMetaData(ThriftReader& in, PartInfo& part) {
  in.Struct([&](std::int64_t id, Type type) {
    if (id == 2 && type == Type::kList) {
      in.List([&](Type element) {
        if (!IsInteger(element)) return in.Skip(element);
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
    if (number == nullptr || !IsInteger(type)) return false;
    *number = in.Integer();
    return true;
  });
}

std::optional<BlockPacking> PackingOf(std::int64_t codec) {
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

ParquetPart PartOf(const PartInfo& info, std::uint64_t rows, std::uint64_t data_end) {
  ParquetPart part;
  const std::optional<BlockPacking> packing = PackingOf(info.packing);
  const std::int64_t begin = info.dictionary > 0 ? std::min(info.dictionary, info.data) : info.data;
  const auto end = static_cast<std::int64_t>(data_end);
  if (!packing || begin < static_cast<std::int64_t>(kMagic.size()) || begin > end || info.bytes < 0 ||
      info.bytes > end - begin) {
    return part;
  }
  part.begin = static_cast<std::uint64_t>(begin);
  part.end = static_cast<std::uint64_t>(begin + info.bytes);
  part.packing = *packing;
  part.covered = !info.elsewhere && info.encodings && info.values == static_cast<std::int64_t>(rows);
  return part;
}

std::optional<ParquetGroup> ReadGroup(ThriftReader& in, std::size_t columns, std::uint64_t data_end) {
  std::int64_t rows = -1;
  std::vector<PartInfo> infos;
  in.Struct([&](std::int64_t id, Type type) {
    if (id == 3 && IsInteger(type)) {
      rows = in.Integer();
      return true;
    }
    if (id != 1 || type != Type::kList) return false;
    in.List([&](Type element) {
      if (element != Type::kStruct || infos.size() > columns) return in.Skip(element);
      PartInfo& info = infos.emplace_back();
      in.Struct([&](std::int64_t field, Type inner) {
        if (field == 1 || field == 8 || field == 9) info.elsewhere = true;
        if (field != 3 || inner != Type::kStruct) return false;
        ReadColumnMetaData(in, info);
        return true;
      });
    });
    return true;
  });
  if (rows < 0 || infos.size() != columns) return std::nullopt;
  ParquetGroup group;
  group.rows = static_cast<std::uint64_t>(rows);
  for (const PartInfo& info : infos) group.parts.push_back(PartOf(info, group.rows, data_end));
  return group;
}

std::optional<ParquetFooter> Parse(std::span<const char> bytes, std::uint64_t data_end) {
  ThriftReader in(bytes);
  ParquetFooter footer;
  std::vector<SchemaElement> schema;
  bool covered = true;
  in.Struct([&](std::int64_t id, Type type) {
    covered = covered && id != 8;  // encryption
    if (id == 2 && type == Type::kList) {
      in.List([&](Type element) {
        if (element != Type::kStruct || schema.size() > kMostColumns) return in.Skip(element);
        schema.push_back(ReadElement(in));
      });
      return true;
    }
    if (id != 4 || type != Type::kList) return false;
    const std::size_t width = schema.empty() ? 0 : schema.size() - 1;
    in.List([&](Type element) {
      covered = covered && element == Type::kStruct && (footer.groups.size() + 1) * width <= kMostParts;
      if (!covered) return in.Skip(element);
      std::optional<ParquetGroup> group = ReadGroup(in, width, data_end);
      covered = group.has_value();
      if (covered) footer.groups.push_back(std::move(*group));
    });
    return true;
  });
  std::optional<std::vector<ParquetColumn>> columns = ColumnsOf(schema);
  if (!in.ok() || !covered || !columns || columns->size() > kMostColumns) return std::nullopt;
  // A footer may say its schema twice, or after its groups.
  const auto fits = [&](const ParquetGroup& group) { return group.parts.size() == columns->size(); };
  if (!std::all_of(footer.groups.begin(), footer.groups.end(), fits)) return std::nullopt;
  footer.columns = std::move(*columns);
  return footer;
}

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
  // The magic, ..., the footer, its size in 4 bytes, the magic.
  std::array<char, 8> tail{};
  if (file.size() < kMagic.size() + tail.size() || !file.ReadAt(file.size() - tail.size(), tail)) return std::nullopt;
  if (std::string_view(tail.data() + 4, kMagic.size()) != kMagic) return std::nullopt;
  const std::uint64_t size = LoadLittle<std::uint32_t>(tail.data());
  if (size > kMostFooterBytes || size > file.size() - tail.size() - kMagic.size()) return std::nullopt;
  const std::uint64_t begin = file.size() - tail.size() - size;
  std::vector<char> bytes(size);
  if (!file.ReadAt(begin, bytes)) return std::nullopt;
  std::optional<ParquetFooter> footer = Parse(bytes, begin);
  if (footer && ClaimsTooMuch(*footer, file.size())) return std::nullopt;
  return footer;
}

}  // namespace idleburn
