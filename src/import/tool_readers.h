#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/importer.h"
#include "text/line_reader.h"

namespace idleburn {

// Readers for the output of vendor tools. A reader turns output into records, mostly of text that is not interpreted
// yet; the importer of the format (import/formats.h) turns the records into samples. The two are apart so that tests
// can check either alone: whether text is cut into the right cells, and whether cells become the right readings.
//
// Readers take what tools really leave in files: repeated headers, several documents in one file, rows cut off by a
// kill. They count such rows in DataQuality and go on. An input that has nothing they know is an error.

// Values of one record by path ("utilization/gpu_util"). If a path repeats, the first value counts. A path that is
// not there is different from a value of "N/A": the tool's version lacks the field, or the GPU does.
class Leaves {
 public:
  void Add(std::string path, std::string_view text) { texts_.try_emplace(std::move(path), text); }
  [[nodiscard]] std::optional<std::string_view> Find(std::string_view path) const {
    const auto found = texts_.find(path);
    return found == texts_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  // As Find, but "" if the path is absent. For values where empty and absent mean the same.
  [[nodiscard]] std::string_view Get(std::string_view path) const { return Find(path).value_or(std::string_view()); }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& all() const { return texts_; }

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

// One <gpu> element of `nvidia-smi -q -x`. Elements are found by path, so a schema that adds elements does no harm.
struct SmiGpu {
  std::string id;                   // the `id` attribute: the PCI bus id
  Leaves leaves;                    // without the list of supported clocks
  std::vector<Leaves> processes;    // "pid", "type", "process_name", "used_memory", "gpu_instance_id", ...
  std::vector<Leaves> mig_devices;  // "gpu_instance_id", "compute_instance_id", "fb_memory_usage/used", ...
};

// One document of `nvidia-smi -q -x`.
struct SmiDocument {
  std::string dtd;  // "v12"; empty if the document names none
  Leaves leaves;    // "timestamp", "driver_version", "cuda_version", "attached_gpus"
  std::vector<SmiGpu> gpus;
  std::int64_t line = 0;  // where the document begins
};

// Reads `nvidia-smi -q -x` one document at a time. Memory is bounded by the largest document, at most 16 MiB. Entity
// declarations are refused and external entities are never fetched.
class SmiXmlReader {
 public:
  SmiXmlReader(ByteSource& in, DataQuality& quality);
  ~SmiXmlReader();
  SmiXmlReader(const SmiXmlReader&) = delete;
  SmiXmlReader& operator=(const SmiXmlReader&) = delete;

  // True and the next whole document, or false at the end. A document that is cut off or is not XML is counted and
  // dropped; if no document at all can be read, that is an error. A document beyond the limits is an error.
  Result<bool> Next(SmiDocument* document);

 private:
  // expat stays out of this header.
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads rows of `nvidia-smi dmon` (a row per GPU) and `nvidia-smi pmon` (a row per process and GPU). Column names come
// from the '#' header lines, which repeat and may change within a log. A row that does not fit is counted and skipped.
class MonReader {
 public:
  MonReader(ByteSource& in, DataQuality& quality);

  // True if there is another row, whose cells are valid until the next call. False at the end.
  Result<bool> Next();
  // The cell of a column as written, "-" included. Absent if the log has no such column.
  [[nodiscard]] std::optional<std::string_view> Cell(std::string_view column) const;
  // Names of the current header, in lower case.
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // The number of the current header. It grows when a header with other columns appears.
  [[nodiscard]] int header() const { return header_; }
  [[nodiscard]] Place place() const { return {&lines_.name(), lines_.number()}; }

 private:
  void TakeHeader(std::string_view line);
  bool TakeRow(std::string_view line);

  LineReader lines_;
  DataQuality& quality_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;
  int header_ = 0;
  std::size_t row_end_ = 0;  // where the previous row's last cell before a command ended, under the same header
};

// A row of `nvidia-smi --query-compute-apps`, a process with a compute context. Cells are as written ("[N/A]"
// included). A column that the query did not ask for is absent.
struct ComputeApp {
  enum Column : std::uint8_t { kTimestamp, kGpuName, kBusId, kSerial, kUuid, kPid, kProcessName, kUsedMemory };
  static constexpr std::size_t kColumnCount = 8;

  std::array<std::optional<std::string_view>, kColumnCount> cells;  // valid until the next row
  [[nodiscard]] std::string_view Get(Column c) const { return cells[c].value_or(std::string_view()); }
};

// Reads `nvidia-smi --query-compute-apps` row by row. Columns come in any order. A row that does not fit the header is
// counted and skipped.
class ComputeAppsReader {
 public:
  ComputeAppsReader(ByteSource& in, DataQuality& quality);
  // True and the next row, or false at the end. An input without a header is an error.
  Result<bool> Next(ComputeApp* app);
  // True if the query asked for that column.
  [[nodiscard]] bool Has(ComputeApp::Column column) const;
  [[nodiscard]] Place place() const { return {&lines_.name(), lines_.number()}; }

 private:
  bool TakeHeader(std::string_view line);
  bool TakeRow(std::string_view line, ComputeApp* app) const;

  LineReader lines_;
  DataQuality& quality_;
  std::vector<std::optional<ComputeApp::Column>> columns_;  // absent: a column that is not used
};

// The table that `dcgmi stats -v -j JOB` (or `-p PID`) prints for one GPU: totals and averages over a whole job. DCGM
// accumulates them while the job runs, so there are no single readings.
struct DcgmiGpu {
  std::string job;  // "train-40017"; empty if no line named a job
  std::string id;   // DCGM's GPU id
  // By "<section>/<key>": "Performance Stats/SM Utilization (%)" -> "Avg: 91, Max: 100, Min: 0". A key that continues
  // the key above it is spelled out: "Slowdown Stats/Due to - Thermal (%)".
  Leaves leaves;
  std::vector<Leaves> processes;  // "PID", "Avg SM Utilization (%)", "Avg Memory Utilization (%)"
  std::int64_t line = 0;          // where the table begins
};

// One figure of a cell that holds several: ("Avg: 91, Max: 100, Min: 0", "Max") -> "100". Absent if it is not there.
std::optional<std::string_view> Figure(std::string_view cell, std::string_view name);

// Reads `dcgmi stats -v` one GPU's table at a time. A row that is cut off is counted and skipped.
class DcgmiReader {
 public:
  DcgmiReader(ByteSource& in, DataQuality& quality);
  // True and the next GPU, or false at the end. An input without any table is an error.
  Result<bool> Next(DcgmiGpu* gpu);

 private:
  void TakeLine(std::string_view line);
  void TakeCell(std::string_view key, std::string_view value);

  LineReader lines_;
  DataQuality& quality_;
  std::string job_;
  std::optional<DcgmiGpu> open_;  // the table being read
  std::optional<DcgmiGpu> done_;  // the table before it
  std::string section_;
  std::string group_;    // "Due to", which the keys below continue
  bool closed_ = false;  // the last line was the lower border of a table
  bool any_ = false;
};

// One card of `rocm-smi --json`, in the units of the signals. A field that a card does not have is absent or empty, and
// never 0.
struct RocmCard {
  std::string card;       // "card0"
  std::string unique_id;  // "0x79ccd55167a2124a"
  std::string serial_number;
  std::string bus_id;
  std::string series;
  std::string model;
  std::string gfx_version;
  std::optional<std::int64_t> use;         // micro-percent
  std::optional<std::int64_t> memory_use;  // micro-percent: activity, not occupancy
  std::optional<std::int64_t> power;       // milliwatts
  std::optional<std::int64_t> max_power;
  std::optional<std::int64_t> edge;  // millicelsius
  std::optional<std::int64_t> junction;
  std::optional<std::int64_t> sclk;        // kilohertz
  std::optional<std::int64_t> vram_total;  // bytes
  std::optional<std::int64_t> vram_used;
  std::optional<std::int64_t> vis_vram_total;  // the part of the same memory that the CPU sees
  std::optional<std::int64_t> vis_vram_used;
  // A known field that has no usable value, and the row of DataQuality that counts it.
  struct Missing {
    std::string key;
    QualityId why;
  };
  std::vector<Missing> missing;      // known fields without a usable value: "N/A", or not a number
  std::vector<std::string> unknown;  // keys of no known field
};

// One document of `rocm-smi --json`.
struct RocmReport {
  std::vector<RocmCard> cards;
  std::string driver_version;
};

// Parses one document. Fails if it is not JSON. Keys are matched in any case, because ROCm 6.1 changed theirs.
Result<RocmReport> ParseRocmSmi(std::string_view json);

}  // namespace idleburn
