#include "import/parquet.h"

#include <algorithm>

#include "import/column_clock.h"
#include "import/column_map.h"
#include "import/column_rows.h"
#include "import/column_values.h"
#include "import/duckdb_query.h"
#include "import/parquet_reader.h"
#include "import/table_prefetch.h"
#include "os/input_file.h"

namespace idleburn {
namespace {

constexpr std::string_view kMagic = "PAR1";

}  // namespace

bool SniffParquet(std::string_view head) { return head.substr(0, kMagic.size()) == kMagic; }

namespace {

// Nanoseconds in one of a timestamp type's unit; 0 for other types.
std::int64_t TimestampUnit(TableType type) {
  switch (type) {
    case TableType::kTimestampSeconds:
      return kNanosPerSecond;
    case TableType::kTimestampMillis:
      return 1'000'000;
    case TableType::kTimestampMicros:
    case TableType::kTimestampUtc:
      return 1000;
    case TableType::kTimestampNanos:
      return 1;
    default:
      return 0;
  }
}

// The entry of a dictionary for every code. Four at a time: the steps of the loop are half its work.
template <typename Entry>
void LookUp(const Entry* entries, const std::uint32_t* codes, std::size_t count, Entry* into) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    into[i] = entries[codes[i]];
    into[i + 1] = entries[codes[i + 1]];
    into[i + 2] = entries[codes[i + 2]];
    into[i + 3] = entries[codes[i + 3]];
  }
  for (; i < count; ++i) into[i] = entries[codes[i]];
}

// A signal's column. It is converted a chunk at a time, so that its type is looked at once a chunk.
class SignalColumn {
 public:
  SignalColumn(const BoundColumn& bound, const StreamColumn& column, std::size_t at)
      : bound_(bound), type_(column.type), at_(at), scale_(bound) {}

  void Convert(const TableChunk& chunk, std::size_t rows) {
    const TableVector vector = chunk.Vector(at_);
    values_.resize(rows);
    readings_.clear();
    switch (type_) {
      case TableType::kInteger:
        if (vector.IsFull(rows) && ConvertPlain<std::int64_t>(vector)) return;
        return ConvertEach(vector, [&](std::size_t i) { return scale_.FromInteger(vector.Get<std::int64_t>(i)); });
      case TableType::kReal:
        if (vector.IsFull(rows) && ConvertPlain<double>(vector)) return;
        return ConvertEach(vector, [&](std::size_t i) { return scale_.FromReal(vector.Get<double>(i)); });
      default:
        return ConvertEach(vector, [&](std::size_t i) { return scale_.FromText(vector.Text(i)); });
    }
  }

  [[nodiscard]] Signal signal() const { return bound_.role->signal; }
  // Of the chunk: every row is a plain number, and these are the values; else there are readings.
  [[nodiscard]] bool plain() const { return readings_.empty(); }
  [[nodiscard]] const std::int64_t* values() const { return values_.data(); }
  [[nodiscard]] CellReading Reading(std::size_t row) const {
    return plain() ? CellReading{values_[row]} : readings_[row];
  }
  [[nodiscard]] Result<void> CheckUnit(const std::string& file) const { return scale_.CheckUnit(bound_, file); }

 private:
  // False if a row has no plain number.
  template <typename Stored>
  bool ConvertPlain(const TableVector& vector) {
    const std::size_t rows = values_.size();
    if (vector.codes == nullptr) return scale_.FromPlain(vector.All<Stored>(rows), values_.data());
    if (ScaleDictionary<Stored>(vector)) {
      LookUp(scaled_.data(), vector.codes, rows, values_.data());
      return true;
    }
    std::vector<Stored> cells(rows);
    for (std::size_t i = 0; i < rows; ++i) cells[i] = vector.Get<Stored>(i);
    return scale_.FromPlain(cells, values_.data());
  }

