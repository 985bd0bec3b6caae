#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "cli/history_show.h"
#include "config/common_flags.h"
#include "config/flag_table.h"
#include "config/output_format.h"
#include "history/runs.h"
#include "history/users_history.h"
#include "os/output_file.h"
#include "report/history_output.h"
#include "report/samples_csv.h"
#include "telemetry/recording.h"
#include "terminal/output.h"
#include "text/number.h"
#include "text/time_zone.h"

// `idleburn history`: an action and its flags, each action with a help of its own. Actions only read and format rows;
// history/ knows SQL and files. Removing is the one dangerous action. It finds all runs before it removes one, leaves
// runs that are still going on, and removes only recordings that lie in the history's own folder.

namespace idleburn {
namespace {

constexpr auto kListFormats = FormatsOf(kHistoryWriters);
// One document of lines, or tables.
constexpr std::array<ReportFormat, 3> kExportFormats = {ReportFormat::kJson, ReportFormat::kCsv,
                                                        ReportFormat::kParquet};

using Arguments = std::vector<std::string>;

// Reads a day ("2026-11-21"), a time, or how long ago ("7d"). A day stands for its start in UTC. Absent if the flag was
// not given.
Result<std::optional<Instant>> ParseWhen(const char* flag, const std::string& text, Instant now) {
  if (text.empty()) return std::optional<Instant>();
  if (const Result<Nanos> ago = ParseDuration(text)) return std::optional(now + Nanos(-ago->count()));
  const Result<Instant> stamp = ParseDayOrTime(text);
  if (stamp) return std::optional(*stamp);
  return FailUsage(fmt::format("{}: '{}' is not a date (2026-11-21), time (2026-11-21T20:00:00Z) or span (7d)", flag,
                               text.substr(0, 40)));
}

// The flags of `history list` as they were written.
struct ListRequest {
  std::string project;
  std::string experiment;
  std::vector<std::string> tags;
  std::string cost;
  std::string since;
  std::string until;
  std::string state;
  std::string limit;
  std::string output;
};

// The part of the flags that SQL can answer. The state is not among them (IsOfState).
Result<RunFilter> FilterOf(const ListRequest& request, Instant now) {
  RunFilter filter;
  filter.project = request.project;
  filter.experiment = request.experiment;
  const auto tags = TRY(ParseTags(request.tags));
  filter.tags.assign(tags.begin(), tags.end());
  if (!request.cost.empty()) {
    filter.cost = TRY(ParseCostBound(request.cost));
  }
  const std::optional<Instant> since = TRY(ParseWhen("--since", request.since, now));
  const std::optional<Instant> until = TRY(ParseWhen("--until", request.until, now));
  filter.since = since;
  filter.until = until;
  return filter;
}

// The matching runs of a history with their present state. Empty if there is no history yet. If no run matches, it is
// looked at whether there are any runs: "none matches" and "none is kept" are different messages.
Result<HistoryListing> Load(const std::string& file, const RunFilter& filter, Instant now) {
  HistoryListing listing;
  listing.file = file;
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(file, now));
  listing.empty = !history;
  if (!history) return listing;
  std::vector<HistoryRun> runs = TRY(ListRuns(*history, filter));
  // With a filter, no match does not mean that the history is empty.
  if (runs.empty()) {
    const std::vector<HistoryRun> all = TRY(ListRuns(*history));
    listing.empty = all.empty();
  }
  // Runs within other runs must not count twice in a sum.
  listing.within = TRY(WithinOf(*history, runs));
  listing.runs = std::move(runs);
  for (HistoryRun& run : listing.runs) run.state = StateNow(run);
  listing.matched = listing.runs.size();
  return listing;
}

// The state is checked here and not by SQL. A killed run still says "running" in its row; only a look for its process
// tells.
bool IsOfState(const HistoryRun& run, const std::string& state) {
  return state.empty() || kRunStateNames[static_cast<std::size_t>(run.state)] == state;
}

// Counts the runs that a bound on cost leaves out because their cost is unknown. The list must say so: a run without a
// price may be the most expensive one.
Result<std::size_t> CountUnknownCost(const std::string& file, RunFilter filter, const std::string& state, Instant now) {
  if (!filter.cost) return std::size_t{0};
  filter.cost.reset();
  const HistoryListing all = TRY(Load(file, filter, now));
  return static_cast<std::size_t>(std::count_if(all.runs.begin(), all.runs.end(), [&state](const HistoryRun& run) {
    return !run.figures.cost_nano && IsOfState(run, state);
  }));
}

Result<int> ListHistory(const Arguments& arguments, const Environment& environment) {
  ListRequest request;
  CommandFlags flags({"history.file", "output."});
  flags.Writes(kListFormats);
  flags.Add("--project", "NAME", "runs of this project").text = &request.project;
  flags.Add("--experiment", "ID", "runs with this experiment id (MLflow, W&B, Slurm, ...) or tag value").text =
      &request.experiment;
  flags.Add("--tag", "KEY=VALUE", "runs with this tag (repeatable: all of them)").list = &request.tags;
  flags.Add("--cost", "BOUND", "runs with a cost in this range: '>50', '<=2.50'").text = &request.cost;
  flags.Add("--since", "WHEN", "runs that started at this time or later: 2026-11-21, or 7d ago").text = &request.since;
  flags.Add("--until", "WHEN", "runs that started before this time").text = &request.until;
  flags.Add("--state", "STATE", "running, ended or interrupted").text = &request.state;
  flags.Add("--limit", "N", "the newest N (default 50 for text and markdown, else all)").text = &request.limit;
  flags.Add("--output", "FILE", "write to FILE").text = &request.output;
  const auto settings = TRY(flags.Read("history list", "Lists the kept runs, newest first.", arguments));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "history", request.output, kListFormats));
  const bool known_state =
      std::find(kRunStateNames.begin(), kRunStateNames.end(), request.state) != kRunStateNames.end();
  if (!request.state.empty() && !known_state) {
    return FailUsage("--state: '" + request.state.substr(0, 20) + "' is not one of running, ended, interrupted");
  }
  // A person reads the newest runs; a program gets all of them.
  const bool for_people = format == ReportFormat::kText || format == ReportFormat::kMarkdown;
  std::size_t limit = for_people ? 50 : std::string::npos;
  if (!request.limit.empty()) {
    const std::optional<std::int64_t> given = ParseInteger(request.limit);
    if (!given || *given < 1)
      return FailUsage("--limit: '" + request.limit.substr(0, 20) + "' is not a count of 1 or more");
    limit = static_cast<std::size_t>(*given);
  }
  const RunFilter filter = TRY(FilterOf(request, environment.now));
  HistoryListing listing = TRY(Load(HistoryFile(*settings), filter, environment.now));
  std::vector<HistoryRun>& runs = listing.runs;
  std::erase_if(runs, [&](const HistoryRun& run) { return !IsOfState(run, request.state); });
  listing.matched = runs.size();
  listing.unknown_cost = TRY(CountUnknownCost(HistoryFile(*settings), filter, request.state, environment.now));
  if (runs.size() > limit) runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(limit), runs.end());
  const Paper paper = PaperFor(environment, request.output, {true, false, 120});
  TRY(WriteOutput(request.output, Written(kHistoryWriters, format, listing, paper)));
  return 0;
}

