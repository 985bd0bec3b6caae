#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/int128.h"
#include "import/column_map.h"
#include "import/column_rows.h"
#include "import/duckdb_query.h"
#include "import/formats.h"
#include "import/parquet_reader.h"
#include "os/input_file.h"

namespace idleburn {

// Parquet tables are converted a chunk at a time and column by column, because a row at a time would be several times
// slower. A chunk whose rows all have a time, a device and plain numbers goes on as columns. Any other chunk is
// delivered row by row.

namespace {

// Chunks of 2,048 rows that change threads at once. Waking a thread costs as much as a chunk or two. Three batches are
// held: one being filled, one waiting, one in use.
constexpr std::size_t kBatchChunks = 16;

// Fetches a stream on a thread of its own, because reading a file and using its rows take about equally long. Deleting
// it before the end stops the thread.
class Prefetch final : public TableStream {
 public:
  explicit Prefetch(std::unique_ptr<TableStream> stream) : stream_(std::move(stream)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Fetch(stop); });
  }

  [[nodiscard]] const std::vector<StreamColumn>& columns() const override { return stream_->columns(); }

  Result<std::unique_ptr<TableChunk>> Next() override {
    // The lock is taken once per batch, not per chunk.
    if (taken_.empty()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty(); });
      taken_.swap(ready_);
      lock.unlock();
      changed_.notify_one();
    }
    auto chunk = std::move(taken_.front());
    taken_.pop_front();
    return chunk;
  }

 private:
  using Batch = std::deque<Result<std::unique_ptr<TableChunk>>>;

  // Ends with the stream's end or error, which is the last item delivered.
  void Fetch(const std::stop_token& stop) {
    bool more = true;
    while (more && !stop.stop_requested()) {
      Batch batch;
      while (more && batch.size() < kBatchChunks && !stop.stop_requested()) {
        batch.push_back(stream_->Next());
        more = batch.back() && *batch.back() != nullptr;
      }
      std::unique_lock lock(mutex_);
      // Waits until the reader took the last batch, so that at most one batch waits.
      if (!changed_.wait(lock, stop, [this] { return ready_.empty(); })) return;
      ready_ = std::move(batch);
      lock.unlock();
      changed_.notify_one();
    }
  }

  std::unique_ptr<TableStream> stream_;
  Batch taken_;  // the reader's current batch
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Batch ready_;
  std::jthread thread_;  // last, because it uses all of the above
};

std::unique_ptr<TableStream> Prefetched(std::unique_ptr<TableStream> stream) {
  return std::make_unique<Prefetch>(std::move(stream));
}

}  // namespace

bool SniffParquet(std::string_view head) { return head.substr(0, kParquetMagic.size()) == kParquetMagic; }

namespace {

// Nanoseconds in one unit of a timestamp type. 0 for other types.
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

// Whether nanoseconds can hold the stamp. They cannot hold infinity, which databases store as the largest number.
bool IsHeld(std::int64_t stamp, std::int64_t unit) {
  const std::int64_t limit = INT64_MAX / unit - 1;
  return stamp <= limit && stamp >= -limit;
}

// Returns whether all stamps are held. One pass is enough where the bits of all stamps together make a number that is
// held, with room to spare: no single stamp exceeds it.
bool ToInstants(std::span<const std::int64_t> stamps, std::int64_t unit, Instant* into) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    const auto stamp = static_cast<std::uint64_t>(stamps[i]);
    bits |= stamp;
    into[i] = Instant::FromNanos(static_cast<std::int64_t>(stamp * static_cast<std::uint64_t>(unit)));
  }
  const auto held = [unit](std::int64_t stamp) { return IsHeld(stamp, unit); };
  return bits < std::bit_floor(static_cast<std::uint64_t>(INT64_MAX / unit - 1)) ||
         std::all_of(stamps.begin(), stamps.end(), held);
}

// Replaces each code by its dictionary entry. Four at a time, because the loop overhead is half of the work.
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

// A signal's column, converted a chunk at a time so that its type is checked once per chunk. Either all rows are
// plain numbers, found in values_, or each has a reading in readings_.
class SignalColumn {
 public:
  SignalColumn(const BoundColumn& bound, const StreamColumn& column, std::size_t at)
      : bound_(bound), type_(column.type), at_(at), scale_(bound) {}

