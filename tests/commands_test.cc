// Commands and flags that no other test runs as their users do: what they print, and how they end.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"
#include "text/figures.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::ProgramRun;
using testing::ReadText;
using testing::RunIdleburn;
using testing::SmiStamp;
using testing::TempFolder;
using testing::Unwrapped;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> SplitAt(const std::string& line, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(line);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

// ---- wrong words

// What stands in the place of a command or of nothing is quoted, and may hold a secret.
TEST(Commands, WrongWordsAreQuotedWithoutSecrets) {
  for (const char* words :
       {"run HF_TOKEN=hush-hush python train.py", "run --price 2 HF_TOKEN=hush-hush python train.py",
        "run --price 2 -- HF_TOKEN=hush-hush python train.py", "isolate -- https://me:hush-hush@host/",
        "drill HF_TOKEN=hush-hush", "plan --model llama-2-7b --launch -- --hf-token=hush-hush train.py",
        "run --price 2 train.py --hf-token=hush-hush", "prices list HF_TOKEN=hush-hush --wrong"}) {
    const ProgramRun run = RunIdleburn(words);
    EXPECT_NE(run.code, 0) << words;
    EXPECT_EQ((run.out + run.err).find("hush"), std::string::npos) << words << ": " << run.err;
  }
}

// ---- help

TEST(Commands, HelpOfACommandIsWhatItsOwnFlagPrints) {
  for (const char* command : {"run", "audit", "history", "plan", "doctor", "history list"}) {
    const ProgramRun help = RunIdleburn("help " + std::string(command));
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_NE(help.out, "") << command;
    EXPECT_EQ(help.out, RunIdleburn(std::string(command) + " --help").out) << command;
  }
  EXPECT_EQ(RunIdleburn("help").out, RunIdleburn("--help").out);
  EXPECT_EQ(RunIdleburn("help").code, 0);
}

// It must not run what stands behind the command's name.
TEST(Commands, HelpRefusesUnknownAndFurtherWords) {
  const std::map<std::string, std::string> errors = {
      {"help adit", "idleburn: unknown command 'adit'; did you mean audit?\n"},
      {"help run touch", "idleburn: help: 'touch' is an extra word; see idleburn help run\n"},
      {"help history list all", "idleburn: help: 'all' is an extra word; see idleburn help history\n"},
      {"helpp", "idleburn: unknown command 'helpp'; did you mean help?\n"}};
  for (const auto& [words, error] : errors) {
    const ProgramRun run = RunIdleburn(words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_EQ(run.err, error);
    EXPECT_EQ(run.out, "") << words;
  }
}

// ---- run without dashes

TEST(Commands, RunNeedsNoDashesWhereTheCommandIsClear) {
  for (const char* flags : {"", "--quiet ", "--price 2 --quiet ", "--price=2 --tag a=b -o report.txt ", "-- "}) {
    const ProgramRun run =
        RunIdleburn("run " + std::string(flags) + "sh -c 'echo $0 \"$@\"; exit 7' made --epochs 3 -x");
    EXPECT_EQ(run.code, 7) << flags << run.err;
    EXPECT_EQ(run.out, "made --epochs 3 -x\n") << flags << run.err;
  }
}

TEST(Commands, RunRefusesAFlagThatMayBeMeantForEither) {
  for (const char* word : {"--price", "--price=2", "--help", "-o", "--quiet"}) {
    const ProgramRun run = RunIdleburn("run --quiet echo " + std::string(word) + " 2");
    const std::string name = std::string(word).substr(0, std::string(word).find('='));
    EXPECT_EQ(run.code, 2) << word;
    EXPECT_EQ(run.out, "") << word;
    EXPECT_EQ(run.err, "idleburn: run: " + name +
                           " may belong to idleburn or to the command; put two dashes before the command: idleburn run "
                           "--price 2.50 -- python train.py\n");
  }
  // An unknown flag is a mistake of the flags before the command.
  EXPECT_EQ(RunIdleburn("run --prize 2 echo").err, "idleburn: run: unknown flag --prize; did you mean --price?\n");
  // The dashes of the command itself do not make its first word a flag's.
  EXPECT_EQ(RunIdleburn("run echo -- x").code, 2);
}

// ---- prices by the name of a GPU

TEST(Commands, APriceMayBeTheNameOfAGpu) {
  const std::string log = std::string(IDLEBURN_ROOT) + "/examples/finetune_4xh100.csv.gz";
  const json audit = AuditJsonOf(log + " --price H100");
  const json& cost = audit["cost"];
  EXPECT_TRUE(cost["total"].is_null());
  EXPECT_EQ(cost["total_reason"], "ambiguous_price");
  // One GPU-hour: the dearest and the cheapest offer of the catalogue.
  const ProgramRun resolved = RunIdleburn("prices resolve H100");
  EXPECT_EQ(resolved.code, 0) << resolved.err;
  ExpectHas(resolved.out, " a GPU-hour: ");
  ExpectHas(resolved.out, "H100-94GB-NVL");
  EXPECT_EQ(cost["total_low"], "1.25");
  EXPECT_EQ(resolved.out.rfind("$1.25 to ", 0), 0U) << resolved.out.substr(0, 80);
  const ProgramRun text = RunIdleburn("audit " + log + " --price H100 --format markdown");
  ExpectHas(Unwrapped(text.out), " a GPU-hour (");
  // The offers of another GPU are told apart.
  ExpectHas(Unwrapped(RunIdleburn("audit " + log + " --price V100 --format markdown --full").out),
            "is the price of another GPU");
  ExpectHas(RunIdleburn("run --budget 5 --price H100 -- true").err,
            "--budget cannot be watched: --price H100 is a range of offers; give a number, or the key of one offer");
  const ProgramRun unknown = RunIdleburn("audit " + log + " --price 'RTX 3080'");
  EXPECT_EQ(unknown.code, 2);
  ExpectHas(unknown.err, "the catalogue has no price of the GPU RTX 3080; give USD per GPU-hour");
}

// ---- demo

// What the README shows of it, and the audit of the file that ships.
// A board that is rented by the hour, by the name that a driver prints.
TEST(Commands, AConsumerBoardHasARangeWithSourceAndDate) {
  const TempFolder folder;
  std::string text = "timestamp, index, name, utilization.gpu [%]\n";
  for (int s = 10; s < 40; ++s) {
    text += "2026/10/05 09:00:" + std::to_string(s) + ".000, 0, NVIDIA GeForce RTX 4090, 95 %\n";
  }
  const std::string log = folder.Write("gpu.csv", text);
  for (const std::string flags : {"", " --price 'RTX 4090'", " --price 'NVIDIA GeForce RTX 4090'"}) {
    EXPECT_EQ(AuditJsonOf(log + flags)["cost"]["total_reason"], "ambiguous_price") << flags;
    const std::string full = Unwrapped(RunIdleburn("audit " + log + flags + " --full").out);
    ExpectHas(full, "the catalogue has $0.35 to $0.74 a GPU-hour (oldest price as of 2026-09-20, some undated)");
  }
  const ProgramRun resolved = RunIdleburn("prices resolve 'NVIDIA GeForce RTX 4090'");
  EXPECT_EQ(resolved.out.rfind("$0.35 to $0.74 a GPU-hour: ", 0), 0U) << resolved.out;  // 2.77 / 8 at Vast.ai
  ExpectHas(resolved.out, "from akash.network/pricing/gpus");
  const std::string one = Unwrapped(RunIdleburn("audit " + log + " --price akash:rtx4090@global --full").out);
  ExpectHas(one, "akash:rtx4090:on_demand@global, as of 2026-09-20");
}

TEST(Commands, DemoPrintsWhatTheReadmeShows) {
  const ProgramRun demo = RunIdleburn("demo");
  EXPECT_EQ(demo.code, 0);
  EXPECT_EQ(demo.err, "");
  EXPECT_EQ(demo.out.rfind("You paid $8.00 for 1 GPU-hour;", 0), 0U) << demo.out;
  ExpectHas(demo.out, "A demo: 4 H100 GPUs fine-tune a model for 15 minutes in an invented recording");
  const std::vector<std::string> readme = LinesOf(ReadText(std::string(IDLEBURN_ROOT) + "/README.md"));
  const auto verdict = std::find_if(readme.begin(), readme.end(),
                                    [](const std::string& line) { return line.rfind("    You paid", 0) == 0; });
  ASSERT_NE(verdict, readme.end());
  // The README leaves out the bar, the GPUs and what is about the demo itself.
  int shown = 0;
  for (auto line = verdict; line != readme.end() && (line->empty() || line->rfind("    ", 0) == 0); ++line) {
    if (line->empty()) continue;
    ExpectHas("\n" + demo.out, "\n" + line->substr(4) + "\n");
    ++shown;
  }
  EXPECT_EQ(shown, 7);

  EXPECT_EQ(demo.out.find("--timezone"), std::string::npos) << demo.out;  // a flag that it lacks
  EXPECT_EQ(demo.out.find("idleburn-scratch"), std::string::npos) << demo.out;
  ExpectHas(RunIdleburn("demo --full").out, "Inputs: the example recording.");
  const ProgramRun document = RunIdleburn("demo --format json");
  EXPECT_EQ(document.code, 0) << document.err;
  json told = json::parse(document.out);  // no introduction before it
  json file = AuditJsonOf(std::string(IDLEBURN_ROOT) + "/examples/finetune_4xh100.csv.gz --price 8");
  EXPECT_DOUBLE_EQ(told["gpu_hours"]["window"], 1.0);  // 4 GPUs for a quarter of an hour
  EXPECT_EQ(told["cost"]["total"], "8.00");
  for (const char* where : {"inputs", "data_quality"}) {  // these name the file
    told.erase(where);
    file.erase(where);
  }
  EXPECT_TRUE(told == file) << json::diff(told, file);
}

TEST(Commands, DemoSaysWhyItCannot) {
  const ProgramRun run = testing::RunShell("TMPDIR=/proc/no/such/folder " IDLEBURN_PROGRAM " demo");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "");
  ExpectHas(run.err, "TMPDIR");
  EXPECT_EQ(RunIdleburn("demo --price cheap").code, 2);
}

// ---- prices

// Every row of the catalogue, with the price of an instance divided by its GPUs.
TEST(Commands, PricesListIsTheCatalogue) {
  struct Row {
    std::string gpu;
    double price;
    double gpus;
  };
  std::map<std::string, Row> rows;
  std::vector<std::string> csv = LinesOf(ReadText(std::string(IDLEBURN_ROOT) + "/data/prices/catalogue.csv"));
  ASSERT_EQ(csv.front(), "provider,region,instance,gpu,gpu_count,market,price,as_of,source");
  for (auto line = csv.begin() + 1; line != csv.end(); ++line) {
    const std::vector<std::string> c = SplitAt(*line, ',');
    rows[c[0] + ":" + c[2] + ":" + c[5] + "@" + c[1]] = {c[3], std::stod(c[6]), std::stod(c[4])};
  }
  const ProgramRun list = RunIdleburn("prices list");
  EXPECT_EQ(list.code, 0) << list.err;
  std::vector<std::string> lines = LinesOf(list.out);
  ASSERT_EQ(lines.size(), rows.size() + 1);
  ExpectHas(lines.front(), "key for --price");
  std::size_t h100 = 0;
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    std::istringstream words(*line);
    double per_gpu = 0;
    double per_instance = 0;
    std::string gpu;
    std::string date;
    std::string key;
    words >> per_gpu >> per_instance >> gpu >> date >> key;
    ASSERT_TRUE(rows.contains(key)) << *line;
    EXPECT_EQ(gpu, rows[key].gpu) << *line;
    EXPECT_NEAR(per_instance, rows[key].price, 1e-9) << *line;
    EXPECT_NEAR(per_gpu, rows[key].price / rows[key].gpus, 1e-9) << *line;
    h100 += gpu == "H100-80GB-SXM" ? 1U : 0U;
  }
  ASSERT_GT(h100, 0U);
  const ProgramRun some = RunIdleburn("prices list --gpu 'NVIDIA H100 80GB HBM3'");
  EXPECT_EQ(LinesOf(some.out).size(), h100 + 1) << some.out;
  const ProgramRun none = RunIdleburn("prices list --gpu 'Voodoo 5'");
  EXPECT_EQ(none.code, 1);
  ExpectHas(none.err, "no row for the GPU 'Voodoo 5'");
  EXPECT_EQ(RunIdleburn("prices sell").code, 2);
  // The offers of a model stand with their dates, as in the list.
  const ProgramRun offers = RunIdleburn("prices resolve 'NVIDIA H100 80GB HBM3'");
  EXPECT_EQ(offers.code, 0) << offers.err;
  const std::string below = offers.out.substr(offers.out.find('\n') + 1);
  EXPECT_EQ(below.substr(0, some.out.size()), some.out);
  // Their sources come below: a price without one cannot be checked.
  for (const std::string& line : LinesOf(below.substr(some.out.size()))) EXPECT_EQ(line.rfind("from ", 0), 0U) << line;
  EXPECT_GT(below.size(), some.out.size());
}

