#include "report/trace_diff_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "report/json_values.h"
#include "report/traced_time_output.h"
#include "text/figures.h"

namespace idleburn {
namespace {

using DiffJson = nlohmann::ordered_json;

constexpr std::size_t kDiffRows = 12;        // of a table for people
constexpr std::size_t kDiffRowsInJson = 50;  // the largest changes; the rest is one row
constexpr double kThousandSteps = 1000;

std::string DiffMs(double ns) { return ThreeDigits(ns / 1e6); }
std::string SignedMs(double ns) { return (ns < 0 ? "-" : "+") + ThreeDigits(std::abs(ns) / 1e6); }

// "(-28.2 %)", "(new)", "(gone)".
std::string RelativeText(double before, double after) {
  if (before == 0) return after == 0 ? "no change" : "new";
  return after == 0 ? "gone" : SignedPercent(after / before - 1);
}

// What 1,000 times that much GPU-time costs. Absent without a price.
std::optional<Money> CostOfThousand(const Rate& rate, double ns) {
  if (!rate.per_gpu_hour) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(std::llround(ns * kThousandSteps));
  const Result<Money> cost = Scale(*rate.per_gpu_hour, whole, kNanosPerHour);
  return cost ? std::optional(*cost) : std::nullopt;
}

// The parts of the budget whose change is largest, for the verdict: "idle -50.2 ms, compute +1.1 ms".
std::string LargestParts(const TraceDiff& diff) {
  std::vector<const DiffRow*> parts;
  for (const DiffRow& part : diff.parts) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(), [](const DiffRow* a, const DiffRow* b) {
    return std::abs(a->ChangeNs()) > std::abs(b->ChangeNs());
  });
  std::string text;
  for (const DiffRow* part : parts) {
    if (std::abs(part->ChangeNs()) < kWorthSaying * std::max(diff.window.before_ns, diff.window.after_ns)) continue;
    const std::string_view name = part->name == "exposed_comm"   ? "exposed communication"
                                  : part->name == "exposed_copy" ? "exposed copies"
                                                                 : std::string_view(part->name);
    text += fmt::format("{}{} {} ms", text.empty() ? "" : ", ", name, SignedMs(part->ChangeNs()));
  }
  return text.empty() ? "no part of it changed by half a per cent" : text;
}

std::string DiffVerdict(const TraceDiffAnswer& answer) {
  const TraceDiff& diff = answer.diff;
  const std::string_view of = diff.per_step ? "step" : "window";
  std::string text = fmt::format("A {} takes {} ms of one GPU instead of {} ms ({}): {}.", of,
                                 DiffMs(diff.window.after_ns), DiffMs(diff.window.before_ns),
                                 RelativeText(diff.window.before_ns, diff.window.after_ns), LargestParts(diff));
  if (!diff.per_step) text = "The traces have no steps in common. " + text;
  if (diff.before.median_step_ns && diff.after.median_step_ns) {
    text += fmt::format(" The median step went from {} to {} ms ({}).", DiffMs(*diff.before.median_step_ns),
                        DiffMs(*diff.after.median_step_ns),
                        RelativeText(*diff.before.median_step_ns, *diff.after.median_step_ns));
  }
  const auto before = CostOfThousand(answer.before_rate, diff.window.before_ns);
  const auto after = CostOfThousand(answer.after_rate, diff.window.after_ns);
  if (diff.per_step && before && after) {
    text += fmt::format(" 1,000 steps of one GPU cost {} instead of {}.", Amount(*after, answer.after_rate.currency),
                        Amount(*before, answer.before_rate.currency));
  }
  return text;
}

// How a grouping is shown in a diff.
struct DiffGrouping {
  TimeBy by;
  std::string_view title;
  std::string_view none;
};
constexpr auto kDiffGroupings = std::to_array<DiffGrouping>({
    {TimeBy::kFamily, "By kind of kernel", ""},
    {TimeBy::kOperator, "By operator", "(launched under no operator)"},
    {TimeBy::kModule, "By module", "(launched under no module)"},
    {TimeBy::kRange, "By annotation", "(launched under none)"},
    {TimeBy::kKernel, "By kernel", "(no name in the file)"},
    {TimeBy::kPython, "By line of Python", "(launched under no line)"},
});

ReportTable DiffTable(const TraceDiffAnswer& answer, std::string title, const std::vector<DiffRow>& rows,
                      std::string_view none) {
  ReportTable table;
  table.title = std::move(title);
  table.columns = {{"", kLeft}};
  for (const char* head : {"before ms", "after ms", "change ms", "change"}) table.columns.push_back({head, kRight});
  const bool priced = answer.diff.per_step && answer.before_rate.per_gpu_hour && answer.after_rate.per_gpu_hour;
  if (priced) table.columns.push_back({"per 1,000 steps", kRight});
  std::size_t others = 0;
  double rest = 0;
  for (const DiffRow& row : rows) {
    if (table.rows.size() == kDiffRows) {
      ++others;
      rest += row.ChangeNs();
      continue;
    }
    TableRow cells = {row.name.empty() ? std::string(none) : Shortened(row.name, 60), DiffMs(row.before_ns),
                      DiffMs(row.after_ns), SignedMs(row.ChangeNs()), RelativeText(row.before_ns, row.after_ns)};
    if (priced) {
      const auto before = CostOfThousand(answer.before_rate, row.before_ns);
      const auto after = CostOfThousand(answer.after_rate, row.after_ns);
      const Money change = Money::Nano(after->nano() - before->nano());
      cells.push_back((change.nano() > 0 ? "+" : "") + Amount(change, answer.after_rate.currency));
    }
    table.rows.push_back(std::move(cells));
  }
  if (others > 0) {
    table.notes.push_back(fmt::format("{} more rows changed by {} ms together.", others, SignedMs(rest)));
  }
  return table;
}

std::string JoinedNames(const std::vector<std::string>& files) {
  return files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
}

DiffJson SideJson(const DiffSide& side, const std::vector<std::string>& files, const Rate& rate) {
  DiffJson json;
  json["files"] = DiffJson::array();
  for (const std::string& file : files) json["files"].push_back(Printable(file));
  json["gpus"] = side.devices;
  PutText(json, "model", side.model, "not_reported");
  json["steps"] = side.steps;
  PutNumber(json, "median_step_ms", side.median_step_ns ? std::optional(*side.median_step_ns / 1e6) : std::nullopt,
            "no_steps");
  json["window_ms"] = static_cast<double>(side.window_ns) / 1e6;
  PutMoney(json, "rate_per_gpu_hour", rate.per_gpu_hour, rate.currency);
  return json;
}

DiffJson RowJson(const TraceDiffAnswer& answer, const DiffRow& row, std::string_view nameless) {
  DiffJson json;
  PutText(json, "name", row.name, nameless);
  json["before_ms"] = row.before_ns / 1e6;
  json["after_ms"] = row.after_ns / 1e6;
  json["change_ms"] = row.ChangeNs() / 1e6;
  json["before_count"] = row.before_count;
  json["after_count"] = row.after_count;
  const auto before = answer.diff.per_step ? CostOfThousand(answer.before_rate, row.before_ns) : std::nullopt;
  const auto after = answer.diff.per_step ? CostOfThousand(answer.after_rate, row.after_ns) : std::nullopt;
  const bool both = before && after;
  PutMoney(json, "change_per_1000_steps",
           both ? std::optional(Money::Nano(after->nano() - before->nano())) : std::nullopt,
           answer.after_rate.currency);
  return json;
}

}  // namespace

