// `idleburn bill chargeback` and `bill close`: what each owner pays of a bill whose truth this test knows, and how a
// month stays closed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>

#include "base/money.h"
#include "os/digest.h"
#include "support/made_ledger.h"
#include "support/named_keys.h"
#include "support/program.h"
#include "support/shared_data.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

constexpr std::int64_t kOctober = 1'790'812'800;  // 2026-10-01T00:00:00Z

std::int64_t NanoOf(const json& amount) { return Money::Parse(amount.get<std::string>()).value().nano(); }

constexpr const char* kChargeHeader =
    "BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,"
    "ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeClass,ChargeDescription,PricingQuantity,PricingUnit,"
    "BillingAccountId,BillingAccountName,InvoiceIssuerName,ProviderName,PublisherName,ServiceCategory,ServiceName,"
    "InvoiceId,ResourceId,Tags,SkuPriceDetails,CommitmentDiscountId,CommitmentDiscountStatus,SubAccountId\n";

// One row of October 2026.
struct MadeRow {
  std::string billed = "0";
  std::string effective = "0";
  std::string category = "Usage";
  std::string charge_class = {};
  std::string service = "Compute";
  std::string resource = {};
  std::string tags = {};  // as JSON
  int gpus = 0;
  int hour = 0;  // of the month
  std::string commitment = {};
  std::string status = {};
  std::string account = "sa";
};

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return text.empty() ? text : quoted + "\"";
}

std::string TextOf(const MadeRow& row) {
  const auto time = [](std::int64_t hour) {
    return fmt::format("2026-10-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24);
  };
  return fmt::format(
      "{},{},{},{},USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,{},{},{},{},x,1,Hours,ba,Lab,Cloud,Cloud,Cloud,{},S,"
      "INV,{},{},{},{},{},{}\n",
      row.billed, row.effective, row.effective, row.effective, time(row.hour), time(row.hour + 1), row.category,
      row.charge_class, row.service, Quoted(row.resource), Quoted(row.tags),
      row.gpus > 0 ? Quoted(fmt::format("{{\"GpuCount\": {}}}", row.gpus)) : "", row.commitment, row.status,
      row.account);
}

MadeRow GpuHour(int hour, const std::string& cost, const std::string& resource, const std::string& team) {
  MadeRow row;
  row.billed = row.effective = cost;
  row.resource = resource;
  row.gpus = 8;
  row.hour = hour;
  if (!team.empty()) row.tags = "{\"team\": \"" + team + "\"}";
  return row;
}

class BillChargesTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, const std::vector<MadeRow>& rows) const {
    std::string text = kChargeHeader;
    for (const MadeRow& row : rows) text += TextOf(row);
    return folder_.Write(name, text);
  }
  [[nodiscard]] std::string Store() const { return (folder_.path() / "bill.duckdb").string(); }
  [[nodiscard]] std::string Closed() const { return Store() + ".closed/2026-10.csv"; }

  static json Charged(const std::string& words) {
    const ProgramRun run = RunIdleburn("bill chargeback " + words + " --format json");
    EXPECT_EQ(run.code, 0) << run.err;
    json document = json::parse(run.out, nullptr, false);
    EXPECT_TRUE(document.is_object()) << run.out;
    ExpectConserved(document);
    return document;
  }
  // Owners, buckets and what nobody pays sum to the total, in billionths and as printed.
  static void ExpectConserved(const json& all) {
    for (const std::string ending : {"", "_exact"}) {
      std::int64_t sum = 0;
      for (const char* kind : {"owners", "buckets"}) {
        for (const json& owner : all[kind]) {
          EXPECT_EQ(NanoOf(owner["direct" + ending]) + NanoOf(owner["shared" + ending]) +
                        NanoOf(owner["unused_commitment" + ending]),
                    NanoOf(owner["total" + ending]));
          sum += NanoOf(owner["total" + ending]);
        }
      }
      for (const json& line : all["shared_costs"]) sum += NanoOf(line["not_charged" + ending]);
      EXPECT_EQ(sum, NanoOf(all["total" + ending])) << ending;
    }
  }
  using Amounts = std::map<std::string, std::string>;
  static Amounts OwnersOf(const json& all, const char* key = "total") {
    Amounts amounts;
    for (const json& owner : all["owners"]) amounts[owner["owner"]] = owner[key];
    for (const json& bucket : all["buckets"]) amounts[bucket["owner"]] = bucket[key];
    return amounts;
  }
  static Amounts LinesOf(const json& all) {
    Amounts amounts;
    for (const json& line : all["shared_costs"]) amounts[line["name"]] = line["amount"];
    return amounts;
  }

  TempFolder folder_;
};