// A run, and the history it is in, opened for writing. Both are returned, because the next step changes the run there.
struct FoundRun {
  SqliteDatabase history;
  HistoryRun run;
};
Result<FoundRun> Find(const Settings& settings, const std::string& id, Instant now) {
  const std::string file = HistoryFile(settings);
  SqliteDatabase history = TRY(OpenToKeep(file, now));
  HistoryRun run = TRY(FindRun(history, id, file));
  return FoundRun{std::move(history), std::move(run)};
}

// `history tag`. All words are checked before the first tag is set.
Result<int> Tag(const Arguments& arguments, const Environment& environment) {
  std::vector<std::string> words;
  std::vector<std::string> removed;
  CommandFlags flags({"history.file"});
  flags.Add("run", "ID KEY=VALUE...", "the run (the start of its id, or last) and its tags").list = &words;
  flags.Add("--remove", "KEY", "remove this tag (repeatable)").list = &removed;
  const auto settings = TRY(flags.Read("history tag", "Tags a run, so you can find it again.", arguments));
  if (!settings) return 0;
  if (words.empty() || (words.size() == 1 && removed.empty())) {
    return FailUsage("history tag: give a run and its tags: idleburn history tag last team=vision");
  }
  const auto tags = TRY(ParseTags({words.begin() + 1, words.end()}));
  FoundRun found = TRY(Find(*settings, words.front(), environment.now));
  // A tag that is removed and set at once is gone afterwards: removing comes last.
  for (const auto& [key, value] : tags) TRY(SetTag(found.history, found.run.id, key, value));
  for (const std::string& key : removed) {
    const bool had = TRY(RemoveTag(found.history, found.run.id, key));
    if (!had) Say("run " + found.run.id.substr(0, 8) + " has no tag '" + key + "'");
  }
  return 0;
}

