#include <algorithm>
#include <array>

#include "import/formats.h"
#include "import/importer.h"
#include "text/number.h"
#include "text/time_zone.h"

namespace idleburn {

// The table of formats, and what to say about files that are none of them. People give what they have, such as a
// screen copy of nvidia-smi, so the commonest mistakes are recognized and answered with the command that records a
// log.

std::span<const Importer> Importers() {
  // Order matters: a recording or a Parquet file is unmistakable, while "CSV of usual columns" fits many logs. "CSV
  // with --columns" comes early, because a user who names columns wants them used even if the file also looks like
  // another format. Columns: name, clock, in time order, only with --columns, sniff, import.
  static constexpr auto kImporters = std::to_array<Importer>({
      {"recordings", ClockDomain::kMonotonic, true, false, SniffRecording, ImportRecording},
      {"Parquet", ClockDomain::kWall, true, false, SniffParquet, ImportParquet},
      {"CSV with --columns", ClockDomain::kWall, true, true, SniffColumnsCsv, ImportColumnsCsv},
      {"nvidia-smi XML", ClockDomain::kWall, true, false, SniffNvidiaSmiXml, ImportNvidiaSmiXml},
      {"nvidia-smi compute apps", ClockDomain::kWall, true, false, SniffComputeAppsCsv, ImportComputeAppsCsv},
      {"nvidia-smi CSV", ClockDomain::kWall, true, false, SniffNvidiaSmiCsv, ImportNvidiaSmiCsv},
      {"nvidia-smi dmon/pmon", ClockDomain::kWall, true, false, SniffNvidiaSmiMon, ImportNvidiaSmiMon},
      {"dcgmi dmon", ClockDomain::kWall, false, false, SniffDcgmiDmon, ImportDcgmiDmon},
      {"dcgmi stats", ClockDomain::kWall, false, false, SniffDcgmiStats, ImportDcgmiStats},
      {"agent samples", ClockDomain::kMonotonic, true, false, SniffAgentJsonl, ImportAgentJsonl},
      {"rocm-smi JSON", ClockDomain::kNone, true, false, SniffRocmSmi, ImportRocmSmi},
      {"CloudWatch JSON", ClockDomain::kWall, false, false, SniffCloudWatch, ImportCloudWatch},
      {"Google Cloud Monitoring JSON", ClockDomain::kWall, false, false, SniffGcpMonitoring, ImportGcpMonitoring},
      {"Prometheus JSON", ClockDomain::kWall, false, false, SniffPrometheusJson, ImportPrometheusJson},
      {"Prometheus text", ClockDomain::kWall, false, false, SniffPrometheus, ImportPrometheus},
      {"Telegraf line protocol", ClockDomain::kWall, false, false, SniffTelegraf, ImportTelegraf},
      {"CSV of usual columns", ClockDomain::kWall, true, false, SniffUsualColumnsCsv, ImportColumnsCsv},
  });
  return kImporters;
}

namespace {

// Texts that identify files which people give by mistake, and what to give instead. The first match counts.
struct Mistake {
  std::string_view mark;
  std::string_view advice;
};
constexpr auto kMistakes = std::to_array<Mistake>({
    {"| NVIDIA-SMI ",
     "is nvidia-smi's human-readable output; record nvidia-smi --query-gpu=timestamp,index,uuid,name,"
     "utilization.gpu,power.draw,memory.used --format=csv -l 1"},
    {"==NVSMI LOG==", "is the human-readable output of nvidia-smi -q; record nvidia-smi -q -x -l 1"},
    {"NVIDIA-SMI has failed", "is nvidia-smi's error when no driver answers; nothing was recorded: check the driver"},
    {"Failed to initialize NVML",
     "is nvidia-smi's error when no driver answers; nothing was recorded: check the driver, and whether a container "
     "was given the GPUs"},
    {"No devices were found", "is nvidia-smi's error when it sees no GPU; nothing was recorded"},
    {"is not a valid field to query",
     "is nvidia-smi's error for a misspelt field; nothing was recorded: see "
     "nvidia-smi --help-query-gpu"},
    {"} =>",
     "is the human-readable output of promtool query; ask for JSON: promtool query instant -o json SERVER METRIC[1h]"},
    {"<html", "is a web page, perhaps of an error or a login; fetch the metrics again"},
    {"\"query_time\"",
     "is gpustat's view of one moment; record nvidia-smi --query-gpu=timestamp,index,uuid,name,utilization.gpu,"
     "power.draw,memory.used --format=csv -l 1"},
    {"ChargePeriodStart",
     "is a billing export (FOCUS): it has payments and no GPU readings; compare a plan with it: "
     "idleburn tco SCENARIO --actuals FILE"},
    {"JobID",
     "is Slurm's accounting (sacct): it has jobs and no GPU readings; give it together with GPU records of that time: "
     "Prometheus, dcgmi stats or nvidia-smi"},
    {"\"gfx_activity\"", "is amd-smi; record rocm-smi --showuse --showpower --showmeminfo vram --json in a loop"},
});

// Files that hold other files, by their magic bytes at a position. Such a file has the text of its content in it, so
// these are checked before any other format. For example, the name of a tar archive's first member stands at its
// start, and "ustar" at byte 257.
struct Archive {
  std::size_t at;
  std::string_view mark;
  std::string_view advice;
};
constexpr auto kArchives = std::to_array<Archive>({
    {257, "ustar", "is a tar archive; unpack it and give the files in it"},
    {0, std::string_view("PK\x03\x04", 4), "is a zip archive; unpack it and give the files in it"},
    {0, "7z\xBC\xAF", "is a 7z archive; unpack it and give the files in it"},
    {0, "BZh", "is packed with bzip2; unpack it (bunzip2), or pack it with gzip, xz or zstd"},
    {0, "\x1F\x8B", "is packed twice; unpack it once"},
});

// True if the first line is a row of nvidia-smi, as `--format=csv,noheader` writes it: a time, then a comma.
bool IsRowWithoutHeader(std::string_view head) {
  std::string_view line = Trim(head.substr(0, head.find('\n')));
  CivilTime time;
  bool zoned = false;
  return TakeCivilTime(line, &time, &zoned) && !line.empty() && line.front() == ',';
}

}  // namespace

std::string_view ArchiveFor(std::string_view head) {
  const auto* const found = std::find_if(kArchives.begin(), kArchives.end(), [head](const Archive& archive) {
    return head.size() > archive.at && head.substr(archive.at, archive.mark.size()) == archive.mark;
  });
  return found == kArchives.end() ? std::string_view() : found->advice;
}

std::string_view MistakenFor(std::string_view head) {
  if (IsRowWithoutHeader(head)) {
    return "has no line that names its columns; record without noheader, or name the columns: --columns "
           "time=#1,gpu=#2,util=#3";
  }
  const auto* const found = std::find_if(kMistakes.begin(), kMistakes.end(), [head](const Mistake& mistake) {
    return head.find(mistake.mark) != std::string_view::npos;
  });
  return found == kMistakes.end() ? std::string_view() : found->advice;
}

}  // namespace idleburn
