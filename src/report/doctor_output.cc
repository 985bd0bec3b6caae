#include "report/doctor_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "report/json_values.h"
#include "text/figures.h"
#include "text/json.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/table.h"

// What the doctor found, for people and for programs. The counts and the troubles come first, because most readers stop
// there. Each trouble has its evidence and its remedy: a warning without a remedy only worries.
//
// The table below lists what was read, also where all is well. A user who reports a problem copies it, and it must
// answer the first questions.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// The numbers of the first line. A check of a quantity says whether idleburn can measure it; any check may warn or
// fail.
struct Counts {
  int can = 0;
  int cannot = 0;
  int warnings = 0;
  int failures = 0;
};

// Only a check of a quantity counts as measurable or not; warnings and failures count for every check.
Counts CountsOf(std::span<const CheckResult> results) {
  Counts counts;
  for (const CheckResult& result : results) {
    const CheckStatus status = result.verdict.status;
    if (result.check->quantity) ++(status == CheckStatus::kOk ? counts.can : counts.cannot);
    counts.warnings += status == CheckStatus::kWarning ? 1 : 0;
    counts.failures += status == CheckStatus::kFailure ? 1 : 0;
  }
  return counts;
}

// For counted words with a plain plural.
std::string Several(int n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// Failures, then warnings, each with the evidence and the remedy. The remedy starts with "->", so the eye finds it.
std::string Troubles(std::span<const CheckResult> results, int width) {
  std::string text;
  for (const CheckStatus status : {CheckStatus::kFailure, CheckStatus::kWarning}) {
    for (const CheckResult& result : results) {
      if (result.verdict.status != status) continue;
      text += fmt::format("\n{} {}: {}\n", Name(status), result.check->id, result.check->what);
      for (const std::string& line : {result.verdict.evidence, "-> " + result.verdict.fix}) {
        for (const std::string& part : WrapWords(Printable(line), std::max(width - 2, 20))) text += "  " + part + "\n";
      }
    }
  }
  return text;
}

// Storage speeds: each way of reading, cold and warm. MB are 10^6 bytes. A speed that could not be measured is
// "unknown" and ends its row. Cold reads show the disk and warm reads the page cache; a large difference explains a
// slow first epoch.
std::string SpeedTable(const StorageProbe& probe, int width) {
  std::vector<TableColumn> columns(7);
  constexpr std::array<const char*, 7> kHeaders = {"reads", "cache", "MB/s", "reads/s", "p50 ms", "p99 ms", "MB read"};
  for (std::size_t i = 0; i < kHeaders.size(); ++i) {
    columns[i].header = kHeaders[i];
    if (i >= 2) columns[i].align = TableColumn::Align::kRight;
  }
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < kReadWays.size(); ++i) {
    const auto add = [&](const char* cache, const ReadSpeed& speed) {
      TableRow& row = rows.emplace_back(TableRow{std::string(kReadWays[i].id), cache});
      if (!speed.unknown.empty()) return row.emplace_back("unknown"), void();
      const auto ms = [](Nanos time) { return ThreeDigits(static_cast<double>(time.count()) / 1e6); };
      row.push_back(ThreeDigits(speed.BytesPerSecond() / 1e6));
      row.push_back(ThreeDigits(speed.ReadsPerSecond()));
      row.push_back(ms(speed.p50));
      row.push_back(ms(speed.p99));
      row.push_back(ThreeDigits(static_cast<double>(speed.bytes) / 1e6));
    };
    add("cold", probe.speeds[i].cold);
    add("warm", probe.speeds[i].warm);
  }
  return LayOutTable(columns, rows, width, 0);
}

