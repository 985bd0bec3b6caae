// One run, several prices: two A100 on node01 and an H100 on node02, for an hour, from the real program.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/program.h"
#include "support/read_inputs.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::TempFolder;

constexpr const char* kColumns = " --columns time=time:s,uuid=uuid,host=host,name=name,util=util --period 10s ";

// The A100 are busy half the time, the H100 never.
std::string Log() {
  const struct {
    const char* cells;
    int percent;
  } gpus[] = {{"GPU-aaaa0000-0000-0000-0000-000000000001,node01,NVIDIA A100-SXM4-80GB", 50},
              {"GPU-aaaa0000-0000-0000-0000-000000000002,node01,NVIDIA A100-SXM4-80GB", 50},
              {"GPU-bbbb0000-0000-0000-0000-000000000003,node02,NVIDIA H100 80GB HBM3", 0}};
  std::string text = "time,uuid,host,name,util\n";
  for (std::int64_t s = 0; s <= 3600; s += 10) {
    for (const auto& gpu : gpus) {
      text += std::to_string(testing::UnixSeconds(s)) + "," + gpu.cells + "," + std::to_string(gpu.percent) + "\n";
    }
  }
  return text;
}

class SeveralRates : public ::testing::Test {
 protected:
  [[nodiscard]] ProgramRun Audit(const std::string& flags) const {
    return RunIdleburn("audit --full " + log_ + kColumns + flags);
  }
  [[nodiscard]] json Cost(const std::string& flags) const {
    return testing::AuditJsonOf(log_ + kColumns + flags)["cost"];
  }
  TempFolder folder_;
  std::string log_ = folder_.Write("log.csv", Log());
};

TEST_F(SeveralRates, EachGpuCostsItsOwn) {
  const json audit = testing::AuditJsonOf(log_ + kColumns + "--price A100=1.50 --price H100=4");
  const json& cost = audit["cost"];
  EXPECT_EQ(cost["total"], "7.00");  // 2 x 1.50 + 4.00
  EXPECT_EQ(cost["waste"], "5.50");  // half of 3.00, and 4.00
  EXPECT_NEAR(cost["waste_share"].get<double>(), 5.5 / 7, 1e-12);
  EXPECT_TRUE(cost["rate_per_gpu_hour"].is_null());
  EXPECT_EQ(cost["rate_per_gpu_hour_reason"], "several_rates");
  EXPECT_EQ(cost["hourly"], "7.00");
  EXPECT_EQ(cost["monthly"], "5040.00");
  EXPECT_EQ(cost["per_effective_gpu_hour"], "7.00");  // one effective hour
  ASSERT_EQ(cost["rates"].size(), 2U);
  EXPECT_EQ(cost["rates"][0]["gpus"], 2);
  EXPECT_EQ(cost["rates"][0]["cost"], "3.00");
  EXPECT_EQ(cost["rates"][0]["rate_source"], "--price A100=1.50");
  EXPECT_EQ(cost["rates"][1]["rate_per_gpu_hour"], "4.00");
  EXPECT_EQ(cost["rates"][1]["rate_kind"], "given");
  EXPECT_EQ(audit["per_gpu"][2]["cost"]["rate_per_gpu_hour"], "4.00");
  EXPECT_EQ(audit["per_gpu"][2]["cost"]["total"], "4.00");
  // What the idle H100 lost is said in its dollars.
  ASSERT_EQ(audit["findings"].size(), 2U);
  EXPECT_EQ(audit["findings"][0]["cause"], "idle");  // the dearest first, though the A100 lost more hours
  EXPECT_EQ(audit["findings"][0]["cost"], "4.00");
  EXPECT_EQ(audit["findings"][1]["cause"], "unknown");  // the A100 below 70 %
  EXPECT_EQ(audit["findings"][1]["time_cost"], "3.00");
  EXPECT_EQ(audit["findings"][1]["cost"], "1.50");  // the half of its time in which no kernel ran
}

