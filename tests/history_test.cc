// The history of runs and the ledger from end to end: real processes, kills, damage, full disks.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <random>
#include <set>

#include "history/ledger.h"
#include "history/open_history.h"
#include "history/runs.h"
#include "places.h"
#include "support/history_folder.h"
#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// Half of ten seconds busy, half idle, on one GPU; no GPU is needed to audit it.
constexpr const char* kLog =
    "for i in 0 1 2 3 4 5 6 7 8 9; do echo \"2026-03-0${day:-1}T00:00:0$i,0,$((i / 5 * 100))\"; done | "
    "sed '1i timestamp,gpu,util' > $F/log.csv; C='--columns time=timestamp,gpu=gpu,util=util --period 1s'; ";

json HistoryOf(const LiveMachine& machine, const std::string& filters = "") {
  const ProgramRun run = machine.Run("$I history list --format json " + filters);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  json document = json::parse(run.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << run.out;
  return document.value("runs", json::array());
}

void ExecuteOn(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

// One run of each kind, and what each is found by.
TEST(HistoryTest, EveryRunIsKeptAndFindable) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=95\n");
  auto recorded = machine.Begin("$I record --for 1s --history $F/other.sqlite --quiet --price 2 >/dev/null");
  const ProgramRun run = machine.Run(
      "mkdir -p $F/vision; cd $F/vision; SLURM_JOB_ID=4711 WANDB_RUN_ID=w9 $I run --price 3600 --tag team=a --format "
      "json -o $F/live -- sh -c 'sleep 1.3; exit 5' --api-key=s3cr3tvalue");
  EXPECT_EQ(run.code, 5) << run.err;
  const json live = machine.Json("live");
  const json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 1U);
  const json& row = runs[0];
  EXPECT_EQ(row["state"], "ended");
  EXPECT_EQ(row["exit"], "exit 5");
  EXPECT_EQ(row["project"], "vision");
  EXPECT_EQ(row["command"], live["run"]["command"]);
  EXPECT_EQ(row.dump().find("s3cr3tvalue"), std::string::npos);
  EXPECT_EQ(row["cost"]["total_exact"], live["cost"]["total_exact"]);
  EXPECT_EQ(row["cost"]["waste_exact"], live["cost"]["waste_exact"]);
  EXPECT_EQ(row["cost"]["rate_source"], live["cost"]["rate_source"]);
  EXPECT_EQ(row["gpu_hours"]["window"], live["gpu_hours"]["window"]);
  EXPECT_EQ(row["phases"]["compute_bound"], live["phases"]["compute_bound"]["gpu_hours"]);
  EXPECT_EQ(row["started"], live["run"]["start"]);
  EXPECT_EQ(row["ended"], live["run"]["end"]);
  EXPECT_TRUE(std::filesystem::exists(row["recording"].get<std::string>()));
  for (const char* found : {"--experiment 4711", "--experiment w9", "--tag team=a", "--project vision", "--cost '>1'",
                            "--since 1h", "--state ended"}) {
    EXPECT_EQ(HistoryOf(machine, found).size(), 1U) << found;
  }
  for (const char* missed :
       {"--experiment 4712", "--tag team=b", "--project text", "--cost '<1'", "--until 1h", "--state running"}) {
    EXPECT_EQ(HistoryOf(machine, missed).size(), 0U) << missed;
  }
  // The audit again, in the price of its time.
  const ProgramRun again = machine.Run("$I history show last --audit --format json");
  EXPECT_EQ(json::parse(again.out)["cost"]["total_exact"], live["cost"]["total_exact"]) << again.err;
  EXPECT_NE(machine.Run("$I history show " + row["id"].get<std::string>().substr(0, 6)).out.find("It cost $"),
            std::string::npos);
  EXPECT_EQ(recorded.get().code, 0);
  const json elsewhere = HistoryOf(machine, "--history $F/other.sqlite");
  ASSERT_EQ(elsewhere.size(), 1U);
  EXPECT_EQ(elsewhere[0]["kind"], "record");
  EXPECT_EQ(elsewhere[0]["recording"].get<std::string>().find(machine.Path("recordings/")), 0U);
}

