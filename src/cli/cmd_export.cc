#include <array>
#include <filesystem>
#include <memory>

#include "audit/classify_run.h"
#include "audit/join_inputs.h"
#include "audit/open_input.h"
#include "audit/read_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "os/folder.h"
#include "os/input_file.h"
#include "os/output_file.h"
#include "report/perfetto_output.h"
#include "report/samples_csv.h"
#include "terminal/output.h"
#include "terminal/progress.h"

// `idleburn export`: the samples of recordings as a table, for whoever wants to compute something of their own. All
// samples are joined and sorted first, as for an audit, so the rows of several inputs come in order of time.
//
// `--format perfetto` writes the idle gaps of a profiler's trace instead.
//
// Writes CSV. A file gets its name when it is complete. Standard output is written as it comes, so a pipe can begin at
// once.

namespace idleburn {
namespace {

constexpr std::array<ReportFormat, 3> kSampleFormats = {ReportFormat::kCsv, ReportFormat::kParquet,
                                                        ReportFormat::kPerfetto};

// The flags as they were written.
struct ExportRequest {
  std::vector<std::string> inputs;
  std::string output;
  bool quiet = false;
};

// The samples of all inputs, joined in order of time. Members refer to each other: the join writes into the others.
struct Samples {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  InputJoin join{devices, quality, owners};
};

// Reads all inputs. If there are several, their machines are told apart before the first one is read. Fails on a
// profiler's file, and if there is no reading of a GPU.
Result<void> ReadSamples(const ExportRequest& request, const ImportOptions& options, Progress& progress,
                         Samples& samples) {
  if (request.inputs.size() > 1) {
    const RecordedHosts machines = TRY(LookAtRecordings(request.inputs, options, &progress));
    TRY(samples.join.TellMachines(machines));
  }
  progress.Begin("reading", ProgressUnit::kBytes, SizeOfFiles(request.inputs));
  for (const std::string& path : request.inputs) {
    KnownInput input = TRY(OpenKnownInput(path, options, &progress));
    // A trace has events and no samples. An empty table would look like a machine without GPUs.
    if (input.importer == nullptr)
      return Fail(path + ": is a profiler's file without samples; use idleburn audit for it, or --format perfetto");
    TRY(samples.join.Read(input, options));
  }
  progress.End();
  if (samples.join.signals() != 0) return {};
  return Fail(request.inputs.front() + ": has no readings of a GPU, so there is nothing to export");
}

// Writes the table and returns the number of rows. Sets `columns` to the columns of the table, which depend on the
// signals that occurred.
Result<std::uint64_t> WriteTable(Samples& samples, CsvForm form, const SamplesCsv::Write& write, Progress& progress,
                                 std::vector<CsvColumn>* columns) {
  SamplesCsv csv(samples.devices, samples.join.signals(), form, write);
  *columns = csv.columns();
  TRY(samples.join.Deliver(csv, &progress));
  TRY(csv.Finish());
  return csv.rows();
}

// The same, to the file at `path`, which it replaces.
Result<std::uint64_t> WriteTableTo(const std::string& path, Samples& samples, CsvForm form, Progress& progress,
                                   std::vector<CsvColumn>* columns) {
  const std::unique_ptr<AppendFile> file = TRY(AppendFile::Create(path, kNamedFile));
  return WriteTable(
      samples, form, [&](std::string_view text) { return file->Append(text); }, progress, columns);
}

// A file appears only when it is complete; standard output is written as it comes.
Result<std::uint64_t> ExportCsv(const std::string& output, Samples& samples, Progress& progress) {
  std::vector<CsvColumn> columns;
  if (output.empty() || output == "-") {
    // The table itself shows how far it is, and a line between its rows would be in the way.
    Progress none;
    return WriteTable(samples, CsvForm::kText, Print, none, &columns);
  }
  PartFile part(output + ".part");
  const Result<std::uint64_t> rows = WriteTableTo(part.path(), samples, CsvForm::kText, progress, &columns);
  if (rows) TRY(part.Rename(output));
  return rows;
}

// Writes Parquet. DuckDB makes it from a CSV beside the output, which is removed afterwards. A writer of our own would
// be a second implementation of a format that DuckDB knows. The CSV is typed, so no type is guessed from its text.
Result<std::uint64_t> ExportParquet(const std::string& output, Samples& samples, Progress& progress) {
  const PartFile table(output + ".csv.part");
  std::vector<CsvColumn> columns;
  const Result<std::uint64_t> rows = WriteTableTo(table.path(), samples, CsvForm::kTyped, progress, &columns);
  if (!rows) return rows;
  progress.Begin("writing " + output, ProgressUnit::kRows);  // DuckDB does not say how far it is
  TRY(WriteParquet(table.path(), columns, "make_timestamp_ns(\"time\") AS \"time\", * EXCLUDE (\"time\")", output));
  return rows;
}

// Checks that the output can be written as asked. Parquet has its index at the end, so it needs a file. A device such
// as /dev/stdout cannot be replaced by a finished file.
Result<void> CheckExportRequest(const ExportRequest& request, ReportFormat format) {
  const bool to_stdout = request.output.empty() || request.output == "-";
  if (format == ReportFormat::kParquet && to_stdout) return FailUsage("export: Parquet needs a file; give -o FILE");
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(request.output, error);
  if (!to_stdout && std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return Fail(request.output + ": not a regular file; leave -o out to write to standard output");
  }
  return {};
}

// Diagnoses traces and writes their idle gaps as tracks for ui.perfetto.dev (report/perfetto_output.h). Fails on inputs
// without a trace.
Result<void> ExportPerfetto(const std::vector<std::string>& inputs, const std::string& output,
                            const ImportOptions& options, Progress& progress) {
  const Thresholds thresholds;
  const std::shared_ptr<RunInputs> run = TRY(Read(inputs, options, thresholds, &progress));
  TRY(ClassifyRun(*run));
  if (!run->trace || run->trace->devices.empty()) {
    return Fail(inputs.front() +
                ": has no GPU events of a profiler; --format perfetto writes the idle gaps of a trace");
  }
  if (output.empty() || output == "-") return WritePerfetto(run->profiles, *run->trace, Print);
  PartFile part(output + ".part");
  const std::unique_ptr<AppendFile> file = TRY(AppendFile::Create(part.path(), kNamedFile));
  TRY(WritePerfetto(run->profiles, *run->trace, [&](std::string_view text) { return file->Append(text); }));
  return part.Rename(output);
}

}  // namespace

Result<int> RunExport(const std::vector<std::string>& arguments, const Environment& environment) {
  ExportRequest request;
  // Samples have no phases and no price, so the settings of those have no flags here.
  CommandFlags flags({"import.timezone", "import.period", "import.start", "import.gpu", "import.columns",
                      "import.metric", "import.unit", "import.threads", "output."});
  flags.Writes(kSampleFormats);
  Flag& inputs = flags.Add("input", "FILE",
                           "recordings, or anything that audit reads; idleburn joins several files of one run "
                           "(NODE=FILE if FILE does not name its node)");
  inputs.list = &request.inputs;
  inputs.required = true;
  flags.Add("--output", "FILE", "write to FILE instead of standard output").text = &request.output;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  const auto settings = TRY(flags.Read(
      "export", "Writes the samples of recordings as a table, or the idle gaps of a trace for Perfetto.", arguments));
  if (!settings) return 0;
  std::map<std::string, std::string> hosts = TRY(TakeHosts(request.inputs));
  // The table must not overwrite a recording.
  TRY(SpareInputs(request.output, request.inputs));
  const ReportFormat format = TRY(ChooseFormat(*settings, "export", request.output, kSampleFormats));
  TRY(CheckExportRequest(request, format));
  ImportOptions options = TRY(ImportOptionsFrom(*settings));
  options.hosts = std::move(hosts);
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  if (format == ReportFormat::kPerfetto) {
    TRY(ExportPerfetto(request.inputs, request.output, options, progress));
    return 0;
  }
  Samples samples;
  TRY(ReadSamples(request, options, progress, samples));
  TRY(format == ReportFormat::kCsv ? ExportCsv(request.output, samples, progress)
                                   : ExportParquet(request.output, samples, progress));
  progress.End();
  // The table has no place for doubts, so they go to standard error.
  for (const QualityInfo& info : kQualityTable) {
    const DataQuality::Row& row = samples.quality.Get(info.id);
    if (row.count == 0 || info.severity == Severity::kInfo) continue;
    Say(Describe(info, row));
  }
  return 0;
}

}  // namespace idleburn
