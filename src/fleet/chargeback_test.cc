// Chargeback against a naive account that shares no code with it, and worked amounts.
#include "fleet/chargeback.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "base/int128.h"
#include "support/property.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

Money Usd(std::string_view text) { return Money::Parse(text).value(); }

ChargeInput ThreeTeams(SharePolicy policy) {
  ChargeInput input;
  input.owners = {
      {"a", false, Usd("60")}, {"b", false, Usd("30")}, {"c", false, Usd("10")}, {"_unknown", true, Usd("7")}};
  input.shared = {{"unallocated GPUs", Usd("100")}};
  input.policy = policy;
  return input;
}

std::vector<std::string> SharesIn(const Chargeback& charge) {
  std::vector<std::string> shares;
  for (const ChargeRow& row : charge.rows) shares.push_back(FormatExact(row.shared));
  return shares;
}

using Texts = std::vector<std::string>;

TEST(ChargebackTest, EachPolicyOnWorkedAmounts) {
  EXPECT_EQ(SharesIn(*ChargeOwners(ThreeTeams(SharePolicy::kUniform))),
            (Texts{"33.333333334", "33.333333333", "33.333333333", "0.00"}));
  EXPECT_EQ(SharesIn(*ChargeOwners(ThreeTeams(SharePolicy::kProportional))),
            (Texts{"60.00", "30.00", "10.00", "0.00"}));
  ChargeInput custom = ThreeTeams(SharePolicy::kCustom);
  custom.weights = {{"a", 1}, {"b", 4}, {"gone", 5}};
  const Chargeback by_weight = ChargeOwners(custom).value();
  EXPECT_EQ(SharesIn(by_weight), (Texts{"20.00", "80.00", "0.00", "0.00"}));
  EXPECT_EQ(by_weight.unweighted, Texts{"c"});
  EXPECT_EQ(by_weight.unmatched, Texts{"gone"});
  ChargeInput trials = ThreeTeams(SharePolicy::kExperiments);
  trials.experiments = {{"a", "bert", 10}, {"a", "resnet", 30}, {"c", "bert", 60}};
  const Chargeback by_trial = ChargeOwners(trials).value();
  EXPECT_EQ(SharesIn(by_trial), (Texts{"40.00", "0.00", "60.00", "0.00"}));
  EXPECT_EQ(by_trial.unweighted, Texts{"b"});
  EXPECT_EQ(by_trial.experiments, (std::vector<Money>{Usd("10"), Usd("30"), Usd("60")}));
  const Chargeback none = ChargeOwners(ThreeTeams(SharePolicy::kNone)).value();
  EXPECT_EQ(SharesIn(none), (Texts{"0.00", "0.00", "0.00", "0.00"}));
  EXPECT_EQ(none.left, std::vector<Money>{Usd("100")});
  EXPECT_EQ(none.total, Usd("207"));
}

// 8 GPUs are committed at $2.00 and 5 are used: $6.00 an hour are the owner's, under every policy.
TEST(ChargebackTest, AnUnusedCommitmentIsNeverSpread) {
  for (const SharePolicy policy : {SharePolicy::kNone, SharePolicy::kUniform, SharePolicy::kProportional}) {
    ChargeInput input = ThreeTeams(policy);
    input.commitments = {{"b", Usd("6.00")}, {"platform", Usd("1.50")}};
    const Chargeback charge = ChargeOwners(input).value();
    ASSERT_EQ(charge.rows.size(), 5U);
    EXPECT_EQ(charge.rows[1].commitment, Usd("6.00"));
    EXPECT_EQ(charge.rows[0].commitment, Money());
    // An owner that ran nothing has a row, and no share of other cost.
    EXPECT_EQ(charge.rows[4].name, "platform");
    EXPECT_EQ(charge.rows[4].total, Usd("1.50"));
    EXPECT_EQ(charge.total, Usd("214.50"));
  }
}

TEST(ChargebackTest, ALineThatMustStayIsNotSpread) {
  ChargeInput input = ThreeTeams(SharePolicy::kUniform);
  input.shared.push_back({"difference of prices", Usd("-4"), false});
  const Chargeback charge = ChargeOwners(input).value();
  EXPECT_EQ(charge.left, (std::vector<Money>{Money(), Usd("-4")}));
  EXPECT_EQ(charge.total, Usd("203"));
}