TEST(Commands, FlagsOfAnotherActionOnPricesAreRefused) {
  for (const char* words : {"list --as-of 2026-11-01", "list --price 2", "list --currency EUR", "resolve H100 -o x",
                            "resolve H100 --gpu H100", "import x.csv --gpu H100", "import x.csv --price 2"}) {
    const ProgramRun run = RunIdleburn("prices " + std::string(words));
    EXPECT_EQ(run.code, 2) << words;
    ExpectHas(run.err, "not of this action");
  }
}

// What the list holds can be edited and given back.
TEST(Commands, PricesListWritesAPriceFile) {
  const TempFolder folder;
  const std::string file = (folder.path() / "t4.csv").string();
  const ProgramRun list = RunIdleburn("prices list --gpu T4 -o " + file);
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_EQ(list.out, "");
  const std::vector<std::string> shown = LinesOf(RunIdleburn("prices list --gpu T4").out);
  EXPECT_EQ(LinesOf(ReadText(file)).size(), shown.size());
  const std::string key = shown.at(1).substr(shown.at(1).rfind(' ') + 1);
  EXPECT_EQ(RunIdleburn("prices resolve " + key).out.substr(0, 8),
            RunIdleburn("prices resolve " + key + " --prices " + file).out.substr(0, 8));
}