// One measured way of reading. `unknown` says why there is no speed. Values are in base units; only text uses MB.
Json SpeedJson(const ReadWay& way, const char* cache, const ReadSpeed& speed) {
  const bool known = speed.unknown.empty();
  Json json;
  json["id"] = way.id;
  json["cache"] = cache;
  json["block_bytes"] = way.block;
  json["bytes"] = speed.bytes;
  json["bytes_per_second"] = known ? Json(speed.BytesPerSecond()) : Json(nullptr);
  json["reads_per_second"] = known ? Json(speed.ReadsPerSecond()) : Json(nullptr);
  json["p50_s"] = known ? Json(InSeconds(speed.p50)) : Json(nullptr);
  json["p99_s"] = known ? Json(InSeconds(speed.p99)) : Json(nullptr);
  json["unknown"] = known ? Json(nullptr) : Json(Printable(speed.unknown));
  return json;
}

// The probed data set: its files, how fast they read, and what a recorded run read of it (--run), if asked.
Json DataJson(const DoctorReadings& readings, const StorageProbe& probe) {
  Json json;
  json["path"] = Printable(readings.question.probe.path);
  json["files"] = probe.data.files.size();
  json["all_listed"] = probe.data.all;
  json["bytes"] = probe.data.bytes;
  json["median_bytes"] = probe.data.files.empty() ? Json(nullptr) : Json(probe.data.MedianBytes());
  json["links"] = probe.data.links;
  json["unreadable"] = probe.unreadable + probe.data.closed;
  json["threads"] = probe.threads;
  json["reads"] = Json::array();
  for (std::size_t i = 0; i < kReadWays.size(); ++i) {
    json["reads"].push_back(SpeedJson(kReadWays[i], "cold", probe.speeds[i].cold));
    json["reads"].push_back(SpeedJson(kReadWays[i], "warm", probe.speeds[i].warm));
  }
  json["run"] = nullptr;
  if (readings.run_reads && *readings.run_reads) {
    const RunReads& run = **readings.run_reads;
    json["run"]["scope"] = kHostScopeNames[static_cast<std::size_t>(run.scope)];
    json["run"]["seconds"] = InSeconds(run.watched);
    json["run"]["read_bytes_per_second"] = run.storage ? Json(*run.storage) : Json(nullptr);
    json["run"]["read_chars_per_second"] = run.asked ? Json(*run.asked) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string DoctorText(const DoctorReport& report, int width) {
  const auto& [results, readings] = report;
  const Counts counts = CountsOf(results);
  std::string text = IdsLine(readings.ids);
  text += fmt::format("{} can be measured, {} cannot; {}, {}\n", Several(counts.can, "thing"), counts.cannot,
                      Several(counts.failures, "failure"), Several(counts.warnings, "warning"));
  text += Troubles(results, width);
  std::vector<TableColumn> columns(3);
  columns[0].header = "check";
  columns[1].header = "status";
  columns[2].header = "what was read";
  columns[2].wraps = true;
  std::vector<TableRow> rows;
  for (const CheckResult& result : results) {
    // Troubles has printed these already.
    if (result.verdict.status > CheckStatus::kOk) continue;
    rows.push_back({std::string(result.check->id), std::string(Name(result.verdict.status)), result.verdict.evidence});
  }
  text += "\n" + LayOutTable(columns, rows, width, 0);
  return readings.storage && *readings.storage ? text + "\n" + SpeedTable(**readings.storage, width) : text;
}

std::string DoctorJson(const DoctorReport& report) {
  const auto& [results, readings] = report;
  const Counts counts = CountsOf(results);
  Json document = BeginDocument<Json>("idleburn.doctor/1", readings.ids);
  document["version"] = IDLEBURN_VERSION;
  document["status"] = Name(WorstOf(results));
  document["can_measure"] = counts.can;
  document["cannot_measure"] = counts.cannot;
  document["checks"] = Json::array();
  for (const CheckResult& result : results) {
    Json check;
    check["id"] = result.check->id;
    check["status"] = Name(result.verdict.status);
    check["evidence"] = Printable(result.verdict.evidence);
    check["fix"] = result.verdict.fix.empty() ? Json(nullptr) : Json(Printable(result.verdict.fix));
    document["checks"].push_back(std::move(check));
  }
  document["data"] = readings.storage && *readings.storage ? DataJson(readings, **readings.storage) : Json(nullptr);
  return JsonDocument(document);
}

}  // namespace idleburn
