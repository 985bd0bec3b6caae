// `idleburn bill` against a bill whose every deviation is known (../shared/data/telemetry/billing), beside telemetry
// that this test invents for the bill's machines, hour by hour.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/money.h"
#include "fleet/fleet_ledger.h"
#include "support/named_keys.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "text/time_zone.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// An amount of a document in billionths.
std::int64_t Nano(const json& amount) { return Money::Parse(amount.get<std::string>()).value().nano(); }

std::int64_t Cents(const json& amount) { return Nano(amount) / 10'000'000; }

class BillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sample_ = test::SharedPath("data/telemetry/billing/focus_1_2_synthetic.csv").string();
    invoice_ = test::SharedPath("data/telemetry/billing/invoice.json").string();
    const auto truth = test::ReadShared("data/telemetry/billing/truth.json");
    if (!truth) GTEST_SKIP() << "data/telemetry/billing/truth.json is missing";
    truth_ = json::parse(*truth);
  }

  [[nodiscard]] std::string Store() const { return (folder_.path() / "bill.duckdb").string(); }

  static json Document(const std::string& words) {
    const ProgramRun run = RunIdleburn("bill " + words + " --format json");
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    return document;
  }

  // The parts sum to the total of the invoice, to the cent.
  static void ExpectConserved(const json& bill) {
    std::int64_t sum = 0;
    std::int64_t exact = 0;
    for (const auto& [key, amount] : bill["use"].items()) {
      (key.ends_with("_exact") ? exact : sum) += Nano(amount);
    }
    EXPECT_EQ(sum, Nano(bill["invoice"]["total"]));
    EXPECT_EQ(exact, Nano(bill["invoice"]["total_exact"]));
    std::int64_t owners = 0;
    for (const json& owner : bill["owners"]) owners += Nano(owner["cost_exact"]);
    EXPECT_EQ(owners, Nano(bill["invoice"]["gpu_exact"]));
  }

  using Found = std::multiset<std::tuple<std::string, std::int64_t, std::string>>;
  static Found MismatchesOf(const json& bill) {
    Found found;
    for (const json& m : bill["mismatches"]) {
      found.emplace(m["kind"], m["line"].is_null() ? 0 : m["line"].get<std::int64_t>(), m["resource"]);
    }
    return found;
  }
  [[nodiscard]] Found Planted() const {
    Found planted;
    for (const json& m : truth_["planted"]) {
      planted.emplace(m["kind"], m["csv_line"].is_null() ? 0 : m["csv_line"].get<std::int64_t>(), m["resource"]);
    }
    return planted;
  }

  TempFolder folder_;
  std::string sample_;
  std::string invoice_;
  json truth_;
};

TEST_F(BillTest, FindsEveryPlantedMismatchOnceAndNothingElse) {
  const json bill = Document("reconcile " + sample_ + " --invoice " + invoice_);
  EXPECT_EQ(MismatchesOf(bill), Planted());
  EXPECT_EQ(Planted().size(), 15U);
  ExpectNamed(bill, "bill.md");
  EXPECT_EQ(bill["invoice"]["total"], truth_["invoice_total"]);
  EXPECT_EQ(bill["residual"], "0.00");
  EXPECT_EQ(bill["reconciled"], true);
  ExpectConserved(bill);
  // What the deviations change in BilledCost is the difference that the generator states.
  std::int64_t effect = 0;
  for (const json& m : bill["mismatches"]) effect += Nano(m["effect_exact"]);
  const std::int64_t euros = Nano("0.76");  // counted as dollars in the printed totals
  EXPECT_EQ(effect + euros, Nano(truth_["difference_billed_printed_minus_right"]));
  EXPECT_EQ(Nano(bill["invoice"]["rows_exact"]) + euros, Nano(truth_["totals_as_printed"]["BilledCost"]));
  EXPECT_EQ(bill["other_currencies"][0]["currency"], "EUR");
}