TEST_F(BillChargesTest, AHundredDollarsOverThreeTeams) {
  MadeRow tax;
  tax.billed = tax.effective = "100";
  tax.category = "Tax";
  const std::string file =
      File("bill.csv", {GpuHour(0, "1", "i-a", "a"), GpuHour(0, "1", "i-b", "b"), GpuHour(0, "1", "i-c", "c"), tax});
  const json all = Charged(file + " --share uniform");
  EXPECT_EQ(OwnersOf(all, "shared"), (Amounts{{"a", "33.34"}, {"b", "33.33"}, {"c", "33.33"}}));
  EXPECT_EQ(all["total"], "103.00");
  // Nothing is split unless asked for.
  EXPECT_EQ(OwnersOf(Charged(file), "shared"), (Amounts{{"a", "0.00"}, {"b", "0.00"}, {"c", "0.00"}}));
  const std::string weights = folder_.Write("weights.csv", "team,weight\na,1\nb,3\n");
  EXPECT_EQ(OwnersOf(Charged(file + " --share custom --share-weights " + weights), "shared"),
            (Amounts{{"a", "25.00"}, {"b", "75.00"}, {"c", "0.00"}}));
  EXPECT_EQ(RunIdleburn("bill chargeback " + file + " --share custom").code, 2);
  EXPECT_EQ(RunIdleburn("bill chargeback " + file + " --share fair").code, 2);
  EXPECT_EQ(RunIdleburn("bill chargeback " + file + " --by cat").code, 2);
}