TEST_F(SeveralRates, AHostOrAUuidComesBeforeAModel) {
  const json cost = Cost("--price 9,A100=1.5,node02=3 --price GPU-aaaa0000-0000-0000-0000-000000000002=2");
  EXPECT_EQ(cost["total"], "6.50");
  EXPECT_EQ(cost["rates"].size(), 3U);
  EXPECT_EQ(Cost("--price 2")["rates"].size(), 1U);
  EXPECT_EQ(Cost("--price 2")["rate_per_gpu_hour"], "2.00");
}

TEST_F(SeveralRates, AMisspeltGpuIsNeverPricedByAnotherPriceInSilence) {
  const ProgramRun run = Audit("--price 8 --price node3=1.9");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("no GPU of this run is called node3; it has models NVIDIA A100-SXM4-80GB"), std::string::npos)
      << run.err;
  // A file of settings is of many runs: there it is told, and the run priced.
  const std::string config = folder_.Write("site.toml", "[price]\nrate = \"8,L40S=1.1\"\n");
  const json cost = Cost("--config " + config);
  EXPECT_EQ(cost["total"], "24.00");
  ASSERT_EQ(cost["price_remarks"].size(), 1U);
  EXPECT_NE(cost["price_remarks"][0].get<std::string>().find("called L40S"), std::string::npos);
}

TEST_F(SeveralRates, WhatHasNoPriceIsExcludedAndSaid) {
  const std::string list = folder_.Write("prices.csv",
                                         "provider,region,instance,gpu,gpu_count,market,price\n"
                                         "acme,eu-1,one,H100-80GB-SXM,1,on_demand,3.00\n");
  const std::string flags = "--price A100=1.50 --prices " + list;
  const json cost = Cost(flags);  // of an H100 there are many offers
  EXPECT_EQ(cost["total"], "3.00");
  EXPECT_EQ(cost["unpriced_gpu_hours"], 1);
  EXPECT_EQ(cost["rates"][1]["rate_per_gpu_hour_reason"], "ambiguous_price");
  EXPECT_GE(std::stod(cost["total_low"].get<std::string>()), 3.0);
  EXPECT_GT(std::stod(cost["total_high"].get<std::string>()), 6.0);
  const ProgramRun text = Audit(flags + " --no-color");
  EXPECT_EQ(text.out.find("You paid $3.00 for 2 GPU-hours (2 GPUs at $1.50), excluding 1 unpriced GPU-hours;"), 0U)
      << text.out;
  // The idle GPU is the one without a price: what its idleness costs is not known.
  const json audit = testing::AuditJsonOf(log_ + kColumns + flags);
  EXPECT_TRUE(audit["findings"][1]["cost"].is_null()) << audit["findings"];
  EXPECT_TRUE(audit["recommendations"][0]["saving_cost"].is_null()) << audit["recommendations"];
  EXPECT_TRUE(audit["savings"]["cost"].is_null());
  const ProgramRun gate = Audit(flags + " --fail-on 'cost>100'");
  EXPECT_EQ(gate.code, 3);
  EXPECT_NE(gate.err.find("the cost of some GPUs is not known"), std::string::npos) << gate.err;
}

