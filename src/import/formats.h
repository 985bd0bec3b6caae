#pragma once

#include <string_view>

#include "import/importer.h"

namespace idleburn {

// The functions behind the rows of Importers(). Each format has a Sniff, which looks at the first 64 KiB of an input,
// and an Import, which turns the input into samples. The comments here say what a format looks like and what limits
// its reading; docs/formats/ describes the formats for users. import/importers.cc lists them in the order in which they
// are asked.
//
// An Import fails if the input holds nothing that can be measured. Rows that it cannot read are counted in
// ImportTarget::quality.

// A recording made by idleburn (docs/recording.md): finished, cut off, or still being written. GPU samples go to the
// sink in recorded order. Host samples, work marks, notes and facts go to ImportTarget::beside. Recordings keep
// values as measured, so an impossible value becomes unavailable here.
bool SniffRecording(std::string_view head);
Result<void> ImportRecording(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Logs of nvidia-smi.

// `nvidia-smi --query-gpu=... --format=csv[,nounits]` with its header line. Read on ImportOptions::threads threads,
// with the same result for every number of threads. Rows of a log that names no GPU are assigned by SweepIdentity.
// See docs/formats/nvidia_smi.md.
bool SniffNvidiaSmiCsv(std::string_view head);
Result<void> ImportNvidiaSmiCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// `nvidia-smi --query-compute-apps=... --format=csv`. The samples count processes by GPU and time. A GPU that had
// processes and has no row in a later sweep has none then, because the query lists every GPU.
bool SniffComputeAppsCsv(std::string_view head);
Result<void> ImportComputeAppsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// `nvidia-smi dmon` and `nvidia-smi pmon`. GPUs are known by index only. Sweeps without times are --period apart, or
// a second, the default interval of both tools. pmon gives the number of compute processes and no utilization.
bool SniffNvidiaSmiMon(std::string_view head);
Result<void> ImportNvidiaSmiMon(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// `nvidia-smi -q -x`, of any schema version. A loop (`-l`) writes many documents into one file.
bool SniffNvidiaSmiXml(std::string_view head);
Result<void> ImportNvidiaSmiXml(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Logs of other vendor tools.

// `dcgmi dmon -e FIELDS` as printed: a header of short names that repeats, a line of units, and a row for each GPU. The
// rows carry no times, so --start gives the time of the first sweep and --period the distance between sweeps (`-d`). A
// sweep ends where a GPU repeats.
bool SniffDcgmiDmon(std::string_view head);
Result<void> ImportDcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// `dcgmi stats -v -j JOB`. Each job gives a sample at its start, which carries the job's averages, and an empty sample
// at its end unless the next job starts there. That says how busy a GPU was on average, and not when. Samples are in
// time order for one GPU but not across GPUs.
bool SniffDcgmiStats(std::string_view head);
Result<void> ImportDcgmiStats(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// `rocm-smi --json` with any of its options. The output has no stamps: the first document is a scrape at --start, or
// at second 0, and each further document in the file is --period later, or a second. At most kMaxJsonBytes.
bool SniffRocmSmi(std::string_view head);
Result<void> ImportRocmSmi(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Logs of sampling agents.

// JSON lines: {"mono_ns", "wall_ns", "gpu_uuid" or "gpu_index", "util_pct", ...}. Time follows the monotonic clock,
// anchored to the wall clock of the host's first line. A step of the wall clock therefore moves nothing, but the
// interval it falls into counts as no data.
bool SniffAgentJsonl(std::string_view head);
Result<void> ImportAgentJsonl(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// InfluxDB line protocol with the measurement `nvidia_smi`, as Telegraf's file output and `influxd inspect export-lp`
// write it. A line holds all fields of a GPU or only one. Lines of other measurements are counted.
bool SniffTelegraf(std::string_view head);
Result<void> ImportTelegraf(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Metrics stores and exporters.

// Prometheus text format or OpenMetrics, ordered by scrape or by series, from dcgm-exporter and the other exporters
// of import/metric_table.h. Samples without a stamp belong to a scrape at --start, or at second 0. Where a series
// repeats without stamps, a new scrape begins --period later, or a second. Memory grows with devices, series (up to a
// limit) and jobs, but not with scrapes. Readings come out in file order.
bool SniffPrometheus(std::string_view head);
Result<void> ImportPrometheus(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Answers of the Prometheus HTTP API (query, query_range), the bare results that `promtool query -o json` prints, and
// the data frames that Grafana exports. Memory is constant, and the samples equal those of the text format. A result
// that cannot describe a GPU (a scalar, a string, an error) is an error. So is a series without a name, unless --metric
// names it.
bool SniffPrometheusJson(std::string_view head);
Result<void> ImportPrometheusJson(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Answers of AWS CloudWatch GetMetricData with metrics of the CloudWatch agent (namespace CWAgent), one page or many. A
// result carries only an Id and a Label. Device and metric come from the dimensions of a MetricDataQueries array in the
// same file, else from the words of the label. At most kMaxJsonBytes.
bool SniffCloudWatch(std::string_view head);
Result<void> ImportCloudWatch(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Answers of Google Cloud Monitoring's projects.timeSeries.list: metrics of the Ops Agent, and those that Managed
// Service for Prometheus stores under prometheus.googleapis.com/NAME/KIND. Pages may follow one another, and the points
// of a series come newest first. At most kMaxJsonBytes.
bool SniffGcpMonitoring(std::string_view head);
Result<void> ImportGcpMonitoring(ByteSource& in, const ImportOptions& options, ImportTarget& out);

// Tables with columns of any name, where a row is one reading of one GPU. --columns says what each column means;
// without it, columns are found by the usual names (RecognizeColumns).

// A delimiter-separated table. It may lack a header if --columns names every column by position.
Result<void> ImportColumnsCsv(ByteSource& in, const ImportOptions& options, ImportTarget& out);
// True for any table of at least two columns. Only asked for inputs that --columns applies to.
bool SniffColumnsCsv(std::string_view head);
// True for a table that can be read without --columns.
bool SniffUsualColumnsCsv(std::string_view head);

// A Parquet file, read by ParquetReader, or by DuckDB's C library where ParquetReader does not cover it. Parquet needs
// random access, so `in` must name a plain file; standard input and compressed files are errors.
bool SniffParquet(std::string_view head);
Result<void> ImportParquet(ByteSource& in, const ImportOptions& options, ImportTarget& out);

}  // namespace idleburn