// A bill of random charges of every class, beside sums that this test keeps by itself.
TEST_F(BillChargesTest, RandomBillsAreChargedToTheBillionth) {
  std::mt19937_64 random(11);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  for (int round = 0; round < 3; ++round) {
    std::vector<MadeRow> rows;
    std::map<std::string, std::int64_t> owners;
    std::map<std::string, std::int64_t> commitments;
    std::map<std::string, std::int64_t> lines;
    for (int i = 0; i < 300; ++i) {
      const std::int64_t nano = 1'000'000LL * pick(90'000) + pick(1000);
      const std::string team = pick(4) == 0 ? "" : fmt::format("team-{}", pick(5));
      MadeRow row = GpuHour(i, FormatExact(Money::Nano(nano)), fmt::format("i-{}-{}", i, team), team);
      switch (pick(6)) {
        case 0:  // storage
          row.gpus = 0;
          row.service = "Storage";
          break;
        case 1:
          row.category = "Credit";
          row.billed = row.effective = "-" + row.effective;
          row.gpus = 0;
          break;
        case 2:  // the unused part of a commitment that was paid before
          row.commitment = row.resource = fmt::format("cd-{}", i);
          row.status = "Unused";
          row.billed = "0";
          break;
        default:
          break;
      }
      if (row.category == "Credit") {
        (team.empty() ? lines["credits"] : owners[team]) -= nano;
      } else if (row.status == "Unused") {
        (team.empty() ? lines["unused commitments"] : commitments[team]) += nano;
        lines["paid for other periods, or before"] -= nano;
      } else {
        owners[team.empty() ? "_unknown" : team] += nano;
      }
      rows.push_back(row);
    }
    const json all = Charged(File(fmt::format("random-{}.csv", round), rows));
    std::map<std::string, std::int64_t> direct;
    std::map<std::string, std::int64_t> unused;
    for (const char* kind : {"owners", "buckets"}) {
      for (const json& owner : all[kind]) {
        direct[owner["owner"]] = NanoOf(owner["direct_exact"]);
        if (NanoOf(owner["unused_commitment_exact"]) != 0) {
          unused[owner["owner"]] = NanoOf(owner["unused_commitment_exact"]);
        }
      }
    }
    EXPECT_EQ(direct, owners);
    EXPECT_EQ(unused, commitments);
    for (const json& line : all["shared_costs"]) {
      if (line["name"] != "unexplained") {
        EXPECT_EQ(NanoOf(line["amount_exact"]), lines[line["name"]]) << line["name"];
      }
    }
  }
}

// Untagged spend is a line, with the rule that would tag it; the rule, given back, tags it.
TEST_F(BillChargesTest, UntaggedSpendHasALineAndARule) {
  std::vector<MadeRow> rows = {GpuHour(0, "10", "i-a", "a"),  GpuHour(1, "10", "i-a", ""),
                               GpuHour(0, "5", "i-b", "b"),   GpuHour(0, "7", "i-new", ""),
                               GpuHour(0, "3", "i-two", "a"), GpuHour(1, "3", "i-two", "b"),
                               GpuHour(2, "3", "i-two", "")};
  for (MadeRow& row : rows) row.account = row.resource == "i-new" || row.resource == "i-b" ? "sa-b" : "sa-x";
  rows.push_back(GpuHour(4, "2", "i-alone", ""));
  rows.back().account = "sa-alone";
  const std::string file = File("bill.csv", rows);
  const json all = Charged(file);
  EXPECT_EQ(OwnersOf(all), (Amounts{{"a", "13.00"}, {"b", "8.00"}, {"_unknown", "22.00"}}));
  std::map<std::string, json> untagged;
  for (const json& cost : all["untagged"]) untagged[cost["resource"]] = cost;
  EXPECT_EQ(untagged.size(), 4U);
  ExpectNamed(all, "bill-chargeback.md");
  EXPECT_EQ(untagged["i-a"]["rule"]["column"], "ResourceId");
  EXPECT_EQ(untagged["i-a"]["rule"]["owner"], "a");
  EXPECT_EQ(untagged["i-a"]["cost"], "10.00");
  EXPECT_EQ(untagged["i-new"]["rule"]["column"], "SubAccountId");
  EXPECT_EQ(untagged["i-new"]["rule"]["owner"], "b");
  // Two teams used it, so nobody can say whose the hour was.
  EXPECT_TRUE(untagged["i-two"]["rule"].is_null());
  EXPECT_EQ(untagged["i-two"]["rule_reason"], "rows of its ResourceId name 2 owners");
  EXPECT_EQ(untagged["i-alone"]["rule_reason"], "no row of its resource or sub-account has an owner");
  const std::string rules = folder_.Write(
      "rules.csv", "column,value,owner\nResourceId,i-a,a\nSubAccountId,sa-b,b\nSubAccountId,sa-alone,'); DROP--\n");
  EXPECT_EQ(OwnersOf(Charged(file + " --tag-rules " + rules)),
            (Amounts{{"a", "23.00"}, {"b", "15.00"}, {"'); DROP--", "2.00"}, {"_unknown", "3.00"}}));
  for (const std::string bad :
       {"column,value,owner\nBilledCost,1,a\n", "column,value,owner\nResourceId,,a\n", "a,b\n"}) {
    EXPECT_EQ(RunIdleburn("bill chargeback " + file + " --tag-rules " + folder_.Write("bad.csv", bad)).code, 1) << bad;
  }
}

// The ledger says who held a machine that carries one tag: two teams, and nobody for a quarter of the hour.
TEST_F(BillChargesTest, TheLedgerNamesTeamsJobsAndExperiments) {
  constexpr std::int64_t kGpuHour = 3'600'000;
  MadeHour hour;
  hour.node = "n1";
  hour.hour = kOctober;
  for (int gpu = 0; gpu < 8; ++gpu) {
    PhaseMs phases{};
    phases[gpu < 6 ? 3 : 0] = kGpuHour;
    hour.gpus.emplace_back("GPU-" + std::to_string(gpu), phases);
  }
  hour.jobs.push_back({{"c", "7", "ann", "vision", "detect"}, {0, 0, 0, 4 * kGpuHour, 0}});
  hour.jobs.push_back({{"c", "8", "bob", "nlp", ""}, {kGpuHour, 0, 0, kGpuHour, 0}});
  hour.unallocated = {kGpuHour, 0, 0, kGpuHour, 0};
  const std::string ledger = (folder_.path() / "ledger").string();
  WriteLedger(ledger, {hour});
  const std::string words = File("bill.csv", {GpuHour(0, "80", "n1", "platform"), GpuHour(1, "80", "n1", "platform")}) +
                            " --ledger " + ledger;
  // The second hour is not in the ledger: its tag counts.
  const json teams = Charged(words);
  EXPECT_EQ(OwnersOf(teams), (Amounts{{"vision", "40.00"}, {"nlp", "20.00"}, {"platform", "80.00"}}));
  EXPECT_EQ(LinesOf(teams)["unallocated GPUs"], "20.00");
  EXPECT_EQ(OwnersOf(Charged(words + " --by job")), (Amounts{{"7", "40.00"}, {"8", "20.00"}, {"_unknown", "80.00"}}));
  EXPECT_EQ(OwnersOf(Charged(words + " --by experiment")), (Amounts{{"detect", "40.00"}, {"_unknown", "100.00"}}));
  EXPECT_EQ(OwnersOf(Charged(words + " --by tag")), (Amounts{{"platform", "140.00"}}));
  // Half of what nlp held was idle.
  const std::string folder = (folder_.path() / "statements").string();
  ASSERT_EQ(RunIdleburn("bill chargeback " + words + " --format json -o " + folder).code, 0);
  const json nlp = json::parse(std::ifstream(folder + "/team-nlp.json"));
  ExpectNamed(nlp, "bill-chargeback.md");
  EXPECT_EQ(nlp["jobs"][0]["name"], "8");
  EXPECT_EQ(nlp["jobs"][0]["used"], "10.00");
  EXPECT_EQ(nlp["jobs"][0]["idle"], "10.00");
  EXPECT_NEAR(nlp["gpu_hours"].get<double>(), 2.0, 1e-9);
}

TEST_F(BillChargesTest, StatementsAreFilesOfEveryFormat) {
  const std::string file = File("bill.csv", {GpuHour(0, "10", "i-a", "vision"), GpuHour(0, "5", "i-b", "=cmd()"),
                                             GpuHour(0, "2", "i-c", "<b>../x")});
  for (const std::string format : {"text", "csv", "html", "json", "markdown"}) {
    const std::string folder = (folder_.path() / format).string();
    const ProgramRun run = RunIdleburn("bill chargeback " + file + " --format " + format + " -o " + folder);
    ASSERT_EQ(run.code, 0) << run.err;
    int files = 0;
    int plain = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      ++files;
      const std::string name = entry.path().filename().string();
      plain += name.rfind("team-vision.", 0) == 0 ? 1 : 0;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      EXPECT_FALSE(text.str().empty());
      EXPECT_EQ(text.str().find(",=cmd"), std::string::npos) << "a spreadsheet would run it";
      if (format == "html") {
        EXPECT_EQ(text.str().find("<b>../x"), std::string::npos);
      }
    }
    EXPECT_EQ(files, 4) << format;  // three statements and the summary
    EXPECT_EQ(plain, 1) << format;
  }
  // The id of a statement is the hash of its CSV file.
  const json all = Charged(file);
  const std::string csv = (folder_.path() / "csv" / "team-vision.csv").string();
  for (const json& owner : all["owners"]) {
    if (owner["owner"] == "vision") {
      EXPECT_EQ(owner["statement_id"], Sha256OfFile(csv).value());
    }
  }
}