// Of candidates too, each that is old is counted once, whatever GPUs have it; one without a date is not called old.
TEST_F(SeveralRates, OldCandidatesAreCounted) {
  const std::string list = folder_.Write("list.csv",
                                         "provider,region,instance,gpu,gpu_count,market,price,as_of\n"
                                         "x,r,a,T1000,1,on_demand,1.00,2020-01-01\n"
                                         "x,r,b,T1000,1,on_demand,2.00,2020-02-01\n"
                                         "x,r,c,T1000,1,on_demand,3.00,\n");
  std::string log = Log();
  for (std::size_t at = 0; (at = log.find("NVIDIA ", at)) != std::string::npos;) {
    log.replace(at, log.find(',', at) - at, "T1000");
  }
  const std::string words = folder_.Write("t.csv", log) + kColumns + "--prices " + list + " ";
  const auto stale = [&](const std::string& flags) {
    const json audit = testing::AuditJsonOf(words + flags);
    for (const json& row : audit["data_quality"]) {
      if (row["id"] == "price_stale") return row["count"].get<int>();
    }
    return 0;
  };
  EXPECT_EQ(stale(""), 2);
  EXPECT_EQ(stale("--price x:a@r"), 1);
  EXPECT_EQ(stale("--price x:c@r"), 0);
  // A report says once how old the catalogue is.
  for (const char* flags : {"--format markdown ", "--format html ", "--no-color ", "--no-color --price x:a@r "}) {
    const std::string page = RunIdleburn("audit --full " + words + flags).out;
    for (const char* age : {"2020-01-01", "older than 90 days"}) {
      const std::size_t first = page.find(age);
      ASSERT_NE(first, std::string::npos) << age << page;
      EXPECT_EQ(page.find(age, first + 1), std::string::npos) << age << page;
    }
  }
}

TEST_F(SeveralRates, ARangeSaysWhatIsNotInIt) {
  std::string log = Log();
  for (std::size_t at = 0; (at = log.find("NVIDIA H100 80GB HBM3", at)) != std::string::npos;) {
    log.replace(at, 21, "Quadro P2000");
  }
  const std::string page = RunIdleburn("audit " + folder_.Write("old.csv", log) + kColumns + "--format html").out;
  EXPECT_NE(page.find(" a GPU-hour (oldest price as of 2026-"), std::string::npos) << page;
  EXPECT_NE(page.find("without 1 GPU-hour that have no"), std::string::npos) << page;
}

TEST_F(SeveralRates, EveryReportNamesThePrices) {
  const std::string flags = "--price A100=1.50 --price H100=4 ";
  const std::string text = Audit(flags + "--no-color").out;
  EXPECT_EQ(text.find("You paid $7.00 for 3 GPU-hours (2 GPUs at $1.50, 1 at $4.00); $5.50 (78.6 %) was waste."), 0U)
      << text;
  EXPECT_NE(text.find("Prices"), std::string::npos);
  for (const char* format : {"text", "markdown", "html"}) {
    const std::string page = Audit(flags + "--format " + format).out;
    for (const char* words : {"--price A100=1.50", "--price H100=4", "$7.00 an hour"}) {
      EXPECT_NE(page.find(words), std::string::npos) << format << words;
    }
  }
  const std::string csv = Audit(flags + "--format csv").out;
  EXPECT_NE(csv.find(",USD,1.50,'--price A100=1.50,"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",USD,4.00,'--price H100=4,"), std::string::npos) << csv;
}

TEST_F(SeveralRates, ContractsComeAfterPricesAndBeforeWhatIsOwned) {
  const auto contracts = [&](const std::string& rows) {
    return "--contracts " +
           folder_.Write("contracts.csv", "name,applies_to,per_gpu_hour,committed_per_hour,gpus,from,until\n" + rows);
  };
  const std::string owned = " --owned capex=8760,life=1,gpus=1 ";  // 1.00
  const std::string all_2026 = contracts("spring,A100,,16.00,8,2026-01-01,2027-01-01\n");
  const json agreed = Cost(all_2026 + owned);
  EXPECT_EQ(agreed["total"], "5.00");  // 2 x 2.00 and 1.00
  EXPECT_EQ(agreed["rates"][0]["rate_kind"], "contract");
  EXPECT_EQ(agreed["rates"][0]["rate_source"],
            "contract spring: 2.00 per GPU-hour, 16.00 an hour for 8 GPUs, from 2026-01-01 to 2027-01-01");
  EXPECT_NE(agreed["price_remarks"][0].get<std::string>().find("the other 6 cost 12.00 USD an hour"),
            std::string::npos);
  EXPECT_EQ(Cost(all_2026 + owned + "--price node01=5")["total"], "11.00");
  // The log is of 2026-03-02, 10:00 to 11:00.
  const json partly = Cost(contracts("short,A100,2.00,,,,2026-03-02T10:30:00Z\n") + owned);
  EXPECT_EQ(partly["total"], "1.00");
  EXPECT_EQ(partly["unpriced_gpu_hours"], 2);
  EXPECT_EQ(partly["rates"][0]["rate_per_gpu_hour_reason"], "partly_under_contract");
  EXPECT_EQ(Cost(contracts("over,A100,2.00,,,,2026-03-02T10:00:00Z\n") + owned)["total"], "3.00");
}