TEST(HistoryTest, ARunOfSeveralPricesIsAuditedAgainInThem) {
  const LiveMachine machine("gpu 0\ngpu 1 name=NVIDIA_A2\n");
  const ProgramRun run = machine.Run("$I run --price 360,A2=720 --currency EUR --format json -o $F/r -- sleep 0.3");
  EXPECT_EQ(run.code, 0) << run.err;
  const json live = json::parse(machine.Run("cat $F/r").out)["cost"];
  ASSERT_EQ(live["rates"].size(), 2U);
  const ProgramRun again = machine.Run("$I history show last --audit --format json");
  const json cost = json::parse(again.out)["cost"];
  EXPECT_EQ(cost["total_exact"], live["total_exact"]) << again.err;
  EXPECT_EQ(cost["currency"], "EUR");
  EXPECT_EQ(again.err, "");
  const ProgramRun other = machine.Run("$I history show last --audit --format json --price 36");
  EXPECT_EQ(json::parse(other.out)["cost"]["rates"].size(), 1U);
  EXPECT_EQ(json::parse(other.out)["cost"]["currency"], "USD") << "of the price that was given, not of the one kept";
  const ProgramRun owned = machine.Run("$I history show last --audit --format json --owned capex=8760,life=1,gpus=1");
  EXPECT_EQ(json::parse(owned.out)["cost"]["rate_per_gpu_hour"], "1.00") << owned.err;
  const ProgramRun relabelled = machine.Run("$I history show last --audit --currency USD");
  EXPECT_EQ(relabelled.code, 2);
  EXPECT_NE(relabelled.err.find("the kept price is in EUR"), std::string::npos) << relabelled.err;
}

TEST(HistoryTest, NothingIsKeptUnasked) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(std::string(kLog) +
                                     "$I run --no-history -- true; $I audit $F/log.csv $C --price 8 >/dev/null; $I "
                                     "demo >/dev/null; ls -A $XDG_DATA_HOME | cat");
  EXPECT_EQ(run.out, "") << run.err;
  EXPECT_EQ(HistoryOf(machine).size(), 0U);
  EXPECT_EQ(machine.Run(std::string(kLog) + "$I audit $F/log.csv $C --price 3600 --keep --tag a=b >/dev/null").code, 0);
  const json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["kind"], "audit");
  EXPECT_EQ(runs[0]["started"], "2026-03-01T00:00:00Z");
  EXPECT_EQ(runs[0]["inputs"][0]["path"], machine.Path("log.csv"));
  EXPECT_EQ(runs[0]["inputs"][0]["sha256"].get<std::string>() + "\n",
            RunShell("sha256sum < " + machine.Path("log.csv") + " | cut -d' ' -f1").out);
  EXPECT_EQ(runs[0]["tags"][0]["key"], "a");
  // A project that is set for all runs is no word about this one.
  EXPECT_EQ(machine.Run("IDLEBURN_CFG_HISTORY_PROJECT=x $I audit $F/log.csv --price 3600 >/dev/null").code, 0);
}

// What cannot be read a second time has no hash.
TEST(HistoryTest, StandardInputAndPipesAreKeptWithoutAHash) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(std::string(kLog) +
                                     "$I audit - $C --keep < $F/log.csv >/dev/null; mkfifo $F/pipe; cat $F/log.csv > "
                                     "$F/pipe & $I audit $F/pipe $C --keep >/dev/null");
  EXPECT_EQ(run.code, 0) << run.err;
  const json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 2U) << run.err;
  for (const json& kept : runs) EXPECT_TRUE(kept["inputs"][0]["sha256"].is_null()) << kept;
}

TEST(HistoryTest, AKilledRunIsFoundAndCompletedFromItsRecording) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=95\n");
  const ProgramRun run = machine.Run(
      "$I run --price 3600 -- sh -c 'echo $$ > $F/pid; exec sleep 60' & us=$!; sleep 3; $I history list --state "
      "running "
      "--format csv | wc -l; kill -9 $us; kill $(cat $F/pid); wait $us; $I history list --state interrupted --format "
      "csv "
      "| wc -l");
  EXPECT_EQ(run.out, "2\n2\n") << run.err;
  json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["state"], "interrupted");
  EXPECT_EQ(runs[0]["cost"]["total"], nullptr);
  const std::string recording = runs[0]["recording"];
  const ProgramRun shown = machine.Run("$I history show last --format json");
  EXPECT_EQ(LinesWith(shown.err, "was interrupted; it is completed from its recording"), 1) << shown.err;
  const json audit = AuditJsonOf("--price 3600 " + recording);
  runs = HistoryOf(machine);
  EXPECT_EQ(runs[0]["state"], "interrupted");
  EXPECT_EQ(runs[0]["cost"]["total_exact"], audit["cost"]["total_exact"]);
  EXPECT_EQ(json::parse(shown.out)["runs"][0], runs[0]);
  EXPECT_EQ(machine.Run("$I history show last").err, "");  // once
}