TEST_F(BillChargesTest, TheSampleIsChargedToTheCent) {
  const auto truth = test::ReadShared("data/telemetry/billing/truth.json");
  if (!truth) GTEST_SKIP() << "data/telemetry/billing/truth.json is missing";
  const std::string words = test::SharedPath("data/telemetry/billing/focus_1_2_synthetic.csv").string() +
                            " --invoice " + test::SharedPath("data/telemetry/billing/invoice.json").string();
  const json all = Charged(words);
  EXPECT_EQ(all["total"], json::parse(*truth)["invoice_total"]);
  // One hour of the A100s lost its tags; every other row of that machine names vision.
  EXPECT_EQ(all["untagged"].size(), 1U);
  EXPECT_EQ(all["untagged"][0]["rule"]["owner"], "vision");
  EXPECT_EQ(all["untagged"][0]["cost"], "15.20");
  const ProgramRun text = RunIdleburn("bill chargeback " + words);
  EXPECT_LE(std::count(text.out.begin(), text.out.end(), '\n'), 24) << text.out;
}

// --- closing a month

TEST_F(BillChargesTest, AClosedMonthStaysAndLaterRowsAreCorrections) {
  const std::string store = " --store " + Store();
  const std::vector<MadeRow> rows = {GpuHour(0, "10", "i-a", "a"), GpuHour(0, "5", "i-b", "b")};
  ASSERT_EQ(RunIdleburn("bill import " + File("bill.csv", rows) + store).code, 0);
  const ProgramRun first = RunIdleburn("bill close 2026-10" + store);
  ASSERT_EQ(first.code, 0) << first.err;
  std::ostringstream kept;
  kept << std::ifstream(Closed()).rdbuf();
  // The last line is the hash of what stands before it.
  const std::string text = kept.str();
  const std::string body = text.substr(0, text.rfind("sha256,"));
  EXPECT_EQ(text.substr(body.size()), "sha256," + Sha256Hex(body) + "\n");
  EXPECT_NE(first.out.find(Sha256Hex(body)), std::string::npos) << first.out;
  EXPECT_EQ(std::filesystem::status(Closed()).permissions() & std::filesystem::perms::owner_write,
            std::filesystem::perms::none);
  // The same again does nothing.
  const ProgramRun again = RunIdleburn("bill close 2026-10" + store);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("Nothing changed"), std::string::npos) << again.out;
  EXPECT_EQ(Charged("--month 2026-10" + store)["corrections"].size(), 0U);
  // Other flags are other data.
  EXPECT_EQ(RunIdleburn("bill close 2026-10 --share uniform" + store).code, 1);
  EXPECT_EQ(RunIdleburn("bill chargeback --month 2026-10 --by job" + store).code, 2);

  // A late row: the close stays, and what came later is a line of its own.
  ASSERT_EQ(RunIdleburn("bill import " + File("late.csv", {GpuHour(9, "2.50", "i-b", "b")}) + store).code, 0);
  const ProgramRun refused = RunIdleburn("bill close 2026-10" + store);
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("was closed at"), std::string::npos) << refused.err;
  const json all = Charged("--month 2026-10" + store);
  EXPECT_EQ(all["closed"]["total"], "15.00");
  EXPECT_EQ(all["total"], "17.50");
  ExpectNamed(all, "bill-chargeback.md");
  ASSERT_EQ(all["corrections"].size(), 1U);
  EXPECT_EQ(all["corrections"][0]["name"], "b");
  EXPECT_EQ(all["corrections"][0]["closed"], "5.00");
  EXPECT_EQ(all["corrections"][0]["amount"], "2.50");
  const std::string csv = RunIdleburn("bill chargeback --month 2026-10 --format csv" + store).out;
  EXPECT_NE(csv.find("2026-10,correction,b,,,,USD,,,,2.50,"), std::string::npos) << csv;
  std::ostringstream still;
  still << std::ifstream(Closed()).rdbuf();
  EXPECT_EQ(still.str(), text);
}