TEST(ChargebackTest, WithoutAPayerItSaysWhatToDo) {
  for (const SharePolicy policy :
       {SharePolicy::kUniform, SharePolicy::kProportional, SharePolicy::kCustom, SharePolicy::kExperiments}) {
    ChargeInput input = ThreeTeams(policy);
    input.owners = {{"_unknown", true, Usd("7")}};
    const Result<Chargeback> charge = ChargeOwners(input);
    ASSERT_FALSE(charge);
    EXPECT_NE(charge.error().message.find("use --share none"), std::string::npos) << charge.error().message;
    // Without shared cost there is nothing to split, so there is no error.
    input.shared = {{"unallocated GPUs", Money()}};
    EXPECT_TRUE(ChargeOwners(input));
  }
}

// Parts of an amount as a person with a calculator makes them: whole nano-units first, then one more for each of the
// largest rests, earlier first.
std::vector<std::int64_t> NaiveParts(std::int64_t nano, const std::vector<std::int64_t>& weights) {
  Int128 all = 0;
  for (const std::int64_t weight : weights) all += weight;
  std::vector<std::int64_t> parts;
  std::int64_t left = nano;
  for (const std::int64_t weight : weights) {
    parts.push_back(static_cast<std::int64_t>(Int128{nano} * weight / all));
    left -= parts.back();
  }
  std::vector<bool> taken(weights.size(), false);
  for (; left > 0; --left) {
    std::size_t best = weights.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (taken[i]) continue;
      const auto rest = [&](std::size_t k) { return Int128{nano} * weights[k] % all; };
      if (best == weights.size() || rest(i) > rest(best)) best = i;
    }
    taken[best] = true;
    ++parts[best];
  }
  return parts;
}

