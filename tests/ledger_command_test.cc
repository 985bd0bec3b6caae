// From a claim over comparisons to the ledger, by the commands alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

// `log NAME DAY MILLIS`: a work log of 200 steps from a day on, of that many GPU-milliseconds a step with a little of
// its own noise. Sides take turns, years after this is run: the claim is older.
constexpr const char* kLogs = R"sh(
  log() {
    awk -v day=$2 -v ms=$3 'BEGIN {
      srand(day); t = 1700000000 + day * 86400; print "time_s,gpu_seconds,steps"
      for (i = 0; i < 200; i++) { g = ms / 1000 * (1 + 0.01 * (rand() - 0.5)); t += g; printf "%.6f,%.6f,1\n", t, g }
    }' > $F/$1
  }
  for i in 6001 6004 6005 6008 6009 6012; do log before$i $i 1000; log again$i $((i + 100)) 1000; done
  for i in 6002 6003 6006 6007 6010 6011; do log after$i $i 700; log worse$i $((i + 100)) 1300; done
)sh";

class LedgerCommandTest : public ::testing::Test {
 protected:
  [[nodiscard]] ProgramRun Run(const std::string& words) const { return machine_.Run(kLogs + words); }
  [[nodiscard]] json Ledger() const {
    const ProgramRun run = machine_.Run("$I ledger --format json");
    EXPECT_EQ(run.code, 0) << run.err;
    return json::parse(run.out, nullptr, false);
  }
  LiveMachine machine_{"gpu 0\n"};
};

TEST_F(LedgerCommandTest, AClaimIsVerifiedAndLostAgain) {
  const std::string claim =
      "$I claim -o $F/claim.json --boundary 'train resnet' --measure num_workers --predicted .28 --cashable --price "
      "4 "
      "--unit steps >/dev/null";
  const ProgramRun claimed = Run(claim);
  ASSERT_EQ(claimed.code, 0) << claimed.err;
  json ledger = Ledger();
  ASSERT_EQ(ledger["claims"].size(), 1U);
  EXPECT_EQ(ledger["claims"][0]["standing"], "claimed");
  EXPECT_NEAR(ledger["entries"][0]["bound"], 0.28 / 0.8, 1e-12);

  const ProgramRun compared = Run("$I compare $F/before* --vs $F/after* --claim $F/claim.json --format json");
  ASSERT_EQ(compared.code, 0) << compared.err;
  const json verdict = json::parse(compared.out);
  ledger = Ledger();
  ASSERT_EQ(ledger["entries"].size(), 2U);
  const json& entry = ledger["entries"][1];
  EXPECT_EQ(entry["verdict"], verdict["verdict"]);
  EXPECT_EQ(entry["verdict"], "VERIFIED") << compared.out;
  EXPECT_EQ(entry["saving"]["fraction"], verdict["saving"]["fraction"]);
  EXPECT_EQ(entry["saving"]["low"], verdict["saving"]["low"]);
  EXPECT_EQ(entry["claim"], ledger["claims"][0]["claim"]);
  EXPECT_EQ(entry["inputs"].size(), 12U);
  EXPECT_EQ(entry["inputs"][0]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(entry["tool"].get<std::string>().find("idleburn "), 0U);
  EXPECT_EQ(ledger["claims"][0]["standing"], "verified");
  EXPECT_NEAR(ledger["claims"][0]["saving"]["fraction"], 0.3, 0.01);
  // 6 runs of 200 steps, each 0.3 GPU-seconds shorter, at $4 an hour.
  EXPECT_NEAR(std::stod(ledger["claims"][0]["cashable_exact"].get<std::string>()), 1200 * 0.3 / 3600 * 4, 0.005);
  EXPECT_EQ(ledger["levers"][0]["verified"], 1);
  EXPECT_NEAR(ledger["levers"][0]["ratio"], 0.3 / 0.28, 0.03);

  ASSERT_EQ(Run("$I compare $F/again* --vs $F/worse* --claim $F/claim.json >/dev/null").code, 0);
  ledger = Ledger();
  EXPECT_EQ(ledger["entries"][2]["verdict"], "REGRESSION");
  EXPECT_EQ(ledger["claims"][0]["standing"], "lost_again");
  EXPECT_NEAR(ledger["claims"][0]["saving"]["fraction"], 0.3, 0.01);  // what is lost
  EXPECT_NE(machine_.Run("$I ledger").out.find("Lost again: 1 claim: $0.40 cashable"), std::string::npos)
      << machine_.Run("$I ledger").out;
}

TEST_F(LedgerCommandTest, WithoutAClaimOrWithoutHistoryNothingIsWritten) {
  ASSERT_EQ(Run("$I compare $F/before* --vs $F/after* >/dev/null").code, 0);
  ASSERT_EQ(Run("$I claim -o $F/c.json --boundary b --measure m --unit steps --no-history >/dev/null").code, 0);
  ASSERT_EQ(Run("$I compare $F/before* --vs $F/after* --claim $F/c.json --no-history >/dev/null").code, 0);
  EXPECT_EQ(machine_.Run("ls $XDG_DATA_HOME 2>/dev/null").out, "");
}

TEST_F(LedgerCommandTest, RunsOfTheHistoryAreComparedByTheirIds) {
  const ProgramRun kept = machine_.Run(
      "for i in 1 2; do $I run --tag n=$i -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo \"step $i/8\"; sleep 0.2; done' "
      ">/dev/null 2>&1 & done; wait; $I history list --format json");
  const json runs = json::parse(kept.out, nullptr, false)["runs"];
  ASSERT_EQ(runs.size(), 2U) << kept.err;
  const std::string a = runs[0]["id"].get<std::string>().substr(0, 8);
  const std::string b = runs[1]["id"].get<std::string>().substr(0, 8);
  const ProgramRun compared = machine_.Run("$I compare history:" + a + " --vs " + b + " --format json");
  ASSERT_EQ(compared.code, 0) << compared.err;
  const ProgramRun by_file = machine_.Run("$I compare " + runs[0]["recording"].get<std::string>() + " --vs " +
                                          runs[1]["recording"].get<std::string>() + " --format json");
  EXPECT_EQ(json::parse(compared.out)["verdict"], json::parse(by_file.out)["verdict"]);
  EXPECT_EQ(json::parse(compared.out)["runs"], json::parse(by_file.out)["runs"]);
  const ProgramRun none = machine_.Run("$I compare history:zz --vs " + b);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("no run has an id that starts with 'zz'"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace idleburn::testing