TEST(HistoryTest, RunsAreTaggedAndRemoved) {
  const LiveMachine machine("gpu 0\n");
  const std::string keep =
      std::string(kLog) + "for day in 1 2 3; do " + kLog + "$I audit $F/log.csv $C --keep >/dev/null; done; ";
  const ProgramRun tagged = machine.Run(keep + "$I history tag last a=1 b=2; $I history tag last --remove a");
  EXPECT_EQ(tagged.code, 0) << tagged.err;
  EXPECT_EQ(HistoryOf(machine, "--tag b=2")[0]["tags"].size(), 1U);
  const json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0]["started"], "2026-03-03T00:00:00Z");  // the newest first

  // One recording in the history's folder, one outside of it.
  const std::string inside = machine.Path("data/idleburn/recordings/a.idleburn");
  const std::string outside = machine.Path("outside.idleburn");
  const std::string sneaky = machine.Path("data/idleburn/../../outside.idleburn");
  ASSERT_EQ(machine
                .Run("mkdir -p $XDG_DATA_HOME/idleburn/recordings; echo x > " + inside + "; echo x > " + inside +
                     ".journal; echo x > " + outside)
                .code,
            0);
  const std::string file = machine.Path("data/idleburn/history.sqlite");
  const auto record_of = [&](const json& run, const std::string& recording) {
    ExecuteOn(file,
              "UPDATE runs SET recording = '" + recording + "' WHERE id = '" + run["id"].get<std::string>() + "'");
  };
  record_of(runs[0], inside);
  record_of(runs[1], sneaky);
  const ProgramRun removed = machine.Run("$I history rm last " + runs[1]["id"].get<std::string>());
  EXPECT_EQ(LinesWith(removed.out, "and its recording " + inside), 1) << removed.out << removed.err;
  EXPECT_EQ(LinesWith(removed.out, "its recording is outside the history's folder and stays"), 1) << removed.out;
  EXPECT_FALSE(std::filesystem::exists(inside));
  EXPECT_FALSE(std::filesystem::exists(inside + ".journal"));
  EXPECT_TRUE(std::filesystem::exists(outside));
  EXPECT_EQ(machine.Run("$I history rm --older-than 20000d").out, "no run is older\n");
  EXPECT_EQ(HistoryOf(machine).size(), 1U);
  EXPECT_EQ(LinesWith(machine.Run("$I history rm --older-than 1d").out, "removed "), 1);
  EXPECT_EQ(HistoryOf(machine).size(), 0U);
}