TEST_F(BillTest, SumsByCategoryAreThoseOfTheFile) {
  const json bill = Document("reconcile " + sample_);
  std::map<std::string, std::array<std::int64_t, 3>> sums;
  for (const json& line : bill["lines"]) {
    auto& sum = sums[line["category"]];
    sum[0] += line["rows"].get<std::int64_t>();
    sum[1] += Nano(line["billed_exact"]);
    sum[2] += Nano(line["effective_exact"]);
  }
  sums["Usage"][0] += 1;  // the row in euros
  sums["Usage"][1] += Nano("0.76");
  sums["Usage"][2] += Nano("0.76");
  const json& printed = truth_["totals_as_printed"]["by_category"];
  EXPECT_EQ(sums.size(), printed.size());
  for (const auto& [category, right] : printed.items()) {
    EXPECT_EQ(sums[category][0], right["rows"].get<std::int64_t>()) << category;
    EXPECT_EQ(sums[category][1], Nano(right["BilledCost"])) << category;
    EXPECT_EQ(sums[category][2], Nano(right["EffectiveCost"])) << category;
  }
  // Without an invoice the total is that of the rows, rounded once, half to even.
  EXPECT_EQ(bill["invoice"]["total"], "47693.40");
  EXPECT_EQ(bill["invoice"]["total_from"], "rows");
  ExpectConserved(bill);
}

// What a machine of the sample did in an hour.
enum class Did { kUsed, kHeld, kIdle, kOff };

struct Machine {
  const char* name;
  int gpus;
  std::int64_t effective_cents;  // of an hour; of spot by day
};
constexpr Machine kMachines[] = {{"i-h100-od-1", 8, 6080},
                                 {"i-h100-cd-1", 8, 4000},
                                 {"i-h100-spot-1", 8, 0},
                                 {"i-a100-od-1", 4, 1520},
                                 {"i-l4-od-1", 1, 76}};
constexpr std::int64_t kSpotCents[] = {2560, 2240, 2880, 2400};
constexpr std::int64_t kFirstHour = 1788220800;  // 2026-09-01T00:00:00Z
constexpr int kHours = 13 * 24;
constexpr int kStep = 300;  // seconds between readings

// Invented, and known: each machine changes what it does by the hour. The small one is dark in its last two days.
Did DidInHour(int machine, int hour) {
  if (machine == 2 && (hour % 12 == 10 || hour % 12 == 11)) return Did::kOff;
  if (machine == 4 && hour >= kHours - 48) return Did::kOff;
  constexpr Did kPattern[] = {Did::kUsed, Did::kUsed, Did::kHeld, Did::kIdle, Did::kUsed};
  return kPattern[(hour * (machine + 1) + machine) % 5];
}

// A log as nvidia-smi writes it.
std::string LogOf(int machine) {
  std::string log = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n";
  for (int hour = 0; hour < kHours; ++hour) {
    const Did did = DidInHour(machine, hour);
    if (did == Did::kOff) continue;
    for (int second = 0; second < 3600; second += kStep) {
      std::string time = FormatRfc3339(Instant::FromNanos((kFirstHour + hour * 3600 + second) * kNanosPerSecond));
      std::replace(time.begin(), time.end(), '-', '/');
      time = time.substr(0, 10) + " " + time.substr(11, 8) + ".000";
      for (int gpu = 0; gpu < kMachines[machine].gpus; ++gpu) {
        log +=
            fmt::format("{}, {}, {} %, {} MiB\n", time, gpu, did == Did::kUsed ? 85 : 0, did == Did::kIdle ? 1 : 30000);
      }
    }
  }
  return log;
}

