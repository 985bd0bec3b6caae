// Every JSON document of the program carries the ids of what it is about, and nothing else of an environment.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "places.h"
#include "support/made_recording.h"
#include "support/pickled.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/source_tree.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// A job of a batch system with an experiment tracker; what must not show beside it.
const std::string kEnvironment =
    "export SLURM_JOB_ID=4711 WANDB_PROJECT=bert WANDB_API_KEY=leak-1 AWS_SECRET_ACCESS_KEY=leak-2 "
    "MLFLOW_TRACKING_URI=https://leak-3:leak-4@host/ SLURM_JOB_NAME=--password=leak-5 MY_OWN_VARIABLE=leak-6; ";
const std::string kSteps = "sh -c 'i=0; while [ $i -lt 200 ]; do sleep 0.02; i=$((i+1)); echo step $i; done'";
const std::string kCompare = "compare {F}/a.idleburn --vs {F}/b.idleburn";

// Whose ids a document has.
enum class Whose : std::uint8_t { kOwn, kRecorded, kNobodys };

struct Row {
  const char* schema;
  Whose whose;
  std::string arguments;    // {F}: the folder
  std::string document;     // a file it writes; empty: standard output
  bool slow = false;        // so it is asked once
  std::string before = {};  // words of the shell before the program
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> kRows = {
      {"audit", Whose::kRecorded, "audit {F}/a.idleburn", ""},
      {"audit", Whose::kNobodys, "audit {F}/log.csv", ""},
      {"audit", Whose::kOwn, "run --quiet --history {F}/h -o {F}/run.json -- true", "run.json", true},
      {"trace_diff", Whose::kNobodys,
       "audit " IDLEBURN_ROOT "/examples/starved_loader.pt.trace.json.gz --vs " IDLEBURN_ROOT
       "/examples/starved_loader.pt.trace.json.gz",
       ""},
      {"memory", Whose::kNobodys, "audit {F}/snapshot.pickle", ""},
      {"combine", Whose::kOwn, "combine --fix .3", ""},
      {"plan", Whose::kOwn, "plan --model llama-2-7b --seq-len 512", ""},
      {"utilization", Whose::kOwn, "plan --step 45%@220ms --step-to 80%", ""},
      {"forecast_errors", Whose::kNobodys, "plan --errors --history {F}/h", ""},
      {"tco", Whose::kOwn, "tco " IDLEBURN_ROOT "/examples/tco.toml", ""},
      {"compare", Whose::kRecorded, kCompare, ""},
      {"reversion", Whose::kOwn, "compare --jobs {F}/jobs.csv", ""},
      {"isolate", Whose::kOwn, "isolate --quiet --rounds 1 --knob cpu_affinity --steps 20 --skip-steps 1 -- " + kSteps,
       "", true},
      {"drill", Whose::kOwn, "drill --quiet --rounds 1 --after-steps 5 --resume true -- " + kSteps, "", true},
      {"doctor", Whose::kOwn, "doctor", "", true},
      {"top", Whose::kOwn, "top --once", "", true, "IDLEBURN_NVML_LIBRARY=" IDLEBURN_STANDIN " "},
      {"history", Whose::kOwn, "history list --history {F}/h", "", true},
      {"history", Whose::kOwn, "history show last --history {F}/h", "", true},
      {"ledger", Whose::kOwn, "ledger --history {F}/h", "", true},
      {"claim", Whose::kOwn, "claim {F}/a.idleburn --no-history --boundary all --measure none -o {F}/claim.json",
       "claim.json", true},
  };
  return kRows;
}