TEST_F(BillChargesTest, AnEditOfTheCloseIsSeen) {
  const std::string store = " --store " + Store();
  ASSERT_EQ(RunIdleburn("bill import " + File("bill.csv", {GpuHour(0, "10", "i-a", "a")}) + store).code, 0);
  ASSERT_EQ(RunIdleburn("bill close 2026-10" + store).code, 0);
  std::ostringstream kept;
  kept << std::ifstream(Closed()).rdbuf();
  const std::string text = kept.str();
  const auto put = [&](const std::string& content) {
    std::filesystem::remove(Closed());
    std::ofstream(Closed()) << content;
  };
  const auto refusal = [&] {
    const ProgramRun run = RunIdleburn("bill chargeback --month 2026-10" + store);
    EXPECT_EQ(run.code, 1);
    EXPECT_EQ(RunIdleburn("bill close 2026-10" + store).code, 1);
    return run.err;
  };
  std::string edited = text;
  edited.replace(edited.find("10.00"), 5, "90.00");
  put(edited);
  EXPECT_NE(refusal().find("was changed after the close"), std::string::npos);
  // With its last line made right again, the store still knows the hash.
  const std::string body = edited.substr(0, edited.rfind("sha256,"));
  put(body + "sha256," + Sha256Hex(body) + "\n");
  EXPECT_NE(refusal().find("was changed after the close; its SHA-256 was"), std::string::npos);
  for (const std::string& cut : {text.substr(0, text.size() - 1), std::string(), std::string("\n"), text + "\n"}) {
    put(cut);
    refusal();
  }
  std::filesystem::remove(Closed());
  EXPECT_NE(refusal().find("is missing"), std::string::npos);
  put(text);
  EXPECT_EQ(RunIdleburn("bill chargeback --month 2026-10" + store).code, 0);
}