TEST_F(BillTest, TelemetryDecidesWhatEachHourWasFor) {
  std::string inputs;
  for (int m = 0; m < 5; ++m) {
    inputs +=
        " " + std::string(kMachines[m].name) + "=" + folder_.Write(std::string(kMachines[m].name) + ".csv", LogOf(m));
  }
  const json bill = Document("reconcile " + sample_ + " --invoice " + invoice_ + " --telemetry" + inputs);
  ExpectConserved(bill);
  // The truth, by hour. Four rows of the small machine and one of the A100s are not what they seem: see below.
  std::map<std::string, std::int64_t> cents;
  std::set<std::pair<std::string, std::int64_t>> dark;
  for (int m = 0; m < 5; ++m) {
    for (int hour = 0; hour < kHours; ++hour) {
      const bool spot = m == 2;
      if (spot && (hour % 12 == 10 || hour % 12 == 11)) continue;  // not billed
      if (m == 3 && hour == 6 * 24 + 15) continue;                 // the row is missing
      if (m == 4 && hour == 6 * 24 + 1) continue;                  // the row is in euros
      const std::int64_t cost = spot ? kSpotCents[hour / 24 % 4] : kMachines[m].effective_cents;
      const Did did = DidInHour(m, hour);
      // The row of this hour names another month, so telemetry says nothing of it.
      const bool displaced = m == 4 && hour == 7 * 24 + 1;
      cents[displaced || did == Did::kOff ? "unobserved"
            : did == Did::kUsed           ? "used"
            : did == Did::kHeld           ? "idle_held"
                                          : "idle"] += cost;
      if (did == Did::kOff) dark.emplace(kMachines[m].name, kFirstHour + hour * 3600);
    }
  }
  cents["unallocated"] = 104'000;  // unused commitment
  cents["unobserved"] -= 9'120;    // corrections of August
  for (const auto& [part, right] : cents) EXPECT_EQ(Cents(bill["use"][part + "_exact"]), right) << part;
  // The planted deviations, and each dark hour by its row.
  Found expected = Planted();
  Found found = MismatchesOf(bill);
  std::set<std::pair<std::string, std::int64_t>> unseen;
  for (const json& m : bill["mismatches"]) {
    if (m["kind"] != "billed_not_seen") continue;
    unseen.emplace(m["resource"], FloorSecond(ParseRfc3339(m["hour"].get<std::string>()).value().nanos()));
    found.erase(found.find({m["kind"], m["line"].get<std::int64_t>(), m["resource"]}));
    EXPECT_EQ(m["observed"], 0.0);
    EXPECT_EQ(m["amount"], "0.76");
  }
  EXPECT_EQ(unseen, dark);
  EXPECT_EQ(found, expected);
}

// A machine that no row bills, and hours of a spot machine that its rows do not cover.
TEST_F(BillTest, TellsMachinesThatNoRowBills) {
  std::string log = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n";
  for (int second = 0; second < 12 * 3600; second += kStep) {
    log += fmt::format("2026/09/01 {:02}:{:02}:00.000, 0, 90 %, 30000 MiB\n", second / 3600, second / 60 % 60);
  }
  const std::string file = folder_.Write("log.csv", log);
  const json bill = Document("reconcile " + sample_ + " --telemetry dark-1=" + file);
  int dark = 0;
  for (const json& m : bill["mismatches"]) {
    if (m["kind"] != "seen_not_billed") continue;
    ++dark;
    EXPECT_EQ(m["resource"], "dark-1");
    EXPECT_NEAR(m["observed"].get<double>(), 12.0, 1e-6);
    EXPECT_TRUE(m["amount"].is_null());
  }
  EXPECT_EQ(dark, 1);
  const json spot = Document("reconcile " + sample_ + " --telemetry i-h100-spot-1=" + file);
  std::set<std::string> hours;
  for (const json& m : spot["mismatches"]) {
    if (m["kind"] == "seen_not_billed") hours.insert(m["hour"]);
  }
  EXPECT_EQ(hours, (std::set<std::string>{"2026-09-01T10:00:00Z", "2026-09-01T11:00:00Z"}));
}