  // Tries the whole chunk at once, then cell by cell.
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
  // Whether every row of the chunk is a plain number, found in values(). Otherwise see Reading.
  [[nodiscard]] bool plain() const { return readings_.empty(); }
  [[nodiscard]] const std::int64_t* values() const { return values_.data(); }
  [[nodiscard]] CellReading Reading(std::size_t row) const {
    return plain() ? CellReading{values_[row]} : readings_[row];
  }
  [[nodiscard]] Result<void> CheckUnit(const std::string& file) const { return scale_.CheckUnit(bound_, file); }

 private:
  // Converts the chunk at once. False if a row is not a plain number.
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

  // Scales the dictionary instead of the rows, which are many more. Not while an entry that perhaps no row has could
  // still change the result of CheckUnit.
  template <typename Stored>
  bool ScaleDictionary(const TableVector& vector) {
    if (!scale_.unit_settled()) return false;
    if (dictionary_ == vector.dictionary) return dictionary_plain_;
    dictionary_ = vector.dictionary;
    scaled_.resize(vector.entries);
    dictionary_plain_ = scale_.FromPlain(vector.Entries<Stored>(), scaled_.data());
    return dictionary_plain_;
  }

  // Converts cell by cell, so that each fault has its own reason.
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
  // The last dictionary, whether all its entries are plain numbers, and its scaled entries.
  std::shared_ptr<const void> dictionary_;
  bool dictionary_plain_ = false;
  std::vector<std::int64_t> scaled_;
};

// One file while it is read. Takes its chunks, and feeds ColumnRows by the fast or the slow path. Columns are in the
// order of the query.
class ParquetTable {
 public:
  ParquetTable(const std::vector<BoundColumn>& bound, const std::vector<StreamColumn>& columns,
               const ImportOptions& options, const std::string& file, ImportTarget& out)
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

  // The fast path: every row has a time, a device and plain numbers.
  void AddPlain(std::size_t rows) {
    SampleColumns columns{rows, times_.data(), devices_.data(), all_signals_, {}};
    for (const SignalColumn& column : signals_) columns.values[Index(column.signal())] = column.values();
    rows_.Add(columns, Line(0));
  }

  // Row by row, for chunks with gaps, odd values or owners.
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
  // The place of a row: Parquet has no lines, so rows are numbered from 1.
  [[nodiscard]] std::int64_t Line(std::size_t row) const { return done_ + static_cast<std::int64_t>(row) + 1; }

  // Converts the time column: timestamps in one pass, anything else through ColumnClock.
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
  // Stores the time of a row, or that it has none.
  void SetTime(std::size_t row, std::optional<Instant> time) {
    times_[row] = time.value_or(kNoTime);
    all_placed_ = all_placed_ && time;
  }

  // Makes instants of the entries of a dictionary, once, because they are fewer than the rows. Returns whether all are
  // held.
  bool InstantsOf(const TableVector& vector, std::int64_t unit) {
    if (time_dictionary_ == vector.dictionary) return !instants_.empty();
    time_dictionary_ = vector.dictionary;
    instants_.resize(vector.entries);
    if (!ToInstants(vector.Entries<std::int64_t>(), unit, instants_.data())) instants_.clear();
    return !instants_.empty();
  }