  // Scales the entries, which are much fewer than rows, unless one that perhaps no row has could make a difference.
  template <typename Stored>
  bool ScaleDictionary(const TableVector& vector) {
    if (!scale_.unit_settled()) return false;
    if (dictionary_ == vector.dictionary) return dictionary_plain_;
    dictionary_ = vector.dictionary;
    scaled_.resize(vector.entries);
    dictionary_plain_ = scale_.FromPlain(vector.Entries<Stored>(), scaled_.data());
    return dictionary_plain_;
  }

  template <typename Read>
  void ConvertEach(const TableVector& vector, Read read) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      readings_.push_back(vector.IsNull(i) ? CellReading{0, CellFault::kUnavailable} : read(i));
    }
  }

  BoundColumn bound_;
  TableType type_;
  std::size_t at_;
  ColumnScale scale_;
  std::vector<std::int64_t> values_;
  std::vector<CellReading> readings_;
  // The dictionary last seen, whether its entries are all plain numbers, and those.
  std::shared_ptr<const void> dictionary_;
  bool dictionary_plain_ = false;
  std::vector<std::int64_t> scaled_;
};

// One file while it is read. Columns are in the order of the query.
class Table {
 public:
  Table(const std::vector<BoundColumn>& bound, const std::vector<StreamColumn>& columns, const ImportOptions& options,
        const std::string& file, ImportTarget& out)
      : columns_(columns), file_(file), rows_(bound, "parquet", file, options, out), cells_(rows_.identity().size()) {
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const ColumnKind kind = bound[i].role->kind;
      if (kind == ColumnKind::kTime) {
        time_ = i;
        clock_.emplace(bound[i], options, out.quality, file);
      } else if (kind == ColumnKind::kSignal) {
        signals_.emplace_back(bound[i], columns[i], i);
        all_signals_ |= Bit(bound[i].role->signal);
      } else if (kind == ColumnKind::kOwner) {
        owner_ = i;
      } else {
        identity_.push_back(i);
      }
    }
  }

  Result<void> Add(const TableChunk& chunk) {
    const std::size_t rows = chunk.rows();
    times_.resize(rows);
    devices_.resize(rows);
    all_placed_ = true;
    TRY(ConvertTimes(chunk, rows));
    rows_.set_local(clock_->local());
    TRY(ConvertDevices(chunk, rows));
    for (SignalColumn& column : signals_) column.Convert(chunk, rows);
    const bool plain = std::all_of(signals_.begin(), signals_.end(), [](const SignalColumn& c) { return c.plain(); });
    if (plain && all_placed_ && !owner_) {
      AddPlain(rows);
    } else {
      AddEach(chunk, rows);
    }
    done_ += static_cast<std::int64_t>(rows);
    return {};
  }

  // Every row has a time, a device and plain numbers.
  void AddPlain(std::size_t rows) {
    SampleColumns columns{rows, times_.data(), devices_.data(), all_signals_, {}};
    for (const SignalColumn& column : signals_) columns.values[Index(column.signal())] = column.values();
    rows_.Add(columns, Line(0));
  }

  void AddEach(const TableChunk& chunk, std::size_t rows) {
    const TableVector owners = owner_ ? chunk.Vector(*owner_) : TableVector{};
    for (std::size_t i = 0; i < rows; ++i) {
      const std::int64_t line = Line(i);
      if (times_[i] == kNoTime || devices_[i] == kNoDevice) {
        rows_.CountBadRow(line);
        continue;
      }
      Sample& sample = rows_.Begin(times_[i], devices_[i], line);
      for (const SignalColumn& column : signals_) rows_.Put(sample, column.signal(), column.Reading(i), line);
      if (owner_) rows_.Own(owners.IsNull(i) ? std::string_view() : owners.Text(i), line);
    }
  }

  Result<void> Finish() {
    TRY(rows_.Finish());
    for (const SignalColumn& column : signals_) TRY(column.CheckUnit(file_));
    return {};
  }

 private:
  [[nodiscard]] std::int64_t Line(std::size_t row) const { return done_ + static_cast<std::int64_t>(row) + 1; }

  Result<void> ConvertTimes(const TableChunk& chunk, std::size_t rows) {
    const TableVector vector = chunk.Vector(time_);
    const TableType type = columns_[time_].type;
    if (const std::int64_t unit = TimestampUnit(type); unit != 0) {
      ConvertTimestamps(vector, rows, unit, type == TableType::kTimestampUtc);
      return {};
    }
    for (std::size_t i = 0; i < rows; ++i) {
      Result<std::optional<Instant>> time;
      if (vector.IsNull(i)) {
        time = std::optional<Instant>();
      } else if (type == TableType::kInteger) {
        time = clock_->FromInteger(vector.Get<std::int64_t>(i), Line(i));
      } else if (type == TableType::kReal) {
        time = clock_->FromReal(vector.Get<double>(i), Line(i));
      } else {
        time = clock_->FromText(vector.Text(i), Line(i));
      }
      if (!time) return tl::unexpected<Error>(time.error());
      SetTime(i, *time);
    }
    return {};
  }
  void SetTime(std::size_t row, std::optional<Instant> time) {
    times_[row] = time.value_or(kNoTime);
    all_placed_ = all_placed_ && time;
  }

  void ConvertTimestamps(const TableVector& vector, std::size_t rows, std::int64_t unit, bool zoned) {
    const std::int64_t limit = INT64_MAX / unit - 1;  // beyond: infinity, or past what nanoseconds hold
    const std::span<const std::int64_t> stamps = vector.All<std::int64_t>(rows);
    const auto held = [&](std::int64_t stamp) { return stamp <= limit && stamp >= -limit; };
    if ((zoned || clock_->LocalIsUtc(Line(0))) && vector.IsFull(rows)) {
      std::int64_t least = 0;
      std::int64_t most = 0;
      for (const std::int64_t stamp : stamps) {
        least = std::min(least, stamp);
        most = std::max(most, stamp);
      }
      if (held(least) && held(most)) {
        for (std::size_t i = 0; i < rows; ++i) times_[i] = Instant::FromNanos(stamps[i] * unit);
        return;
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      std::optional<Instant> time;
      if (!vector.IsNull(i) && held(stamps[i])) {
        const std::int64_t nanos = stamps[i] * unit;
        time = zoned ? Instant::FromNanos(nanos) : clock_->FromLocal(nanos, Line(i));
      }
      SetTime(i, time);
    }
  }

  Result<void> ConvertDevices(const TableChunk& chunk, std::size_t rows) {
    std::vector<TableVector> vectors;
    for (const std::size_t at : identity_) vectors.push_back(chunk.Vector(at));
    const bool by_index = vectors.size() == 1 && columns_[identity_[0]].type == TableType::kInteger;
    if (by_index && vectors[0].codes != nullptr && vectors[0].IsFull(rows)) return ConvertCodes(vectors[0], rows);
    if (by_index) return ConvertIndexes(vectors[0], rows);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t c = 0; c < vectors.size(); ++c) {
        cells_[c] = vectors[c].IsNull(i) ? std::string_view() : vectors[c].Text(i);
      }
      TRY(SetDevice(i));
    }
    return {};
  }

  // A single integer column names GPUs by index; each index is looked up once.
  Result<void> ConvertIndexes(const TableVector& vector, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::int64_t index = vector.IsNull(i) ? -1 : vector.Get<std::int64_t>(i);
      const auto slot = static_cast<std::size_t>(index);  // of a negative index: beyond all
      devices_[i] = slot < by_index_.size() ? by_index_[slot] : kNoDevice;
      if (devices_[i] != kNoDevice) continue;
      if (vector.IsNull(i)) {
        all_placed_ = false;
        continue;
      }
      const std::string text = std::to_string(index);
      cells_[0] = text;
      TRY(SetDevice(i));
      if (slot >= kIndexes) continue;
      if (slot >= by_index_.size()) by_index_.resize(slot + 1, kNoDevice);
      by_index_[slot] = devices_[i];
    }
    return {};
  }

  // The same from a dictionary.
  Result<void> ConvertCodes(const TableVector& vector, std::size_t rows) {
    if (dictionary_ != vector.dictionary) by_code_.assign(vector.entries, kNoDevice);
    dictionary_ = vector.dictionary;
    LookUp(by_code_.data(), vector.codes, rows, devices_.data());
    if (std::find(devices_.begin(), devices_.end(), kNoDevice) == devices_.end()) return {};
    for (std::size_t i = 0; i < rows; ++i) {
      devices_[i] = by_code_[vector.codes[i]];
      if (devices_[i] != kNoDevice) continue;
      const std::string text = std::to_string(vector.Get<std::int64_t>(i));
      cells_[0] = text;
      TRY(SetDevice(i));
      by_code_[vector.codes[i]] = devices_[i];
    }
    return {};
  }

  Result<void> SetDevice(std::size_t row) {
    const std::optional<DeviceId> device = TRY(rows_.Device(cells_, Line(row)));
    devices_[row] = device.value_or(kNoDevice);
    all_placed_ = all_placed_ && device;
    return {};
  }

  static constexpr std::size_t kIndexes = 65536;
  static constexpr Instant kNoTime = Instant::FromNanos(INT64_MIN);
  static constexpr DeviceId kNoDevice = UINT32_MAX;

  std::vector<StreamColumn> columns_;
  const std::string& file_;
  ColumnRows rows_;
  std::size_t time_ = 0;
  std::optional<ColumnClock> clock_;
  std::vector<SignalColumn> signals_;
  std::uint32_t all_signals_ = 0;
  std::optional<std::size_t> owner_;
  std::vector<std::size_t> identity_;
  std::vector<std::string_view> cells_;
  std::vector<DeviceId> by_index_;  // kNoDevice: not seen yet
  std::vector<DeviceId> by_code_;   // the same, of the dictionary last seen
  std::shared_ptr<const void> dictionary_;
  std::int64_t done_ = 0;  // rows of the chunks before

  // Of the chunk.
  std::vector<Instant> times_;     // kNoTime where a row has none
  std::vector<DeviceId> devices_;  // kNoDevice where a row names none
  bool all_placed_ = true;         // every row has both
};