// The ledger of a fleet: two hours of one machine, the second of them half without a job.
TEST_F(BillTest, TheLedgerOfAFleetIsTelemetry) {
  const std::string path = (folder_.path() / "fleet.sqlite").string();
  constexpr std::int64_t kHourMs = 8 * 3'600'000;  // of eight GPUs
  {
    Result<FleetLedger> ledger = FleetLedger::Open(path, Nanos{kNanosPerSecond});
    ASSERT_TRUE(ledger.has_value());
    NodePull pull;
    pull.after.edge = kFirstHour + 2 * 3600;
    for (int hour = 0; hour < 2; ++hour) {
      NodeSpan span{"i-h100-od-1", kFirstHour + hour * 3600, kFirstHour + (hour + 1) * 3600, {}, {}, {}, {}};
      for (int gpu = 0; gpu < 8; ++gpu) {
        NodeSpan::GpuTimes times;
        times.uuid = "GPU-" + std::to_string(gpu);
        // 25 % idle, 50 % compute bound, 25 % unobserved.
        times.time.phases = {kHourMs / 32, 0, 0, kHourMs / 16, kHourMs / 32};
        span.gpus.push_back(times);
      }
      if (hour == 1) span.teams["_unallocated"] = {kHourMs / 4, 0, 0, kHourMs / 4, 0};
      pull.spans.push_back(std::move(span));
    }
    ASSERT_TRUE(ledger->Write(kFirstHour, {{"i-h100-od-1", pull}}).has_value());
  }
  const json bill = Document("reconcile " + sample_ + " --ledger " + path);
  ExpectConserved(bill);
  // $60.80 an hour. First hour: 1/4 idle, 1/2 used, 1/4 unobserved. Second: all idle time and half of the used time had
  // no job.
  EXPECT_EQ(bill["use"]["used_exact"], "45.60");
  EXPECT_EQ(bill["use"]["idle_exact"], "15.20");
  EXPECT_EQ(bill["use"]["idle_held_exact"], "0.00");
  EXPECT_EQ(bill["use"]["unallocated_exact"], "1070.40");  // 30.40, and the unused commitment
  // Names of the ledger that the bill does not know are told by a table.
  const std::string names = folder_.Write("names.csv", "resource,node\nres/i-h100-cd-1,I-H100-OD-1\n");
  const json named = Document("reconcile " + sample_ + " --ledger " + path + " --resources " + names);
  EXPECT_EQ(named["use"]["used_exact"], "75.60");  // and 40.00 an hour of the covered machine
  EXPECT_EQ(RunIdleburn("bill reconcile " + sample_ + " --ledger /nowhere").code, 1);
}

TEST_F(BillTest, PricesAreComparedWithWhatWasAgreed) {
  const auto prices = [&](const std::string& flags) {
    std::map<std::string, std::string> found;
    const json bill = Document("reconcile " + sample_ + flags);
    for (const json& m : bill["mismatches"]) {
      if (m["kind"] == "price") found[m["resource"]] = m["amount"];
    }
    return found;
  };
  using Amounts = std::map<std::string, std::string>;
  EXPECT_EQ(prices(" --price H100=7.60 --price A100=3.80"), Amounts());
  // 313 rows of 8 GPUs at 7.60 and not 7.00. Spot and covered hours have prices of their own.
  EXPECT_EQ(prices(" --price H100=7"), (Amounts{{"i-h100-od-1", "1502.40"}}));
}

TEST_F(BillTest, OneScreenWithTheVerdictFirst) {
  for (const std::string& words : {"reconcile " + sample_ + " --invoice " + invoice_, "validate " + sample_}) {
    const ProgramRun run = RunIdleburn("bill " + words);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 24) << run.out;
  }
  const std::string first = RunIdleburn("bill reconcile " + sample_ + " --invoice " + invoice_).out;
  EXPECT_EQ(first.rfind("The invoice is $47,546.20: $43,921.96 of it for GPUs. It is reconciled", 0), 0U) << first;
  const std::string wrong = RunIdleburn("bill reconcile " + sample_ + " --invoice 50000").out;
  EXPECT_NE(wrong.find("It is not reconciled"), std::string::npos) << wrong;
}