ReportPage TraceDiffPage(const TraceDiffAnswer& answer) {
  ReportPage page;
  page.heading = "Difference of two traces";
  page.title = fmt::format("before: {}; after: {}", JoinedNames(answer.before_files), JoinedNames(answer.after_files));
  page.verdict = DiffVerdict(answer);
  const TraceDiff& diff = answer.diff;
  for (const DiffGrouping& grouping : kDiffGroupings) {
    const std::vector<DiffRow>& rows = diff.Of(grouping.by);
    if (page.why.size() == 3 || rows.empty() || rows.front().ChangeNs() == 0) continue;
    page.why.push_back(fmt::format("{}: {} {} ms ({})", grouping.title,
                                   rows.front().name.empty() ? grouping.none : std::string_view(rows.front().name),
                                   SignedMs(rows.front().ChangeNs()),
                                   RelativeText(rows.front().before_ns, rows.front().after_ns)));
  }
  page.next.emplace_back("idleburn compare judges whether a change saves money; this only shows a difference");
  if (!diff.doubts.empty()) page.points.push_back({"doubt", "Doubts", diff.doubts});
  page.tables.push_back(DiffTable(answer, diff.per_step ? "One step of one GPU" : "One GPU's window", diff.parts, ""));
  for (const DiffGrouping& grouping : kDiffGroupings) {
    const std::vector<DiffRow>& rows = diff.Of(grouping.by);
    if (!rows.empty()) page.tables.push_back(DiffTable(answer, std::string(grouping.title), rows, grouping.none));
  }
  return page;
}

std::string TraceDiffJson(const TraceDiffAnswer& answer) {
  const TraceDiff& diff = answer.diff;
  DiffJson json;
  json["schema"] = "idleburn.trace_diff/1";
  json["version"] = IDLEBURN_VERSION;
  PutIds(json, RunIds());
  json["per"] = diff.per_step ? "step" : "window";
  json["currency"] = answer.after_rate.currency;
  json["before"] = SideJson(diff.before, answer.before_files, answer.before_rate);
  json["after"] = SideJson(diff.after, answer.after_files, answer.after_rate);
  json["window"] = RowJson(answer, diff.window, "");
  json["parts"] = DiffJson::array();
  for (const DiffRow& part : diff.parts) json["parts"].push_back(RowJson(answer, part, ""));
  json["rows"] = DiffJson::array();
  for (std::size_t group = 0; group < kTimesBy; ++group) {
    DiffRow rest;
    std::size_t shown = 0;
    const auto put = [&](const DiffRow& row, std::string_view nameless) {
      DiffJson entry = {{"by", Name(static_cast<TimeBy>(group))}};
      entry.update(RowJson(answer, row, nameless));
      json["rows"].push_back(std::move(entry));
    };
    for (const DiffRow& row : diff.by[group]) {
      if (shown++ < kDiffRowsInJson) {
        put(row, static_cast<TimeBy>(group) == TimeBy::kKernel ? "not_in_file" : "launched_under_none");
        continue;
      }
      rest.before_ns += row.before_ns;
      rest.after_ns += row.after_ns;
      rest.before_count += row.before_count;
      rest.after_count += row.after_count;
    }
    if (shown > kDiffRowsInJson) put(rest, "all_other_rows");
  }
  json["doubts"] = DiffJson::array();
  for (const std::string& doubt : diff.doubts) json["doubts"].push_back(Printable(doubt));
  return json.dump(2) + "\n";
}

}  // namespace idleburn