TEST(HistoryTest, WrongWordsAreOneLine) {
  const LiveMachine machine("gpu 0\n");
  ASSERT_EQ(machine.Run(std::string(kLog) + "for i in 1 2; do $I audit $F/log.csv $C --keep >/dev/null; done").code, 0);
  const struct {
    const char* words;
    int code;
    const char* line;
  } cases[] = {
      {"$I history", 2, "history: give an action: list, show, tag, rm or export"},
      {"$I history lost", 2, "history: 'lost' is not one of list, show, tag, rm, export"},
      {"$I history list --cost 50", 2, "--cost: '50' is not a bound; write '>50', '>=', '<' or '<='"},
      {"$I history list --since later", 2, "--since: 'later' is not a date"},
      {"$I history list --state lost", 2, "--state: 'lost' is not one of"},
      {"$I history list --limit 0", 2, "--limit: '0' is not a count of 1 or more"},
      {"$I history list --tag x", 2, "tag 'x': write it as key=value"},
      {"$I history list --format html", 2, "history: --format is text, json, csv or markdown, not 'html'"},
      {"$I history show zz", 1, "$XDG_DATA_HOME/idleburn/history.sqlite: no run has an id that starts with 'zz'"},
      {"$I history show ''", 2, "history show: run is missing"},
      {"$I history tag last", 2, "history tag: give a run and its tags"},
      {"$I history rm", 2, "history rm: give ids, or --older-than 90d"},
      {"$I ledger sell", 2, "ledger: unknown action 'sell'; give no action to see the ledger"},
      {"$I ledger correct 7 --note x", 1, "$XDG_DATA_HOME/idleburn/history.sqlite: has no entry 7 to correct"},
      {"$I run --tag x -- touch $F/started", 2, "tag 'x': write it as key=value"},
      {"$I run --no-history --tag a=b -- touch $F/started", 2, "run: --tag does nothing with --no-history"},
      {"$I run --no-history --project x -- touch $F/started", 2, "run: --project does nothing with --no-history"},
      {"$I record --no-history --tag a=b --for 1s -o $F/started", 2, "record: --tag does nothing with --no-history"},
      {"$I audit $F/log.csv --tag a=b", 2, "audit: --tag does nothing without --keep"},
      {"$I audit $F/log.csv --project x", 2, "audit: --project does nothing without --keep"},
  };
  for (const auto& c : cases) {
    const ProgramRun run = machine.Run(c.words);
    EXPECT_EQ(run.code, c.code) << c.words;
    std::string line = c.line;
    if (const std::size_t at = line.find("$XDG_DATA_HOME"); at == 0) line.replace(0, 14, machine.Path("data"));
    EXPECT_EQ(run.err.substr(0, 10 + line.size()), "idleburn: " + line) << c.words;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
}

// A history that cannot be written never fails the job, and is said once.
TEST(HistoryTest, AHistoryThatFailsIsSaidOnceAndTheRunGoesOn) {
  const LiveMachine machine("gpu 0\n");
  const std::string file = machine.Path("newer.sqlite");
  ASSERT_EQ(machine.Run(std::string(kLog) + "$I audit $F/log.csv $C --keep --history $F/newer.sqlite >/dev/null").code,
            0);
  ExecuteOn(file, "PRAGMA user_version = 77");
  const std::string newer = file + ": was written by a newer idleburn (history version 77";
  const ProgramRun run = machine.Run("$I run --no-recording --history $F/newer.sqlite -- sh -c 'sleep 0.2; exit 6'");
  EXPECT_EQ(run.code, 6);
  EXPECT_EQ(LinesWith(run.err, newer), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "; idleburn keeps the run beside the history until then"), 1) << run.err;
  const ProgramRun list = machine.Run("$I history list --history $F/newer.sqlite");
  EXPECT_EQ(list.code, 1);
  EXPECT_EQ(list.err.find("idleburn: " + newer), 0U) << list.err;
  EXPECT_EQ(std::count(list.err.begin(), list.err.end(), '\n'), 1);

  const ProgramRun nowhere = machine.Run("$I run --no-recording --history /proc/none/h.sqlite -- sh -c 'exit 4'");
  EXPECT_EQ(nowhere.code, 4);
  EXPECT_EQ(LinesWith(nowhere.err, "/proc/none"), 1) << nowhere.err;
}

TEST(HistoryTest, ADamagedHistoryIsKeptAsideAndSaid) {
  const LiveMachine machine("gpu 0\n");
  const std::string keep = "$I audit $F/log.csv $C --keep >/dev/null; ";
  const ProgramRun run =
      machine.Run(std::string(kLog) + keep + "printf garbage > $XDG_DATA_HOME/idleburn/history.sqlite; " + keep +
                  "cat $XDG_DATA_HOME/idleburn/history.sqlite.corrupt-*");
  EXPECT_EQ(run.out, "garbage");
  EXPECT_EQ(LinesWith(run.err, "history.sqlite: is damaged; idleburn keeps it as "), 1) << run.err;
  EXPECT_EQ(HistoryOf(machine).size(), 1U);
}

TEST(HistoryTest, ANamedFileThatIsNoHistoryIsLeftAlone) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(
      "echo 'buy milk' > $F/notes.txt; $I history list --history $F/notes.txt; echo $?; "
      "$I run --no-recording --history $F/notes.txt -- sh -c 'exit 9'; echo $?; cat $F/notes.txt; ls $F/*corrupt*");
  EXPECT_EQ(run.out, "1\n9\nbuy milk\n");
  EXPECT_EQ(LinesWith(run.err, "notes.txt: not a history of idleburn"), 2) << run.err;
}

// A run of unknown cost is neither dear nor cheap: it is left out, and that is said.
TEST(HistoryTest, ABoundOfTheCostSaysWhatItCannotJudge) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun kept = machine.Run(std::string(kLog) + "$I audit $F/log.csv $C --keep >/dev/null; " +
                                      "$I audit $F/log.csv $C --keep --price 3600 >/dev/null");
  EXPECT_EQ(kept.err, "");
  const ProgramRun some = machine.Run("$I history list --cost '>1'");
  EXPECT_NE(some.out.find("; 1 more is of unknown cost, which --cost leaves out"), std::string::npos) << some.out;
  const ProgramRun none = machine.Run("$I history list --cost '>1000'");
  EXPECT_NE(none.out.find("history.sqlite; 1 more is of unknown cost"), std::string::npos) << none.out;
  const ProgramRun document = machine.Run("$I history list --cost '>1' --format json");
  EXPECT_EQ(json::parse(document.out, nullptr, false).value("unknown_cost", -1), 1);
  EXPECT_EQ(machine.Run("$I history list").out.find("--cost"), std::string::npos);
}