// Whether a recording lies in the folder of the history, after resolving links. Other files are the user's and are
// never removed. Without resolving, a link in the folder could point to any file.
bool IsOurs(const std::string& recording, const std::string& history) {
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::weakly_canonical(recording, failed);
  if (failed) return false;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(std::filesystem::path(history).parent_path(), failed);
  if (failed) return false;
  // A prefix of text would not do: /data/history-2 is not in /data/history.
  const auto parts = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return parts.first == folder.end();
}

// Removes a run, and its recording if that is the history's own. Returns a sentence that says what was removed. The row
// goes first: a recording without a row is only a file, but a row without its recording would fail `history show
// --audit`.
Result<std::string> Remove(SqliteDatabase& history, const HistoryRun& run, const std::string& file,
                           bool keep_recording) {
  std::string said = "removed " + run.id.substr(0, 8) + (run.command.empty() ? "" : " (" + run.command + ")");
  TRY(RemoveRun(history, run.id));
  std::error_code ignored;
  if (run.recording.empty() || !std::filesystem::exists(run.recording, ignored)) return said + "\n";
  if (keep_recording) return said + "; its recording stays: " + run.recording + "\n";
  if (!IsOurs(run.recording, file)) {
    return said + "; its recording is outside the history's folder and stays: " + run.recording + "\n";
  }
  TRY(RemoveFile(run.recording));
  // A recording that was cut off has a journal beside it.
  TRY(RemoveFile(run.recording + std::string(kJournalSuffix)));
  return said + " and its recording " + run.recording + "\n";
}

// `history rm`. Asks nothing, because scripts use it, and says what it did.
Result<int> Rm(const Arguments& arguments, const Environment& environment) {
  std::vector<std::string> ids;
  std::string older_than;
  bool keep_recording = false;
  CommandFlags flags({"history.file"});
  flags.Add("run", "ID...", "the runs (the starts of their ids, or last)").list = &ids;
  flags.Add("--older-than", "SPAN", "all runs that started longer ago, for example 90d").text = &older_than;
  flags.Add("--keep-recording", "", "keep their recordings").on = &keep_recording;
  const auto settings = TRY(flags.Read(
      "history rm", "Removes runs and their recordings in the history's folder. The ledger stays.", arguments));
  if (!settings) return 0;
  // Both at once could mean "these, if they are old" or "these, and the old ones".
  if (ids.empty() == older_than.empty()) return FailUsage("history rm: give ids, or --older-than 90d");
  RunFilter filter;
  if (!older_than.empty()) {
    const Result<Nanos> span = ParseDuration(older_than);
    if (!span) return FailUsage("--older-than: " + span.error().message);
    // "Older" means that the run started before then.
    filter.until = environment.now + Nanos(-span->count());
  }
  const std::string file = HistoryFile(*settings);
  SqliteDatabase history = TRY(OpenToKeep(file, environment.now));
  std::vector<HistoryRun> runs;
  // All runs are found before one is removed: a mistyped id must not leave half of the work done.
  for (const std::string& id : ids) {
    HistoryRun run = TRY(FindRun(history, id, file));
    const auto is_it = [&run](const HistoryRun& other) { return other.id == run.id; };
    if (std::none_of(runs.begin(), runs.end(), is_it)) runs.push_back(std::move(run));
  }
  if (ids.empty()) {
    runs = TRY(ListRuns(history, filter));
  }
  std::string said;
  // One run that cannot be removed ends the command, with those before it removed.
  for (const HistoryRun& run : runs) {
    // Its idleburn would write it again when it ends.
    if (StateNow(run) == RunState::kRunning) {
      said += "left " + run.id.substr(0, 8) + ": it is still running\n";
      continue;
    }
    const std::string removed = TRY(Remove(history, run, file, keep_recording));
    said += removed;
  }
  TRY(Print(said.empty() ? "no run is older\n" : said));
  return 0;
}