TEST_F(SeveralRates, ThePriceListAnswersForAModelAsAnAuditWould) {
  const std::string contracts = folder_.Write("c.csv", "name,applies_to,per_gpu_hour\nspring,A100,1.10\n");
  const std::string gpu = "prices resolve 'NVIDIA A100-SXM4-80GB' ";
  EXPECT_EQ(RunIdleburn(gpu + "--contracts " + contracts).out,
            "$1.10 a GPU-hour (contract spring: 1.10 per GPU-hour)\n");
  EXPECT_EQ(RunIdleburn(gpu + "--price H100=3,A100=1.29 --contracts " + contracts).out,
            "$1.29 a GPU-hour (--price A100=1.29)\n");
  EXPECT_EQ(RunIdleburn("prices resolve 2.49 --currency EUR").out, "2.49 EUR a GPU-hour (--price 2.49)\n");
  EXPECT_EQ(RunIdleburn("prices resolve aws:p5.4xlarge@us-east-1 --currency EUR").out.rfind("$6.88 a GPU-hour", 0), 0U)
      << "the catalogue has its own";
}

// A run of `seconds` on those GPUs, busy half the time.
std::string RunOf(const std::vector<std::string>& gpus, std::int64_t begin, std::int64_t seconds) {
  std::string text = "time,uuid,host,name,util\n";
  for (std::int64_t s = 0; s <= seconds; s += 10) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      text += std::to_string(testing::UnixSeconds(begin + s)) + ",GPU-cccc0000-0000-0000-0000-00000000000" +
              std::to_string(i) + ",node01," + gpus[i] + ",50\n";
    }
  }
  return text;
}

// Three runs a side that do the same work: their total cost is what a saving in dollars is made of.
class ComparedRates : public SeveralRates {
 protected:
  std::string Side(const std::string& name, const std::vector<std::string>& gpus, std::int64_t begin,
                   std::int64_t seconds) {
    std::string files;
    for (std::int64_t i = 0; i < 3; ++i) {
      files +=
          " " + folder_.Write(name + std::to_string(i) + ".csv", RunOf(gpus, begin + i * 3600, seconds + 10 * (i - 1)));
    }
    return files;
  }
  [[nodiscard]] static json Compare(const std::string& arguments) {
    const ProgramRun run = RunIdleburn("compare" + arguments + kColumns + "--work samples=6000 --format json");
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }
  static double Exact(const json& money, const std::string& key) {
    return std::stod(money.at(key + "_exact").get<std::string>());
  }

  const std::vector<std::string> mixed_ = {"NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3"};
  const std::string prices_ = " --price A100=1.50,H100=4 ";
};