Result<std::vector<BoundColumn>> Bind(const std::vector<StreamColumn>& columns, const ImportOptions& options,
                                      const std::string& file) {
  std::vector<std::string> header;
  for (const StreamColumn& column : columns) header.push_back(column.name);
  if (!options.columns.empty()) return BindColumns(options.columns, header, header.size(), file);
  std::optional<std::vector<BoundColumn>> known = RecognizeColumns(header);
  if (!known) {
    return Fail(file + ": no columns of usual names; say which is which with --columns time=...,util=... (they are: " +
                ListColumns(header) + ")");
  }
  return std::move(*known);
}

// The form in which a column's role takes it. Wide numbers cost nothing: they spare DuckDB a copy of dictionaries row
// by row.
TableType FormOf(const BoundColumn& bound, TableType type, bool single_identity) {
  const ColumnKind kind = bound.role->kind;
  const bool number = kind == ColumnKind::kTime || kind == ColumnKind::kSignal;
  const bool index = kind == ColumnKind::kGpu && single_identity;
  if (kind == ColumnKind::kTime && TimestampUnit(type) != 0) return type;
  if ((number || index) && type == TableType::kInteger) return type;
  if (number && type == TableType::kReal) return type;
  return TableType::kText;
}

// What is read of a table.
std::vector<ParquetReader::Selection> Select(const std::vector<BoundColumn>& bound,
                                             const std::vector<StreamColumn>& columns) {
  const bool single_identity = std::count_if(bound.begin(), bound.end(), IsIdentity) == 1;
  std::vector<ParquetReader::Selection> selected;
  for (const BoundColumn& b : bound) {
    selected.push_back({b.position, FormOf(b, columns[b.position].type, single_identity)});
  }
  return selected;
}