// Parquet holds what is kept, with types: it is read back as a table of two readings, a day apart.
TEST(HistoryTest, TheRunsAsParquet) {
  const LiveMachine machine("gpu 0\n");
  const std::string keep = std::string(kLog) + "$I audit $F/log.csv $C --keep --price 3600 >/dev/null; ";
  const ProgramRun run =
      machine.Run("day=1; " + keep + "day=2; " + keep +
                  "$I history export -o $F/r.parquet; echo $?; head -c 4 $F/r.parquet; echo; " +
                  "ls $F | grep part; $I history export --format parquet; echo $?; $I audit $F/r.parquet --columns " +
                  "time=started,gpu=kind,util=cost --max-gap 2d --period 1d --format json -o $F/back");
  EXPECT_EQ(run.out, "0\nPAR1\n2\n") << run.err;
  EXPECT_EQ(LinesWith(run.err, "Parquet needs a file"), 1) << run.err;
  const json runs = HistoryOf(machine);
  ASSERT_EQ(runs.size(), 2U);
  const json back = machine.Json("back");
  EXPECT_EQ(back["window"]["start"], "2026-03-01T00:00:00Z");
  EXPECT_EQ(back["gpu_hours"]["window"], 24);
  EXPECT_EQ(back["mean_utilization_percent"].get<double>(), std::stod(runs[0]["cost"]["total"].get<std::string>()));
}

TEST(HistoryTest, AFullDiskAndAReadOnlyFolderAreOneLineEach) {
  const std::string space = "unshare -rm sh -c 'mount -t tmpfs -o size=64k none /mnt && ";
  if (RunShell(space + "true'").code != 0) GTEST_SKIP() << "no file system can be mounted here";
  const LiveMachine machine("gpu 0\n");
  const ProgramRun full =
      machine.Run(space +
                  "head -c 70000 /dev/zero > /mnt/filled; $I run --no-recording --history "
                  "/mnt/h.sqlite -- sh -c \"sleep 0.2; exit 8\"; echo $?; rm /mnt/filled; ls /mnt'");
  EXPECT_EQ(full.out.substr(0, 2), "8\n") << full.err;
  EXPECT_EQ(LinesWith(full.err, "/mnt/h.sqlite: "), 1) << full.err;
  EXPECT_EQ(LinesWith(full.err, "make room"), 1) << full.err;
  EXPECT_EQ(full.out.find("corrupt"), std::string::npos) << full.out;

  const ProgramRun read_only =
      machine.Run(std::string(kLog) +
                  "export F C; unshare -rm sh -c 'mount -t tmpfs none /mnt && $I audit $F/log.csv $C --keep "
                  "--history /mnt/h.sqlite >/dev/null && mount -o remount,ro /mnt; $I run --no-recording "
                  "--history /mnt/h.sqlite -- sh -c \"exit 7\"; echo $?; $I history list --format csv "
                  "--history /mnt/h.sqlite | wc -l'");
  EXPECT_EQ(read_only.out, "7\n2\n") << read_only.err;
  EXPECT_EQ(LinesWith(read_only.err, "Read-only file system"), 1) << read_only.err;
}

// Many processes begin the same history at once, and none loses a run.
TEST(HistoryTest, ProcessesAtOnceLoseNothing) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run =
      machine.Run(std::string(kLog) +
                  "for i in 1 2 3 4 5 6; do (for j in 1 2 3 4; do $I audit $F/log.csv $C --keep --quiet --tag "
                  "n=$i-$j >/dev/null || echo failed; done) & done; wait");
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "");
  std::set<std::string> tags;
  for (const json& row : HistoryOf(machine)) tags.insert(row["tags"][0]["value"].get<std::string>());
  EXPECT_EQ(tags.size(), 24U);
}

