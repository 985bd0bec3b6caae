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

// kText: for people, spreadsheets and `audit`: RFC 3339 times, and in words why a reading has no value. kTyped: for
// databases: times as nanoseconds since 1970, and empty cells.
enum class CsvForm : std::uint8_t { kText, kTyped };

// A column of the table that SamplesCsv writes. The unit of a signal is in its name.
struct CsvColumn {
  std::string name;
  std::string_view sql_type;
};

// Samples as a table, a row each: the time, who the device is as far as any device of the run says it, and a column for
// each signal of a set. `audit` reads it back. A reading that was not taken leaves its cell empty.
class SamplesCsv final : public SampleSink {
 public:
  using Write = std::function<Result<void>(std::string_view)>;

  // `signals`: bits of those that have a column. `devices` outlives this. `write` takes the text piece by piece.
  SamplesCsv(const DeviceTable& devices, std::uint32_t signals, CsvForm form, Write write);

  [[nodiscard]] const std::vector<CsvColumn>& columns() const { return columns_; }
  void OnSamples(std::span<const Sample> samples) override;
  // Writes the rest; the first error of `write`, if there was one.
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

// A file that gets its name when it is whole, and is removed if that never happens.
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

// Writes a table of text with a header line as Parquet, by DuckDB. `select` names what of it, "*" for all.
Result<void> WriteParquet(const std::string& csv, std::span<const CsvColumn> columns, const std::string& select,
                          const std::string& output);

}  // namespace idleburn