TEST_F(BillChargesTest, OnlyAMonthThatHasEndedCanBeClosed) {
  const std::string store = " --store " + Store();
  EXPECT_EQ(RunIdleburn("bill close" + store).code, 2);
  EXPECT_EQ(RunIdleburn("bill close october" + store).code, 2);
  EXPECT_EQ(RunIdleburn("bill close 2026-13" + store).code, 2);
  const ProgramRun early = RunIdleburn("bill close 2199-10" + store);
  EXPECT_EQ(early.code, 1);
  EXPECT_NE(early.err.find("close it then"), std::string::npos) << early.err;
  EXPECT_EQ(RunIdleburn("bill close 2026-10" + store).code, 1) << "there are no rows";
}

// Two files of one path, one after the other: a mismatch of the second is told too.
TEST_F(BillChargesTest, TwoImportsOfOnePathHideNothing) {
  const std::string store = " --store " + Store();
  const auto row = [](int hour) {
    MadeRow made = GpuHour(hour, "5", "i-a", "a");
    made.billed = made.effective = "-5";
    return made;
  };
  ASSERT_EQ(RunIdleburn("bill import " + File("same.csv", {row(0)}) + store).code, 0);
  ASSERT_EQ(RunIdleburn("bill import " + File("same.csv", {row(1)}) + store).code, 0);
  const json bill = json::parse(RunIdleburn("bill reconcile --format json" + store).out);
  int negative = 0;
  for (const json& m : bill["mismatches"]) negative += m["kind"] == "negative_usage" ? 1 : 0;
  EXPECT_EQ(negative, 2) << bill["mismatches"];
}

}  // namespace
}  // namespace idleburn::testing
