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

// What the doctor found, for people and for programs. The counts and the troubles come first, because most readers stop
// there. Each trouble has its evidence and its remedy: a warning without a remedy only worries.
//
// The table lists what was read, also where all is well. A user who reports a problem copies it, and it must
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

// Failures, then warnings: each with its evidence under "why" and its remedy under "next".
void AddTroubles(std::span<const CheckResult> results, ReportPage* page) {
  for (const CheckStatus status : {CheckStatus::kFailure, CheckStatus::kWarning}) {
    for (const CheckResult& result : results) {
      if (result.verdict.status != status) continue;
      page->why.push_back(
          fmt::format("{} {}: {}: {}", Name(status), result.check->id, result.check->what, result.verdict.evidence));
      page->next.push_back(fmt::format("{}: {}", result.check->id, result.verdict.fix));
    }
  }
}

// What was read, where all is well.
ReportTable ReadingTable(std::span<const CheckResult> results) {
  ReportTable table;
  table.title = "What was read";
  table.columns = {{"check"}, {"status"}, {"what was read", kLeft, true}};
  for (const CheckResult& result : results) {
    if (result.verdict.status > CheckStatus::kOk) continue;
    table.rows.push_back(
        {std::string(result.check->id), std::string(Name(result.verdict.status)), result.verdict.evidence});
  }
  return table;
}

// Storage speeds: each way of reading, cold and warm. MB are 10^6 bytes. A speed that could not be measured is
// "unknown" and ends its row. Cold reads show the disk and warm reads the page cache; a large difference explains a
// slow first epoch.
ReportTable SpeedTable(const StorageProbe& probe) {
  ReportTable table;
  table.title = "Speed of the data";
  table.columns = {{"reads"},          {"cache"},          {"MB/s", kRight},   {"reads/s", kRight},
                   {"p50 ms", kRight}, {"p99 ms", kRight}, {"MB read", kRight}};
  for (std::size_t i = 0; i < kReadWays.size(); ++i) {
    const auto add = [&](const char* cache, const ReadSpeed& speed) {
      TableRow& row = table.rows.emplace_back(TableRow{std::string(kReadWays[i].id), cache});
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
  return table;
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

ReportPage DoctorPage(const DoctorReport& report) {
  const auto& [results, readings] = report;
  const Counts counts = CountsOf(results);
  ReportPage page;
  page.heading = "What can be measured";
  page.title = TitleAndIds("What can be measured on this machine", readings.ids);
  page.verdict = fmt::format("{} can be measured, {} cannot; {}, {}", Several(counts.can, "thing"), counts.cannot,
                             Several(counts.failures, "failure"), Several(counts.warnings, "warning"));
  AddTroubles(results, &page);
  // The speed was asked for, so one screen shows it and not the readings.
  if (readings.storage && *readings.storage) page.tables.push_back(SpeedTable(**readings.storage));
  page.tables.push_back(ReadingTable(results));
  return page;
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