ChargeInput AnyInput(SharePolicy policy) {
  ChargeInput input;
  input.policy = policy;
  const auto amount = [] { return Money::Nano(*rc::gen::inRange<std::int64_t>(0, 5'000'000'000'000)); };
  const std::size_t owners = *rc::gen::inRange<std::size_t>(1, 7);
  for (std::size_t i = 0; i < owners; ++i) {
    const std::string name = "team" + std::to_string(i);
    input.owners.push_back({name, i > 0 && *rc::gen::inRange(0, 4) == 0, amount()});
    if (*rc::gen::inRange(0, 3) > 0) input.weights[name] = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
    const int experiments = input.owners.back().bucket ? 0 : *rc::gen::inRange(0, 3);
    for (int k = 0; k < experiments; ++k) {
      input.experiments.push_back({name, "x" + std::to_string(k), *rc::gen::inRange<std::int64_t>(0, 1'000'000'000)});
    }
  }
  const int lines = *rc::gen::inRange(0, 4);
  for (int i = 0; i < lines; ++i) {
    input.shared.push_back({"line" + std::to_string(i), amount(), *rc::gen::inRange(0, 5) > 0});
  }
  const int commitments = *rc::gen::inRange(0, 3);
  for (int i = 0; i < commitments; ++i) {
    input.commitments.push_back({"team" + std::to_string(*rc::gen::inRange(0, 9)), amount()});
  }
  return input;
}

std::vector<std::int64_t> NaiveWeights(const ChargeInput& input) {
  std::vector<std::int64_t> weights;
  for (const ChargeOwner& owner : input.owners) {
    std::int64_t weight = 0;
    if (input.policy == SharePolicy::kUniform) weight = 1;
    if (input.policy == SharePolicy::kProportional) weight = owner.direct.nano();
    if (input.policy == SharePolicy::kCustom && input.weights.count(owner.name) > 0) {
      weight = input.weights.at(owner.name);
    }
    weights.push_back(owner.bucket ? 0 : weight);
  }
  return weights;
}

TEST(ChargebackTest, EverySumIsExact) {
  test::ExpectProperty([] {
    const auto policy = static_cast<SharePolicy>(*rc::gen::inRange(0, 5));
    const ChargeInput input = AnyInput(policy);
    const Result<Chargeback> charged = ChargeOwners(input);
    RC_PRE(charged.has_value());
    const Chargeback& charge = *charged;
    // The period, counted from the input alone.
    std::int64_t period = 0;
    for (const ChargeOwner& owner : input.owners) period += owner.direct.nano();
    for (const SharedCost& line : input.shared) period += line.amount.nano();
    for (const UnusedCommitment& unused : input.commitments) period += unused.amount.nano();
    std::int64_t owners = 0;
    for (const ChargeRow& row : charge.rows) {
      owners += row.total.nano();
      std::int64_t shared = 0;
      for (const Money part : row.of_lines) shared += part.nano();
      RC_ASSERT(shared == row.shared.nano());
      RC_ASSERT(row.direct.nano() + row.shared.nano() + row.commitment.nano() == row.total.nano());
      if (row.bucket) RC_ASSERT(row.shared == Money());
    }
    std::int64_t left = 0;
    for (const Money line : charge.left) left += line.nano();
    RC_ASSERT(owners + left == period);
    RC_ASSERT(charge.total.nano() == period);
    for (std::size_t i = 0; i < input.owners.size(); ++i) RC_ASSERT(charge.rows[i].direct == input.owners[i].direct);
  });
}

TEST(ChargebackTest, EachPartIsThatOfTheNaiveAccount) {
  test::ExpectProperty([] {
    const auto policy = static_cast<SharePolicy>(*rc::gen::inRange(1, 4));
    const ChargeInput input = AnyInput(policy);
    const Result<Chargeback> charge = ChargeOwners(input);
    RC_PRE(charge.has_value());
    const std::vector<std::int64_t> weights = NaiveWeights(input);
    for (std::size_t line = 0; line < input.shared.size(); ++line) {
      const SharedCost& shared = input.shared[line];
      if (!shared.spread || shared.amount == Money()) continue;
      const std::vector<std::int64_t> parts = NaiveParts(shared.amount.nano(), weights);
      for (std::size_t i = 0; i < parts.size(); ++i) RC_ASSERT(charge->rows[i].of_lines[line].nano() == parts[i]);
    }
  });
}

TEST(ChargebackTest, ExperimentsCarryTheShareOfTheirTime) {
  test::ExpectProperty([] {
    const ChargeInput input = AnyInput(SharePolicy::kExperiments);
    const Result<Chargeback> charge = ChargeOwners(input);
    RC_PRE(charge.has_value());
    std::vector<std::int64_t> naive(input.experiments.size(), 0);
    std::vector<std::int64_t> weights;
    for (const ExperimentUse& use : input.experiments) weights.push_back(use.gpu_ms);
    for (const SharedCost& line : input.shared) {
      if (!line.spread || line.amount == Money()) continue;
      const std::vector<std::int64_t> parts = NaiveParts(line.amount.nano(), weights);
      for (std::size_t i = 0; i < parts.size(); ++i) naive[i] += parts[i];
    }
    for (std::size_t i = 0; i < naive.size(); ++i) RC_ASSERT(charge->experiments[i].nano() == naive[i]);
  });
}

std::string WeightsError(const std::string& csv) {
  StringSource in(csv, "weights.csv");
  const auto weights = ReadShareWeights(in);
  return weights ? "" : weights.error().message;
}

TEST(ChargebackTest, ReadsWeights) {
  StringSource in("# heads\nteam,weight\nvision,12\n\"a, b\",0.5\n", "weights.csv");
  const auto weights = ReadShareWeights(in).value();
  EXPECT_EQ(weights.at("vision"), 24 * weights.at("a, b"));
}

TEST(ChargebackTest, ABadWeightIsOneLineWithItsPlace) {
  struct Case {
    std::string csv, said;
  };
  const Case cases[] = {{"team,weight\na,0\n", "weights.csv:2"}, {"team,weight\na,1\nb,-3\n", "weights.csv:3"},
                        {"team,weight\na,many\n", "above 0"},    {"team,weight\na,1\na,2\n", "comes twice"},
                        {"team,weight\n,2\n", "name the team"},  {"team,weight\n", "has no row"},
                        {"team,share\na,1\n", "weight"},         {"", "weights.csv"}};
  for (const Case& each : cases) {
    const std::string error = WeightsError(each.csv);
    EXPECT_NE(error.find(each.said), std::string::npos) << each.csv << " -> " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(ChargebackTest, PoliciesHaveNames) {
  for (const char* name : {"none", "uniform", "proportional", "custom", "experiments"}) {
    EXPECT_EQ(Name(ParseSharePolicy(name).value()), name);
  }
  EXPECT_FALSE(ParseSharePolicy("fair"));
}

}  // namespace
}  // namespace idleburn