TEST_F(BillTest, ImportsOnceAndAddsWhatIsLate) {
  const std::string store = " --store " + Store();
  std::ifstream in(sample_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::string early;
  for (std::size_t i = 0; i < 1000; ++i) early += lines[i] + "\n";
  const std::string first = folder_.Write("early.csv", early);
  EXPECT_NE(RunIdleburn("bill import " + first + store).out.find("999 rows of focus"), std::string::npos);
  EXPECT_NE(RunIdleburn("bill import " + first + store).out.find("nothing changed"), std::string::npos);
  // The full export has the early rows again, and the late ones.
  EXPECT_NE(RunIdleburn("bill import " + sample_ + store).out.find("999 rows were imported before"), std::string::npos);
  const json bill = Document("reconcile --invoice " + invoice_ + store);
  std::multiset<std::string> kinds;
  for (const json& m : bill["mismatches"]) kinds.insert(m["kind"]);
  std::multiset<std::string> planted;
  for (const json& m : truth_["planted"]) planted.insert(m["kind"]);
  EXPECT_EQ(kinds, planted);
  EXPECT_EQ(bill["residual"], "0.00");
  ExpectConserved(bill);
  // A file that restates its periods replaces what was there.
  const ProgramRun again =
      RunIdleburn("bill import --replace " + folder_.Write("small.csv", lines[0] + "\n" + lines[1] + "\n") + store);
  EXPECT_NE(again.out.find("were replaced"), std::string::npos) << again.out << again.err;
  EXPECT_EQ(Document("reconcile" + store)["invoice"]["total"], "60.80");
}

TEST_F(BillTest, SqlReadsAndOnlyReads) {
  const std::string store = " --store " + Store();
  EXPECT_EQ(RunIdleburn("bill sql 'SELECT 1'" + store).code, 1);
  ASSERT_EQ(RunIdleburn("bill import " + sample_ + store).code, 0);
  const auto ask = [&](const std::string& query) {
    return RunIdleburn("bill sql \"" + query + "\" --format csv" + store);
  };
  EXPECT_EQ(ask("SELECT sum(BilledCost) AS s, count(*) AS n FROM charges WHERE BillingCurrency = 'USD'").out,
            "s,n\n47693.405000000,1879\n");
  EXPECT_EQ(ask("SELECT line FROM findings WHERE rule = 'above_list'; ").out, "line\n1458\n");
  const std::string outside = (folder_.path() / "out.csv").string();
  for (const std::string& query : std::vector<std::string>{"DELETE FROM bill.main.charge",
                                                           "UPDATE bill.main.charge SET line = 0",
                                                           "DROP VIEW charges",
                                                           "COPY (SELECT 1) TO '" + outside + "'",
                                                           "SELECT * FROM read_csv('" + sample_ + "')",
                                                           "SELECT * FROM '" + sample_ + "'",
                                                           "SELECT * FROM read_text('/etc/passwd')",
                                                           "SELECT * FROM glob('/*')",
                                                           "ATTACH '" + outside + "' AS x",
                                                           "SET enable_external_access = true",
                                                           "INSTALL httpfs",
                                                           "LOAD json",
                                                           "PRAGMA database_list",
                                                           "SELECT 1; DELETE FROM bill.main.charge",
                                                           "SELECT 1) ; DROP VIEW charges; SELECT (1",
                                                           "CREATE TABLE x(a INT)",
                                                           "EXPORT DATABASE '" + outside + "'",
                                                           "CALL pragma_version()",
                                                           "nonsense",
                                                           ""}) {
    const ProgramRun run = ask(query);
    EXPECT_NE(run.code, 0) << query << run.out;
    EXPECT_FALSE(std::filesystem::exists(outside)) << query;
  }
  EXPECT_EQ(ask("SELECT count(*) AS n FROM charges").out, "n\n1880\n");
}

}  // namespace
}  // namespace idleburn::testing