// A catalogue of SkyPilot becomes rows that an audit takes, without what is none.
TEST(Commands, PricesImportMakesAListForAudits) {
  const TempFolder folder;
  const std::string vms =
      folder.Write("vms.csv",
                   "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\n"
                   "two_l40s,L40S,2.0,32,256,3.0968,eu-1,,1.5\n"
                   "t4,T4,1,4,16,700.0,us-1,,0.2\n"           // on demand not for sale
                   "a2-highgpu-1g,,,12,85,0.9,us-1,,0.3\n");  // a host without its GPU
  const std::string list = (folder.path() / "prices.csv").string();
  const ProgramRun run = RunIdleburn("prices import " + vms + " --provider acme --as-of 2026-11-01 -o " + list);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  ExpectHas(run.err, "3 prices read. Left out: 1 host without its GPU, 0 GPU without its host, 1 not for sale");
  std::vector<std::string> rows;
  for (const std::string& line : LinesOf(ReadText(list))) rows.push_back(line.substr(0, line.rfind(',')));
  EXPECT_EQ(rows, (std::vector<std::string>{"provider,region,instance,gpu,gpu_count,market,price,as_of",
                                            "acme,eu-1,two_l40s,L40S-48GB,2,on_demand,3.0968,2026-11-01",
                                            "acme,eu-1,two_l40s,L40S-48GB,2,spot,1.5,2026-11-01",
                                            "acme,us-1,t4,T4-16GB,1,spot,0.2,2026-11-01"}));
  const ProgramRun found = RunIdleburn("prices resolve acme:two_l40s:spot@eu-1 --prices " + list);
  EXPECT_EQ(found.code, 0) << found.err;
  EXPECT_EQ(found.out.rfind("$0.75 a GPU-hour", 0), 0U) << found.out;
  EXPECT_EQ(RunIdleburn("prices import").code, 2);
  EXPECT_EQ(RunIdleburn("prices import " + vms + " --provider acme --as-of sometime -o " + list).code, 2);
  EXPECT_EQ(RunIdleburn("prices import /proc/no/such/file --provider acme").code, 1);
}