// The part of a query that reads a column in a form. A number that a cast cannot hold is NULL.
std::string SqlOf(const StreamColumn& column, TableType form) {
  const std::string name = SqlName(column.name);
  switch (form) {
    case TableType::kInteger:
      return "TRY_CAST(" + name + " AS BIGINT)";
    case TableType::kReal:
      return name + "::DOUBLE";
    case TableType::kText:
      return name + "::VARCHAR";
    default:
      return name;
  }
}

Result<void> ReadRows(std::unique_ptr<TableStream> stream, const std::vector<BoundColumn>& bound,
                      const std::string& file, const ImportOptions& options, ImportTarget& out) {
  Table table(bound, stream->columns(), options, file, out);
  if (options.threads > 1) stream = Prefetched(std::move(stream));
  while (true) {
    const std::unique_ptr<TableChunk> chunk = TRY(stream->Next());
    if (chunk == nullptr) return table.Finish();
    TRY(table.Add(*chunk));
  }
}

Result<void> ReadWithDuckDb(const SeekableFile& parquet, const std::string& file, const ImportOptions& options,
                            ImportTarget& out) {
  // More threads of its own do not speed up a result that is read in order.
  std::unique_ptr<DuckDbConnection> connection = TRY(OpenDuckDb(1));
  const std::string from = " FROM read_parquet(" + SqlText(parquet.alias()) + ", hive_partitioning = false)";
  std::unique_ptr<TableStream> empty = TRY(connection->Query("SELECT *" + from + " LIMIT 0"));
  const std::vector<StreamColumn> columns = empty->columns();
  const std::vector<BoundColumn> bound = TRY(Bind(columns, options, file));
  std::string select;
  for (const ParquetReader::Selection& s : Select(bound, columns)) {
    select += (select.empty() ? "SELECT " : ", ") + SqlOf(columns[s.position], s.form);
  }
  std::unique_ptr<TableStream> stream = TRY(connection->Query(select + from));
  return ReadRows(std::move(stream), bound, file, options, out);
}