// Puts runs without a pause until it is killed; *put counts those that were committed.
[[noreturn]] void PutForever(const std::string& path, const std::string& name, std::atomic<std::int64_t>* put) {
  HistoryOptions options;
  for (std::int64_t i = 0;; ++i) {
    Result<SqliteDatabase> history = OpenHistory(path, options);
    HistoryRun row;
    row.id = name + "-" + std::to_string(i);
    row.kind = "run";
    row.command = std::string(3000, 'x');
    row.tags = {{"a", "b"}};
    if (!history || !PutRun(*history, row)) _exit(1);
    put->store(i + 1);
  }
}

TEST(HistoryTest, AKillAtAnyMomentLosesNothingThatWasCommitted) {
  const test::HistoryFolder folder;
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const put = new (shared) std::atomic<std::int64_t>(0);
  std::mt19937 random(11);
  std::int64_t committed = 0;
  for (int round = 0; round < 12; ++round) {
    put->store(0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) PutForever(folder.file(), std::to_string(round), put);
    while (put->load() < 2) usleep(500);
    usleep(static_cast<useconds_t>(random() % 20'000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    committed += put->load();
    const SqliteDatabase history = folder.Open();
    const auto runs = ListRuns(history);
    ASSERT_TRUE(runs) << runs.error().message;
    EXPECT_GE(static_cast<std::int64_t>(runs->size()), committed) << round;
    EXPECT_LE(static_cast<std::int64_t>(runs->size()), committed + round + 1);
    for (const HistoryRun& run : *runs) ASSERT_EQ(run.tags.size(), 1U);  // whole or not at all
  }
  EXPECT_TRUE(folder.told().empty());
  munmap(shared, 4096);
}

// What a comparison wrote: four claims that named a lever were verified, and gave back 0.6 of their bound on the mean.
TEST(HistoryTest, OnesOwnVerifiedChangesMoveWhatAFixIsExpectedToRecover) {
  const LiveMachine machine("gpu 0\n");
  // Its GPUs rest for a minute and for two: shorter than anybody is advised to stop them by default.
  const std::string audit = "$I audit " IDLEBURN_ROOT
                            "/examples/finetune_4xh100.csv.gz --price 8 --idle-after 1m --idle-grace 0s --format json";
  const json before = json::parse(machine.Run(audit).out);
  std::filesystem::create_directories(machine.Path("data/idleburn"));
  {
    Result<SqliteDatabase> history = OpenHistory(machine.Path("data/idleburn/history.sqlite"), {});
    ASSERT_TRUE(history) << history.error().message;
    for (const double share : {0.5, 0.7, 0.6, 0.6}) {
      LedgerRow row;
      row.tool = "idleburn test";
      row.kind = "compared";
      row.claim = "c" + std::to_string(share) + std::to_string(ReadLedger(*history)->size());
      row.measure = "stop_idle";
      row.verdict = "VERIFIED";
      row.retrospective = 0;
      row.predicted = 0.4;
      row.bound = 0.5;
      row.fraction = 0.5 * share;
      ASSERT_TRUE(AppendToLedger(*history, row));
    }
  }
  const json after = json::parse(machine.Run(audit).out);
  const auto saving = [](const json& document) {
    for (const json& r : document["recommendations"]) {
      if (r["id"] == "stop_idle") return r;
    }
    return json();
  };
  ASSERT_TRUE(saving(before).is_object());
  const double bound = saving(before)["saving"]["high"];
  EXPECT_NEAR(saving(before)["saving"]["expected"], 0.8 * bound, 1e-12);
  EXPECT_NEAR(saving(after)["saving"]["expected"], 6.4 / 9 * bound, 1e-12);
  EXPECT_EQ(saving(after)["saving"]["high"], saving(before)["saving"]["high"]);
  EXPECT_NE(saving(after)["basis"].get<std::string>().find(
                "0.71 of the bound, from 4 of your own verified changes (prior 0.80)"),
            std::string::npos);
  EXPECT_LT(after["savings"]["total_fraction"], before["savings"]["total_fraction"]);
  EXPECT_EQ(json::parse(machine.Run(audit + " --no-history").out), before);
  const json ledger = json::parse(machine.Run("$I ledger --format json").out);
  EXPECT_EQ(ledger["levers"][0]["recovered_share"]["own_changes"], 4);
  EXPECT_NEAR(ledger["levers"][0]["ratio"], 0.75, 1e-12);
  ASSERT_EQ(machine.Run("$I ledger correct 1 --note 'wrong runs'; $I ledger correct 2 --note 'wrong runs'").code, 0);
  EXPECT_EQ(json::parse(machine.Run(audit).out)["recommendations"], before["recommendations"]);  // two are too few
}

}  // namespace
}  // namespace idleburn::testing