// ---- flags of audit

// Rows every ten seconds for a minute, five minutes of nothing, and such a minute again: 300 W, busy at 50 %.
std::string LogWithAGap() {
  std::string text = "timestamp, index, name, utilization.gpu [%], power.draw [W]\n";
  for (const std::int64_t from : {0, 360}) {
    for (std::int64_t s = from; s <= from + 60; s += 10) {
      text += SmiStamp(s) + ", 0, NVIDIA H100 80GB HBM3, 50 %, 300.00 W\n";
    }
  }
  return text;
}

TEST(Commands, MaxGapAndPeriodSayHowLongAReadingLasts) {
  const TempFolder folder;
  const std::string log = folder.Write("log.csv", LogWithAGap());
  const auto observed = [&](const std::string& flags) {
    const json audit = AuditJsonOf(log + " --price 3600" + flags);  // a dollar a second
    EXPECT_NEAR(audit["gpu_hours"]["window"].get<double>() * 3600, 420, 1e-6) << flags;
    return audit["gpu_hours"]["observed"].get<double>() * 3600;
  };
  EXPECT_NEAR(observed(""), 60 + 25 + 60, 1e-6);  // 2.5 periods of ten seconds into the gap
  EXPECT_NEAR(observed(" --max-gap 2s"), 6 * 2 + 2 + 6 * 2, 1e-6);
  EXPECT_NEAR(observed(" --max-gap 10m"), 420, 1e-6);
  EXPECT_NEAR(observed(" --period 4s"), 60 + 10 + 60, 1e-6);  // 2.5 of four seconds: just as long as the rows
  EXPECT_NEAR(observed(" --period 2s"), 6 * 5 + 5 + 6 * 5, 1e-6);
  EXPECT_NEAR(observed(" --period 2s --max-gap 3s"), 6 * 3 + 3 + 6 * 3, 1e-6);
  EXPECT_EQ(RunIdleburn("audit " + log + " --max-gap long").code, 2);
  EXPECT_EQ(RunIdleburn("audit " + log + " --period 0s").code, 2);
}