class DocumentIdsTest : public ::testing::Test {
 protected:
  DocumentIdsTest() {
    MadeRecording run;
    run.start = Instant::FromNanos(1'763'755'200 * kNanosPerSecond);
    run.facts.push_back({"env.IDLEBURN_EXPERIMENT", "resnet"});
    run.facts.push_back({"env.PBS_JOBID", "12.server"});
    run.WriteTo(Path("a.idleburn"));
    run.start = run.start + Nanos(600 * kNanosPerSecond);
    run.facts.back().value = "13.server";
    run.WriteTo(Path("b.idleburn"));
    std::ignore = folder_.Write("log.csv",
                                "timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00.000, 0, 5 %\n"
                                "2026/01/01 00:00:01.000, 0, 95 %\n");
    std::ignore = folder_.Write("snapshot.pickle", test::PickledSnapshot({}, {}));
    std::ignore = folder_.Write("jobs.csv", "job,before,after,selected\na,1,2,no\nb,2,3,no\nc,3,3,no\nd,1,2,yes\n");
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string Run(const Row& row, const std::string& format) const {
    std::string arguments = row.arguments;
    if (row.document.empty()) arguments.insert(std::min(arguments.find(" -- "), arguments.size()), format);
    for (std::size_t at = 0; (at = arguments.find("{F}")) != std::string::npos;) {
      arguments.replace(at, 3, folder_.path().string());
    }
    const ProgramRun run = RunShell(kEnvironment + row.before + "timeout 120 " IDLEBURN_PROGRAM " " + arguments);
    EXPECT_EQ(run.err.find("unknown flag"), std::string::npos) << run.err;
    return row.document.empty() ? run.out : ReadText(Path(row.document));
  }
  [[nodiscard]] json Document(const Row& row) const { return json::parse(Run(row, " --format json"), nullptr, false); }

  TempFolder folder_;
};

// A document that is new must have a row above, and one in the list of documents.
void ExpectEverySchemaIn(const std::set<std::string>& met) {
  const std::regex schema("\"(idleburn\\.[a-z_]+/1)\"");
  const std::string list = ReadText(IDLEBURN_ROOT "/docs/json.md");
  for (const SourceFile& file : ReadTree(IDLEBURN_ROOT)) {
    if (!StartsWith(file.path, "src/") || IsTest(file)) continue;
    for (const std::string& line : file.lines) {
      for (std::sregex_iterator at(line.begin(), line.end(), schema), end; at != end; ++at) {
        EXPECT_TRUE(met.contains((*at)[1])) << file.path << " writes " << (*at)[1] << ", which this test does not ask";
        EXPECT_NE(list.find("`" + (*at)[1].str() + "`"), std::string::npos) << (*at)[1] << " is not in docs/json.md";
      }
    }
  }
}

void ExpectIds(const Row& row, const json& ids) {
  const bool of_a_run = row.document == "run.json" || row.arguments.starts_with("history");
  EXPECT_EQ(ids.at("run").is_string(), of_a_run);
  switch (row.whose) {
    case Whose::kOwn:
      EXPECT_EQ(ids.at("job"), "4711");
      EXPECT_EQ(ids.at("experiment"), "bert");
      EXPECT_EQ(ids.at("named").size(), 3U) << ids;
      break;
    case Whose::kRecorded:
      EXPECT_EQ(ids.at("experiment"), "resnet");
      break;
    case Whose::kNobodys:
      EXPECT_TRUE(ids.at("job").is_null());
      EXPECT_EQ(ids.at("job_reason"), "not_recorded");
      EXPECT_TRUE(ids.at("named").empty());
      break;
  }
}

TEST_F(DocumentIdsTest, EveryDocumentHasThem) {
  std::set<std::string> met;
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.arguments);
    const json document = Document(row);
    ASSERT_TRUE(document.is_object() && document.contains("ids")) << document.dump(2);
    EXPECT_EQ(document["schema"], "idleburn." + std::string(row.schema) + "/1");
    met.insert(document["schema"]);
    ExpectIds(row, document["ids"]);
    EXPECT_EQ(document.dump().find("leak"), std::string::npos) << document.dump(2);
  }
  met.insert("idleburn.fleet/1");                                 // needs an engine: fleet_test
  met.insert("idleburn.fleet_board/1");                           // needs an engine: fleet_watch_test
  met.insert({"idleburn.statements/1", "idleburn.statement/1"});  // the same: fleet_statements_test
  met.insert("idleburn.fleet_days/1");                            // needs a ledger: fleet_ledger_test
  met.insert({"idleburn.bill/1", "idleburn.bill_validation/1", "idleburn.bill_sql/1"});  // bill_test
  met.insert({"idleburn.bill_chargeback/1", "idleburn.bill_statement/1"});               // bill_charges_test
  met.insert("idleburn.bill_forecast/1");  // needs a ledger: bill_forecast_command_test
  met.insert("idleburn.jobs/1");           // the agent's list of jobs, each with its own ids: agent_test
  ExpectEverySchemaIn(met);
}

TEST_F(DocumentIdsTest, OfSeveralRunsEachIsNamed) {
  const Row row = {"compare", Whose::kRecorded, kCompare, ""};
  const json document = Document(row);
  EXPECT_TRUE(document["ids"]["job"].is_null());
  EXPECT_EQ(document["ids"]["job_reason"], "not_shared");
  EXPECT_EQ(document["inputs"][0]["ids"]["job"], "12.server");
  EXPECT_EQ(document["inputs"][1]["ids"]["job"], "13.server");
  const std::string text = Run(row, " --format html");
  EXPECT_NE(text.find("before: job 12.server, experiment resnet; after: job 13.server, experiment resnet"),
            std::string::npos)
      << text;
}

TEST_F(DocumentIdsTest, TextHasThemWhereOneIsKnown) {
  for (const Row& row : Rows()) {
    if (row.slow) continue;
    const std::string text = testing::Unwrapped(Run(row, ""));
    const char* id = row.whose == Whose::kRecorded ? "experiment resnet" : "experiment bert";
    EXPECT_EQ(text.find(id) != std::string::npos, row.whose != Whose::kNobodys) << row.arguments << "\n" << text;
    EXPECT_EQ(text.find("leak"), std::string::npos) << row.arguments << "\n" << text;
  }
  EXPECT_EQ(RunIdleburn("combine --fix .3").out.find("Ids:"), std::string::npos);
}

}  // namespace
}  // namespace idleburn::testing