// Exports a Parquet file. DuckDB writes it from a CSV beside the output.
Result<void> ExportHistoryParquet(const std::string& file, const std::string& output, Instant now) {
  if (output.empty() || output == "-") return FailUsage("history export: Parquet needs a file; give -o FILE");
  const HistoryListing listing = TRY(Load(file, {}, now));
  // PartFile removes the CSV at the end, also after an error.
  const PartFile table(output + ".csv.part");
  TRY(WriteOutput(table.path(), HistoryCsv(listing)));
  return WriteParquet(table.path(), HistoryColumns(), "*", output);
}

// `history export`. JSON has runs and ledger, one object a line. A table has runs alone, since both have different
// columns.
Result<int> Export(const Arguments& arguments, const Environment& environment) {
  std::string output;
  CommandFlags flags({"history.file", "output."});
  flags.Writes(kExportFormats);
  flags.Add("--output", "FILE", "write to FILE: JSON lines, or a table of the runs if FILE ends in .csv or .parquet")
      .text = &output;
  const auto settings = TRY(flags.Read(
      "history export", "Writes the whole history: runs, and with JSON the entries of the ledger.", arguments));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "history export", output, kExportFormats));
  if (format == ReportFormat::kParquet) {
    TRY(ExportHistoryParquet(HistoryFile(*settings), output, environment.now));
    return 0;
  }
  const bool csv = format == ReportFormat::kCsv;
  const std::string file = HistoryFile(*settings);
  const HistoryListing listing = TRY(Load(file, {}, environment.now));
  // The ledger is only written as JSON, since its rows have other columns than runs.
  std::vector<LedgerRow> ledger;
  const std::optional<SqliteDatabase> history = TRY(OpenToRead(file, environment.now));
  if (history) {
    ledger = TRY(ReadLedger(*history));
  }
  TRY(WriteOutput(output, csv ? HistoryCsv(listing) : HistoryLines(listing, ledger)));
  return 0;
}

// An action: the word after `idleburn history`.
struct Action {
  std::string_view name;
  std::string_view summary;
  Result<int> (*run)(const Arguments& arguments, const Environment& environment);
};
// The order is that of the help.
constexpr auto kActions = std::to_array<Action>({
    {"list", "lists runs, newest first, by project, tag, experiment, cost, time, state", ListHistory},
    {"show", "shows one run: what it cost, why, what would help; --audit audits its recording again", ShowRun},
    {"tag", "marks a run: tag ID key=value...", Tag},
    {"rm", "removes runs and their recordings: rm ID... or --older-than 90d", Rm},
    {"export", "writes the whole history as JSON lines or CSV", Export},
});

// The flags of all actions in one table: each once, as the first action that has it describes it.
std::string FlagTableOfActions(const Environment& environment) {
  std::string text = "Shows kept runs and what they cost.\naction\t";
  for (const Action& action : kActions) text += std::string(text.back() == '\t' ? "" : "|") + std::string(action.name);
  text += "\tv\tlists, shows, marks, removes or writes runs\n";
  for (const Action& action : kActions) {
    const Result<int> asked = action.run({std::string(kListFlags)}, environment);
    if (asked) continue;
    std::istringstream lines(asked.error().message);
    for (std::string line; std::getline(lines, line);) {
      const std::string name = line.substr(0, line.find('\t') + 1);
      if (line.starts_with('-') && text.find("\n" + name) == std::string::npos) text += line + "\n";
    }
  }
  return text;
}

}  // namespace

Result<int> RunHistory(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::string name = arguments.empty() ? "--help" : arguments.front();
  if (name == kListFlags) return FailUsage(FlagTableOfActions(environment));
  for (const Action& action : kActions) {
    if (action.name == name) return action.run({arguments.begin() + 1, arguments.end()}, environment);
  }
  if (name != "--help" && name != "-h") {
    return FailUsage("history: '" + name.substr(0, 20) + "' is not one of list, show, tag, rm, export");
  }
  // Without an action the help is printed, and then an error: a script that lost its words should fail.
  std::string text = "Shows kept runs and what they cost.\n\nusage: idleburn history ACTION [flags]\n\n";
  for (const Action& action : kActions) text += fmt::format("  {:<8}{}\n", action.name, action.summary);
  TRY(Print(text));
  if (arguments.empty()) return FailUsage("history: give an action: list, show, tag, rm or export");
  return 0;
}

}  // namespace idleburn