TEST(Commands, TariffAndGridPriceTheEnergy) {
  const TempFolder folder;
  std::string text = "timestamp, index, utilization.gpu [%], power.draw [W]\n";
  for (std::int64_t s = 0; s <= 7200; s += 10) {
    for (const char* gpu : {"0", "1"}) text += SmiStamp(s) + ", " + gpu + ", 50 %, 375.00 W\n";
  }
  const std::string log = folder.Write("log.csv", text);  // two GPUs for two hours: 1.5 kWh
  const std::string flags = log + " --price 2 --tariff 0.1234 --grid 380.5";
  const json audit = AuditJsonOf(flags);
  EXPECT_DOUBLE_EQ(audit["energy_kwh"], 1.5);
  EXPECT_EQ(audit["cost"]["energy"], "0.19");
  EXPECT_EQ(audit["cost"]["energy_exact"], "0.1851");
  EXPECT_DOUBLE_EQ(audit["co2e_kg"], 0.57075);
  EXPECT_EQ(audit["cost"]["total"], "8.00");  // energy is in the price of a GPU-hour, not beside it
  const ProgramRun page = RunIdleburn("audit --full " + flags);
  EXPECT_EQ(page.code, 0) << page.err;
  ExpectHas(Unwrapped(page.out), "0.571 kg CO2e");
  ExpectHas(page.out, "Energy alone: $0.19");
  const json plain = AuditJsonOf(log + " --price 2");
  EXPECT_TRUE(plain["cost"]["energy"].is_null());
  EXPECT_EQ(plain["cost"]["energy_reason"], "not_asked_or_not_measured");
  EXPECT_TRUE(plain["co2e_kg"].is_null());
  for (const char* wrong : {"--tariff=-1", "--tariff cheap", "--grid=-1", "--grid green"}) {
    EXPECT_EQ(RunIdleburn("audit " + log + " " + wrong).code, 2) << wrong;
  }
}

TEST(Commands, ExplainAddsWhatWasNotAdvised) {
  const TempFolder folder;
  const std::string log = folder.Write("log.csv", LogWithAGap());
  const ProgramRun brief = RunIdleburn("audit --full " + log + " --price 2");
  const ProgramRun full = RunIdleburn("audit " + log + " --price 2 --explain");
  EXPECT_EQ(full.code, 0) << full.err;
  EXPECT_EQ(brief.out.find("Considered, not advised"), std::string::npos) << brief.out;
  ExpectHas(full.out, "Considered, not advised");
  const json audit = AuditJsonOf(log + " --price 2");
  std::size_t findings = 0;
  for (const json& finding : audit["findings"]) {
    ExpectHas(Unwrapped(full.out), Unwrapped(finding["title"].get<std::string>()));
    ++findings;
  }
  EXPECT_GT(findings, 0U);
}

// The draws behind a combined saving: how many, from which seed, and what each fix is taken to recover.
TEST(Commands, CombineExplainsItsDraws) {
  const std::string words = "combine --fix .35 --fix .30 --waste .5";
  const ProgramRun run = RunIdleburn(words + " --full");
  EXPECT_EQ(run.code, 0) << run.err;
  const json draws = json::parse(RunIdleburn(words + " --format json").out)["draws"];
  EXPECT_GE(draws["count"].get<int>(), 1000);
  ExpectHas(run.out,
            "of " + ThreeDigits(draws["count"].get<double>()) + " draws with seed " + draws["seed"].dump() + ";");
  const std::string recovery = draws["recovery"];
  ASSERT_EQ(recovery.rfind("Beta(", 0), 0U) << recovery;
  const double shape = std::stod(recovery.substr(5));
  ExpectHas(run.out, "x " + recovery + ", with mean ");
  const double mean = std::stod(run.out.substr(run.out.find(", with mean ") + 12));
  EXPECT_NEAR(mean, shape / (shape + 1), 1e-3);  // of Beta(shape, 1)
  EXPECT_EQ(RunIdleburn(words).out.find("seed"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
