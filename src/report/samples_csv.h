#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// The two forms of an export. kText is for people, spreadsheets and `idleburn audit`: RFC 3339 times, and words where a
// reading has no value. kTyped is for databases: times are nanoseconds since 1970, and cells without a value are empty.
enum class CsvForm : std::uint8_t { kText, kTyped };

// A column of a table that idleburn exports. The name of a signal's column includes its unit: "power.draw [W]".
struct CsvColumn {
  std::string name;
  std::string_view sql_type;
};

// Writes samples as a table, one row each: time, identity of the device, and a column for each signal of a set. An
// identity column exists only if some device of the run has that identity. `audit` reads the text form back.
//
// Memory is bounded: text is passed on in blocks of 64 KiB.
class SamplesCsv final : public SampleSink {
 public:
  using Write = std::function<Result<void>(std::string_view)>;

  // `signals` has a bit for each signal that gets a column. `devices` must outlive this object and already hold every
  // device of the samples. `write` receives the text piece by piece.
  SamplesCsv(const DeviceTable& devices, std::uint32_t signals, CsvForm form, Write write);

  [[nodiscard]] const std::vector<CsvColumn>& columns() const { return columns_; }
  void OnSamples(std::span<const Sample> samples) override;
  // Writes the rest. Returns the first error of `write`; nothing is passed on after an error.
  Result<void> Finish();
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  void Flush();

  std::uint32_t signals_;
  CsvForm form_;
  Write write_;
  std::vector<CsvColumn> columns_;
  std::vector<std::string> who_;  // by device: the cells that say who it is, each after a comma
  std::string text_;
  Result<void> written_;
  std::uint64_t rows_ = 0;
};

// A file under a temporary name. Rename gives it its name once it is complete; otherwise the destructor removes it. A
// reader therefore never sees half a table.
class PartFile {
 public:
  explicit PartFile(std::string path) : path_(std::move(path)) {}
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  Result<void> Rename(const std::string& name);

 private:
  std::string path_;
};

// Converts a CSV file with a header line to Parquet, by DuckDB. `columns` are those of the file, in order. `select`
// is the SQL list of what to keep, "*" for all. `output` appears only when it is complete.
Result<void> WriteParquet(const std::string& csv, std::span<const CsvColumn> columns, const std::string& select,
                          const std::string& output);

}  // namespace idleburn