// With our own reader, or with DuckDB what that does not cover.
Result<void> ReadTable(const SeekableFile& parquet, const std::string& file, const ImportOptions& options,
                       ImportTarget& out) {
  const std::optional<ParquetReader> reader = ParquetReader::Open(parquet);
  if (!reader) return ReadWithDuckDb(parquet, file, options, out);
  const std::vector<BoundColumn> bound = TRY(Bind(reader->columns(), options, file));
  std::unique_ptr<TableStream> stream = reader->Read(Select(bound, reader->columns()));
  if (stream == nullptr) return ReadWithDuckDb(parquet, file, options, out);
  return ReadRows(std::move(stream), bound, file, options, out);
}

}  // namespace

Result<void> ImportParquet(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  const std::optional<SeekableFile> parquet = SeekableFile::Open(in.name());
  if (!parquet || !SniffParquet(parquet->Head(kMagic.size()))) {
    return Fail(in.name() + ": Parquet is read by position, which needs a plain file; save or unpack it first");
  }
  const Result<void> done = ReadTable(*parquet, in.name(), options, out);
  if (done) return {};
  Error error = done.error();
  const std::size_t alias = error.message.find(parquet->alias());
  if (alias != std::string::npos) error.message.replace(alias, parquet->alias().size(), in.name());
  if (error.message.find(in.name()) == std::string::npos && error.kind == Error::Kind::kFailed) {
    error.message.insert(0, in.name() + ": ");
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace idleburn