// 3 x 600 s before and 3 x 420 s after, at 7.00 an hour for the three GPUs.
TEST_F(ComparedRates, ASavingOfAMixedNodeIsTheDifferenceOfWhatItsRunsCost) {
  const std::string sides = Side("before", mixed_, 0, 600) + " --vs" + Side("after", mixed_, 86'400, 420);
  const json money = Compare(sides + prices_ + "--cashable").at("money");
  EXPECT_NEAR(Exact(money, "total"), (1800.0 - 1260.0) / 3600 * 7, 2e-5);
  EXPECT_NEAR(Exact(money, "rate"), 0, 1e-9);
  EXPECT_EQ(money.at("rate_before_exact"), "2.333333333");
  EXPECT_EQ(money.at("rate_source"),
            "mean over time: 1.50 for 1 GPU-h (--price A100=1.50), 4.00 for 0.5 GPU-h (--price H100=4)");
  const std::string contracts = folder_.Write("c.csv", "name,applies_to,per_gpu_hour\nspring,A100,1.50\n");
  const json agreed = Compare(sides + " --price H100=4 --contracts " + contracts).at("money");
  EXPECT_NEAR(Exact(agreed, "total"), 1.05, 2e-5);
}

// Dearer GPUs that are faster: 3 x 900 s at 1.50 against 3 x 300 s at 4.00.
TEST_F(ComparedRates, EachSideIsPricedByItsOwnGpus) {
  const std::string a100 = Side("before", {"NVIDIA A100-SXM4-80GB"}, 0, 900);
  const std::string h100 = Side("after", {"NVIDIA H100 80GB HBM3"}, 86'400, 300);
  const json document = Compare(a100 + " --vs" + h100 + prices_ + "--changes gpu.model --cashable");
  const json& money = document.at("money");
  EXPECT_EQ(money.at("rate_before"), "1.50") << document.dump(1);
  EXPECT_EQ(money.at("rate_after"), "4.00");
  EXPECT_NEAR(Exact(money, "time"), 1800.0 / 3600 * 1.5, 2e-5);
  EXPECT_NEAR(Exact(money, "rate"), 900.0 / 3600 * (1.5 - 4), 2e-5);
  EXPECT_NEAR(Exact(money, "total"), 0.125, 4e-5);
  const ProgramRun misspelt =
      RunIdleburn("compare" + a100 + " --vs" + h100 + kColumns + "--work samples=6000 --price A100=1,B200=2");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_NE(misspelt.err.find("--price B200=2: no GPU of this run is called B200"), std::string::npos) << misspelt.err;
}

TEST_F(ComparedRates, AGpuWithoutAPriceLeavesNoDollars) {
  const std::string sides = Side("before", mixed_, 0, 600) + " --vs" + Side("after", mixed_, 86'400, 420);
  EXPECT_TRUE(Compare(sides + " --price A100=1.50").at("money").at("total").is_null());
  const ProgramRun text = RunIdleburn("compare" + sides + kColumns + "--work samples=6000 --price A100=1.50");
  EXPECT_NE(text.out.find("not known: no price of some GPUs (others: --price A100=1.50); give --price for each"),
            std::string::npos)
      << text.out;
}

TEST_F(ComparedRates, AClaimFixesTheMeanAndItsCurrency) {
  const std::string before = Side("before", mixed_, 0, 600);
  const std::string claim = (folder_.path() / "claim.json").string();
  const ProgramRun written = RunIdleburn("claim" + before + kColumns + "--work samples=6000 --currency EUR" + prices_ +
                                         "--boundary job --measure faster --cashable -o " + claim + " --no-history");
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_NE(written.out.find("2.33 EUR a GPU-hour"), std::string::npos) << written.out;
  const json money =
      Compare(before + " --vs" + Side("after", mixed_, 86'400, 420) + " --claim " + claim + " --no-history")
          .at("money");
  EXPECT_EQ(money.at("currency"), "EUR");
  EXPECT_NEAR(Exact(money, "total"), 1.05, 2e-5);
}

TEST_F(SeveralRates, TwoCurrenciesAreAnErrorLine) {
  const std::string contracts = folder_.Write("eu.csv", "name,applies_to,per_gpu_hour,currency\neu,A100,1.00,EUR\n");
  const ProgramRun run = Audit("--price H100=4 --contracts " + contracts);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("prices in EUR (contract eu: 1.00 per GPU-hour) and in USD (--price H100=4)"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(Cost("--currency EUR --price H100=4 --contracts " + contracts)["total"], "6.00");
}

TEST_F(SeveralRates, AWrongTableOfContractsIsAnErrorBeforeAnythingIsRead) {
  const std::string contracts = folder_.Write("bad.csv", "name,applies_to,per_gpu_hour\na,all,free\n");
  const ProgramRun run = Audit("--contracts " + contracts);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("bad.csv:2: per_gpu_hour"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace idleburn