  // Converts a column of timestamps. Without gaps and local times, one check of the range covers all rows.
  void ConvertTimestamps(const TableVector& vector, std::size_t rows, std::int64_t unit, bool zoned) {
    if ((zoned || clock_->LocalIsUtc(Line(0))) && vector.IsFull(rows)) {
      if (vector.codes == nullptr && ToInstants(vector.All<std::int64_t>(rows), unit, times_.data())) return;
      if (vector.codes != nullptr && InstantsOf(vector, unit)) {
        LookUp(instants_.data(), vector.codes, rows, times_.data());
        return;
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      std::optional<Instant> time;
      const std::int64_t stamp = vector.IsNull(i) ? INT64_MAX : vector.Get<std::int64_t>(i);
      if (IsHeld(stamp, unit)) {
        const std::int64_t nanos = stamp * unit;
        time = zoned ? Instant::FromNanos(nanos) : clock_->FromLocal(nanos, Line(i));
      }
      SetTime(i, time);
    }
  }

  // Finds the device of each row. The common case, one column of integers, is answered from a table by index or by
  // code; other columns are compared as text.
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

  // A single integer column holds indices. Each index is looked up once.
  Result<void> ConvertIndexes(const TableVector& vector, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      const std::int64_t index = vector.IsNull(i) ? -1 : vector.Get<std::int64_t>(i);
      const auto slot = static_cast<std::size_t>(index);  // a negative index is beyond all
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

  // As ConvertIndexes, for a column in a dictionary.
  Result<void> ConvertCodes(const TableVector& vector, std::size_t rows) {
    if (dictionary_ != vector.dictionary) by_code_.assign(vector.entries, kNoDevice);
    dictionary_ = vector.dictionary;
    LookUp(by_code_.data(), vector.codes, rows, devices_.data());
    const auto all_known = [](const auto& devices) {
      return std::find(devices.begin(), devices.end(), kNoDevice) == devices.end();
    };
    // The usual case: every code that occurs was seen before.
    if (all_known(by_code_) || all_known(devices_)) return {};
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

  // Looks the device of a row up by its cells.
  Result<void> SetDevice(std::size_t row) {
    const std::optional<DeviceId> device = TRY(rows_.Device(cells_, Line(row)));
    devices_[row] = device.value_or(kNoDevice);
    all_placed_ = all_placed_ && device;
    return {};
  }

  // Larger indices are looked up as text each time.
  static constexpr std::size_t kIndexes = 65536;
  static constexpr Instant kNoTime = Instant::FromNanos(INT64_MIN);
  static constexpr DeviceId kNoDevice = UINT32_MAX;

  std::vector<StreamColumn> columns_;
  const std::string& file_;
  ColumnRows rows_;
  std::size_t time_ = 0;
  std::optional<ColumnClock> clock_;
  std::vector<Instant> instants_;  // of the dictionary of times last seen; empty if not all are held
  std::shared_ptr<const void> time_dictionary_;
  std::vector<SignalColumn> signals_;
  std::uint32_t all_signals_ = 0;
  std::optional<std::size_t> owner_;
  std::vector<std::size_t> identity_;
  std::vector<std::string_view> cells_;
  std::vector<DeviceId> by_index_;  // by index; kNoDevice: not seen yet
  std::vector<DeviceId> by_code_;   // by code of the last dictionary
  std::shared_ptr<const void> dictionary_;
  std::int64_t done_ = 0;  // rows of earlier chunks

  // The current chunk.
  std::vector<Instant> times_;     // kNoTime where a row has none
  std::vector<DeviceId> devices_;  // kNoDevice where a row names none
  bool all_placed_ = true;         // every row has both
};

// Binds columns by --columns, else by their usual names. Parquet always has names, so a header is never missing.
Result<std::vector<BoundColumn>> Bind(const std::vector<StreamColumn>& columns, const ImportOptions& options,
                                      const std::string& file) {
  std::vector<std::string> header;
  for (const StreamColumn& column : columns) header.push_back(column.name);
  if (!options.columns.empty()) return BindColumns(options.columns, header, header.size(), file);
  std::optional<std::vector<BoundColumn>> known = RecognizeColumns(header);
  if (!known) {
    return Fail(file + ": no known column names; name the columns with --columns time=...,util=... (columns: " +
                ListColumns(header) + ")");
  }
  return std::move(*known);
}

// The form in which a column's role needs it. Wide integers cost nothing, and spare DuckDB from copying dictionaries
// row by row.
TableType NeededForm(const BoundColumn& bound, TableType type, bool single_identity) {
  const ColumnKind kind = bound.role->kind;
  const bool number = kind == ColumnKind::kTime || kind == ColumnKind::kSignal;
  const bool index = kind == ColumnKind::kGpu && single_identity;
  if (kind == ColumnKind::kTime && TimestampUnit(type) != 0) return type;
  if ((number || index) && type == TableType::kInteger) return type;
  if (number && type == TableType::kReal) return type;
  return TableType::kText;
}

// The columns to read, and their forms.
std::vector<ParquetReader::Selection> Select(const std::vector<BoundColumn>& bound,
                                             const std::vector<StreamColumn>& columns) {
  const bool single_identity = std::count_if(bound.begin(), bound.end(), IsIdentity) == 1;
  std::vector<ParquetReader::Selection> selected;
  for (const BoundColumn& b : bound) {
    selected.push_back({b.position, NeededForm(b, columns[b.position].type, single_identity)});
  }
  return selected;
}

// The SQL that reads a column in a form. A number that a cast cannot hold becomes NULL.
std::string SqlColumn(const StreamColumn& column, TableType form) {
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

// A file and its source, which hears how far the file was read.
struct ParquetInput {
  const SeekableFile& file;
  ByteSource& in;
};

// Reads all chunks into samples. `rows` is how many the file has; 0: not known. With several threads, fetching runs
// ahead on a thread of its own.
Result<void> ReadRows(std::unique_ptr<TableStream> stream, const std::vector<BoundColumn>& bound,
                      const ParquetInput& input, std::uint64_t rows, const ImportOptions& options, ImportTarget& out) {
  ParquetTable table(bound, stream->columns(), options, input.in.name(), out);
  std::uint64_t done = 0;
  if (options.threads > 1) stream = Prefetched(std::move(stream));
  while (true) {
    const std::unique_ptr<TableChunk> chunk = TRY(stream->Next());
    if (chunk == nullptr) return table.Finish();
    TRY(table.Add(*chunk));
    done += chunk->rows();
    if (rows > 0) input.in.Passed(static_cast<std::uint64_t>(Int128{input.file.size()} * done / rows));
  }
}

// The rows of the file by its footer.
Result<std::uint64_t> CountRows(DuckDbConnection& connection, const std::string& from) {
  const std::unique_ptr<TableStream> counted = TRY(connection.Query("SELECT count(*)::BIGINT" + from));
  const std::unique_ptr<TableChunk> chunk = TRY(counted->Next());
  return chunk == nullptr ? 0 : static_cast<std::uint64_t>(chunk->Vector(0).Get<std::int64_t>(0));
}

// Queries the file with DuckDB. The file's columns come from an empty query first.
Result<void> ReadWithDuckDb(const ParquetInput& input, const ImportOptions& options, ImportTarget& out) {
  // More DuckDB threads do not speed up a result that is read in order.
  std::unique_ptr<DuckDbConnection> connection = TRY(OpenDuckDb(1));
  const std::string from = " FROM read_parquet(" + SqlText(input.file.alias()) + ", hive_partitioning = false)";
  // A query without rows tells names and types, which decide what to select.
  std::unique_ptr<TableStream> empty = TRY(connection->Query("SELECT *" + from + " LIMIT 0"));
  const std::vector<StreamColumn> columns = empty->columns();
  const std::vector<BoundColumn> bound = TRY(Bind(columns, options, input.in.name()));
  std::string select;
  for (const ParquetReader::Selection& s : Select(bound, columns)) {
    select += (select.empty() ? "SELECT " : ", ") + SqlColumn(columns[s.position], s.form);
  }
  const std::uint64_t rows = TRY(CountRows(*connection, from));
  std::unique_ptr<TableStream> stream = TRY(connection->Query(select + from));
  return ReadRows(std::move(stream), bound, input, rows, options, out);
}

// Uses ParquetReader if it covers the file, else DuckDB.
Result<void> ReadTable(const ParquetInput& input, const ImportOptions& options, ImportTarget& out) {
  const std::optional<ParquetReader> reader = ParquetReader::Open(input.file);
  if (!reader) return ReadWithDuckDb(input, options, out);
  const std::vector<BoundColumn> bound = TRY(Bind(reader->columns(), options, input.in.name()));
  std::unique_ptr<TableStream> stream = reader->Read(Select(bound, reader->columns()));
  if (stream == nullptr) return ReadWithDuckDb(input, options, out);
  return ReadRows(std::move(stream), bound, input, reader->rows(), options, out);
}

}  // namespace

// DuckDB's messages name the file by its alias, which is replaced by the name that the user gave.
Result<void> ImportParquet(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  const std::optional<SeekableFile> parquet = SeekableFile::Open(in.name());
  if (!parquet || !SniffParquet(parquet->Head(kParquetMagic.size()))) {
    return Fail(in.name() + ": Parquet is read by position, which needs a plain file; save or unpack it first");
  }
  const Result<void> done = ReadTable({*parquet, in}, options, out);
  if (done) return {};
  Error error = done.error();
  const std::size_t alias = error.message.find(parquet->alias());
  if (alias != std::string::npos) error.message.replace(alias, parquet->alias().size(), in.name());
  // Errors of pages do not name the file. Errors of usage are about a flag.
  if (error.message.find(in.name()) == std::string::npos && error.kind == Error::Kind::kFailed) {
    error.message.insert(0, in.name() + ": ");
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace idleburn
