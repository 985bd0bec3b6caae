#include "report/samples_csv.h"

#include <array>
#include <filesystem>
#include <utility>

#include "import/duckdb_query.h"
#include "os/output_file.h"
#include "text/strings.h"
#include "text/time_zone.h"

// Exports readings as CSV and Parquet. Samples pass through in one go, and only a block of text is in memory: a
// recording of a cluster may have billions of readings.
//
// Values are printed from integers, so an export loses nothing, and `idleburn audit` reads the text form back. Parquet
// is made by DuckDB from the typed CSV. Writing Parquet here was rejected: the format is large, and DuckDB is linked
// for reading it anyway.

namespace idleburn {
namespace {

// Bytes that are collected before they are passed on.
constexpr std::size_t kBlock = std::size_t{1} << 16;

// How values of a unit are printed: with so many decimals, in the unit that the suffix names. 12500 mW is "12.5" in
// the column "power.draw [W]".
struct CsvUnit {
  Unit unit;
  std::string_view suffix;
  int decimals;
};
constexpr std::array<CsvUnit, 9> kCsvUnits = {{
    {Unit::kMicroPercent, " [%]", 6},
    {Unit::kMilliwatt, " [W]", 3},
    {Unit::kMillijoule, " [mJ]", 0},
    {Unit::kKilohertz, " [MHz]", 3},
    {Unit::kByte, " [B]", 0},
    {Unit::kMillicelsius, " [C]", 3},
    {Unit::kMask, "", 0},
    {Unit::kCount, "", 0},
    {Unit::kBytePerSecond, " [B/s]", 0},
}};
// The table is indexed by Unit. A new unit without a row then stops the build.
constexpr bool UnitsInOrder() {
  for (std::size_t i = 0; i < kCsvUnits.size(); ++i) {
    if (static_cast<std::size_t>(kCsvUnits[i].unit) != i) return false;
  }
  return true;
}
static_assert(UnitsInOrder());

// The row of a signal's unit.
const CsvUnit& CsvUnitOf(Signal signal) { return kCsvUnits[static_cast<std::size_t>(Info(signal).unit)]; }

// The words that nvidia-smi prints for a missing value, because readers of such tables know them.
std::string_view WordsOf(Unobserved why) {
  if (why == Unobserved::kUnsupported) return "[N/A]";
  return why == Unobserved::kPermission ? "[Insufficient Permissions]" : "[Unknown Error]";
}

// Prints an integer with `decimals` decimals and without trailing zeros: 12500 with 3 gives "12.5". Integers only: a
// double could not hold every reading.
void PutDecimal(std::string& out, std::int64_t value, int decimals) {
  const bool negative = value < 0;
  // The smallest integer has no positive counterpart, so it is negated as unsigned.
  const std::uint64_t magnitude =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::string digits = std::to_string(magnitude);
  const auto places = static_cast<std::size_t>(decimals);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  std::string fraction = digits.substr(digits.size() - places);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (negative) out += '-';
  out.append(digits, 0, digits.size() - places);
  if (!fraction.empty()) out += '.' + fraction;
}

// The index, or without one the bus id: "0", "0000:19:00.0".
std::string GpuOf(const Device& device) { return device.index ? std::to_string(*device.index) : device.bus_id; }

// A column that says which device a row is about.
struct Identity {
  std::string_view name;
  std::string (*of)(const Device& device);
};
// An instance is identified by its id on the board that the other columns name.
constexpr std::array<Identity, 6> kIdentity = {{
    {"uuid", [](const Device& device) { return device.uuid; }},
    {"gpu", GpuOf},
    {"mig_id", [](const Device& device) { return device.mig ? device.mig->id : ""; }},
    {"mig_profile", [](const Device& device) { return device.mig ? device.mig->profile : ""; }},
    {"name", [](const Device& device) { return device.name; }},
    {"host", [](const Device& device) { return device.host; }},
}};

}  // namespace

// The header needs every device, because an identity column exists only if some device has that identity. Cells that
// identify a device are built once, not for each sample.
SamplesCsv::SamplesCsv(const DeviceTable& devices, std::uint32_t signals, CsvForm form, Write write)
    : signals_(signals), form_(form), write_(std::move(write)), who_(devices.size()) {
  columns_.push_back({"time", "BIGINT"});
  for (const Identity& identity : kIdentity) {
    bool known = false;
    for (DeviceId id = 0; id < devices.size(); ++id) known = known || !identity.of(devices[id]).empty();
    if (!known) continue;
    columns_.push_back({std::string(identity.name), "VARCHAR"});
    for (DeviceId id = 0; id < devices.size(); ++id) who_[id] += "," + CsvCell(identity.of(devices[id]));
  }
  for (const SignalInfo& info : kSignals) {
    if ((signals_ & Bit(info.id)) == 0) continue;
    const CsvUnit& unit = CsvUnitOf(info.id);
    columns_.push_back({std::string(info.name) + std::string(unit.suffix), unit.decimals > 0 ? "DOUBLE" : "BIGINT"});
  }
  text_ += ListText(columns_, ",", [](const CsvColumn& column) { return CsvCell(column.name); }) + '\n';
}

void SamplesCsv::OnSamples(std::span<const Sample> samples) {
  for (const Sample& sample : samples) {
    text_ += form_ == CsvForm::kText ? FormatRfc3339(sample.time) : std::to_string(sample.time.nanos());
    text_ += who_[sample.device];
    // Goes over the set bits, lowest first, which is the order of the columns.
    for (std::uint32_t rest = signals_; rest != 0; rest &= rest - 1) {
      const auto signal = static_cast<Signal>(__builtin_ctz(rest));
      text_ += ',';
      if (sample.Has(signal)) {
        PutDecimal(text_, sample.Get(signal), CsvUnitOf(signal).decimals);
      } else if (sample.Lacks(signal) && form_ == CsvForm::kText) {
        text_ += WordsOf(sample.reason);
      }
    }
    text_ += '\n';
    ++rows_;
    if (text_.size() >= kBlock) Flush();
  }
}

// After an error nothing more is passed on, but samples are still accepted: a sink cannot stop its source.
void SamplesCsv::Flush() {
  if (written_) written_ = write_(text_);
  text_.clear();
}

Result<void> SamplesCsv::Finish() {
  Flush();
  return written_;
}

// An error here has nobody to tell; the file keeps its temporary name and can be removed by hand.
PartFile::~PartFile() {
  if (!path_.empty()) static_cast<void>(RemoveFile(path_));
}

Result<void> PartFile::Rename(const std::string& name) {
  std::error_code error;
  std::filesystem::rename(path_, name, error);
  if (error) return Fail(name + ": cannot be written: " + error.message());
  path_.clear();
  return {};
}

// Types are given and not detected: a column of UUIDs that look like numbers must stay text.
Result<void> WriteParquet(const std::string& csv, std::span<const CsvColumn> columns, const std::string& select,
                          const std::string& output) {
  const std::unique_ptr<DuckDbConnection> duckdb = TRY(OpenDuckDb(1));
  PartFile part(output + ".part");
  const std::string types = ListText(
      columns, ", ", [](const CsvColumn& column) { return SqlText(column.name) + ": " + SqlText(column.sql_type); });
  const Result<std::unique_ptr<TableStream>> done = duckdb->Query(
      "COPY (SELECT " + select + " FROM read_csv(" + SqlText(csv) +
      ", header = true, auto_detect = false, delim = ',', quote = '\"', " + "escape = '\"', columns = {" + types +
      "})) TO " + SqlText(part.path()) + " (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION 'V2')");
  if (!done) return Fail(output + ": cannot be written: " + done.error().message);
  return part.Rename(output);
}

}  // namespace idleburn
