#include "verify/claim.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

Claim Example() {
  Claim claim;
  claim.written = Instant::FromNanos(1'700'000'000 * kNanosPerSecond);
  claim.boundary = "nightly resnet50";
  claim.unit = WorkUnit::kSample;
  claim.measure = "4 workers, not 0";
  claim.changed_factor = "command";
  claim.factors = {{"gpu.model", "NVIDIA H100"}, {"command", "python train.py --workers 0"}};
  claim.baseline = {{"a.idleburn", std::string(64, 'a')}};
  claim.predicted = 0.28;
  claim.rate_before = Money::Cents(210);
  claim.sha256 = std::string(64, '0');
  return claim;
}

TEST(ClaimTextTest, IsReadBackAsItWasWritten) {
  const auto read = ParseClaim(ClaimText(Example()), "claim.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const Claim& claim = read->claim;
  EXPECT_EQ(claim.written, Example().written);
  EXPECT_EQ(claim.boundary, "nightly resnet50");
  EXPECT_EQ(claim.unit, WorkUnit::kSample);
  EXPECT_EQ(claim.factors, Example().factors);
  EXPECT_EQ(claim.changed_factor, "command");
  ASSERT_EQ(claim.baseline.size(), 1U);
  EXPECT_EQ(claim.baseline[0].name, "a.idleburn");
  EXPECT_EQ(claim.level, 0.95);
  EXPECT_EQ(claim.smallest_effect, 0.01);
  EXPECT_EQ(claim.predicted, 0.28);
  EXPECT_EQ(claim.rate_before, Money::Cents(210));
  EXPECT_FALSE(claim.rate_after.has_value());
  EXPECT_EQ(read->hashed, HashedText(Example()));
}

TEST(ClaimTextTest, ItsPricesAreInDollarsUnlessItSaysOtherwise) {
  EXPECT_EQ(ClaimText(Example()).find("currency"), std::string::npos);
  Claim claim = Example();
  claim.currency = "EUR";
  const auto read = ParseClaim(ClaimText(claim), "claim.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->claim.currency, "EUR");
  EXPECT_EQ(ParseClaim(ClaimText(Example()), "claim.json")->claim.currency, "USD");
}

TEST(ClaimTextTest, HowTheBaselineWasPickedIsSaidOrLeftOut) {
  EXPECT_EQ(ClaimText(Example()).find("baseline_choice"), std::string::npos);
  for (const BaselineChoice choice : {BaselineChoice::kAll, BaselineChoice::kWorst}) {
    Claim claim = Example();
    claim.choice = choice;
    const auto read = ParseClaim(ClaimText(claim), "claim.json");
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(read->claim.choice, choice);
    EXPECT_NE(read->hashed, HashedText(Example()));
  }
  std::string other = ClaimText(Example());
  other.replace(other.find("\"design\""), 0, "\"baseline_choice\": \"best\", ");
  EXPECT_FALSE(ParseClaim(other, "claim.json"));
}

// What anybody's tool would hash: keys sorted, no blanks, without the hash itself.
TEST(ClaimTextTest, WhatIsHashedIsCanonical) {
  EXPECT_EQ(HashedText(Example()),
            R"({"baseline":[{"name":"a.idleburn","sha256":")" + std::string(64, 'a') +
                R"("}],"boundary":"nightly resnet50","cashable":false,"changed_factor":"command","design":"runs",)"
                R"("factors":{"command":"python train.py --workers 0","gpu.model":"NVIDIA H100"},"level":0.95,)"
                R"("measure":"4 workers, not 0","model":"ratio","predicted":0.28,"rate_after":null,)"
                R"("rate_before":"2.10","schema":"idleburn.claim/1","smallest_effect":0.01,"stop":"fixed",)"
                R"("unit":"sample","written":"2023-11-14T22:13:20Z"})");
}

// Every member that is changed changes what is hashed.
TEST(ClaimTextTest, ChangesShowInTheHash) {
  std::string text = ClaimText(Example());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    const auto read = ParseClaim(other, "claim.json");
    return read ? read->hashed != HashedText(Example()) : true;
  };
  EXPECT_TRUE(changed("\"level\": 0.95", "\"level\": 0.9"));
  EXPECT_TRUE(changed("0.28", "0.27"));
  EXPECT_TRUE(changed("H100", "H200"));
  EXPECT_TRUE(changed("2023-11-14", "2023-11-13"));
  EXPECT_TRUE(changed("a.idleburn", "b.idleburn"));
  EXPECT_FALSE(changed("  \"schema\"", "\"schema\""));  // blanks say nothing
}

TEST(ClaimTextTest, WhoClaimedIsKeptAndAnOlderClaimSaysNothingOfIt) {
  EXPECT_EQ(ClaimText(Example()).find("\"ids\""), std::string::npos);
  Claim claim = Example();
  claim.ids = RunIds{"", "4711", "", {{"SLURM_JOB_ID", "4711"}}, {}};
  const std::string text = ClaimText(claim);
  const auto read = ParseClaim(text, "claim.json");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->claim.ids, claim.ids);
  EXPECT_EQ(read->hashed, HashedText(claim));
  EXPECT_EQ(ClaimText(read->claim), text);
  EXPECT_FALSE(ParseClaim(ClaimText(Example()), "claim.json")->claim.ids.has_value());
  std::string other = text;
  other.replace(other.find("\"name\": \"SLURM"), 6, "\"what\"");
  EXPECT_FALSE(ParseClaim(other, "claim.json"));
}

TEST(ClaimTextTest, RefusalsNameTheKey) {
  const auto refusal = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    const auto read = ParseClaim(text, "claim.json");
    return read ? std::string() : read.error().message;
  };
  const std::string text = ClaimText(Example());
  EXPECT_NE(refusal(text, "\"unit\": \"sample\"", "\"unit\": \"joule\"").find("'unit'"), std::string::npos);
  EXPECT_NE(refusal(text, "  \"measure\": \"4 workers, not 0\",\n", "").find("'measure' is missing"),
            std::string::npos);
  EXPECT_NE(refusal(text, "\"level\": 0.95", "\"level\": \"high\"").find("'level'"), std::string::npos);
  EXPECT_NE(refusal(text, "\"level\": 0.95", "\"more\": 1, \"level\": 0.95").find("keys that a claim does not have"),
            std::string::npos);
  EXPECT_NE(refusal(text, "idleburn.claim/1", "idleburn.claim/9").find("idleburn.claim/9"), std::string::npos);
  EXPECT_NE(refusal(text, "2023-11-14", "2023-14-14").find("date"), std::string::npos);
  EXPECT_NE(refusal("[1]", "1", "2").find("not a JSON object"), std::string::npos);
  EXPECT_NE(refusal("{\"schema\"", "{", "{").find("not a JSON object"), std::string::npos);
}

}  // namespace

}  // namespace idleburn
