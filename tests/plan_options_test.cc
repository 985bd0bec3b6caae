// The table of options of `idleburn plan`, as its users meet it: worked examples, caps, spot facts, bad input.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "places.h"
#include "support/program.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::Unwrapped;

struct Answered {
  int code = -1;
  std::string out;
};

Answered Plan(const std::string& arguments, const std::string& errors = "2>/dev/null") {
  Answered answer;
  const std::string command = "XDG_DATA_HOME=/proc/nowhere " IDLEBURN_PROGRAM " plan " + arguments + " " + errors;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return answer;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    answer.out.append(buffer.data(), n);
  const int status = pclose(pipe);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

json PlanDocument(const std::string& arguments) {
  const Answered answer = Plan(arguments + " --format json");
  EXPECT_EQ(answer.code, 0) << answer.out;
  return json::parse(answer.out, nullptr, false);
}

// The option of that market; null if there is none.
json OptionOf(const json& plan, const std::string& market) {
  for (const json& option : plan["options"]) {
    if (option["market"] == market) return option;
  }
  return nullptr;
}

const std::string kModel = "--model llama-2-7b --method lora --seq-len 1024 --checkpointing full --gpu a100 ";
const std::string kHalf = kModel + "--price 1 --spot-price 0.5 ";

class TemporaryText {
 public:
  TemporaryText(const std::string& name, const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("idleburn_plan_options_" + name)) {
    std::ofstream(path_) << text;
  }
  TemporaryText(const TemporaryText&) = delete;
  TemporaryText& operator=(const TemporaryText&) = delete;
  ~TemporaryText() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(PlanOptions, ALoraFineTuneAtHalfThePrice) {  // example A of spot/formulas_test.cc
  const std::string run = kHalf + "--samples 100000 --epochs 3 --samples-per-min 1100";
  const json plan = PlanDocument(run);
  const json on_demand = OptionOf(plan, "on_demand");
  EXPECT_NEAR(on_demand["gpu_hours"].get<double>(), 50.0 / 11, 1e-9);
  EXPECT_EQ(on_demand["cost_exact"], "4.545454545");
  const json spot = OptionOf(plan, "spot");
  EXPECT_EQ(spot["basis"], "never_interrupted");
  EXPECT_EQ(spot["cost_exact"], "2.272727273");  // the least it can be
  EXPECT_TRUE(spot["wall_clock_p95"].is_null());
  EXPECT_EQ(plan["recommended"]["option"], 1);  // of spot the time is not known
  const Answered text = Plan("--full " + run);
  EXPECT_NE(Unwrapped(text.out).find("$2.50 at 10 %"), std::string::npos) << text.out;
  const std::string bound = "so they are a lower bound; to include interruptions give --uptime 8h";
  EXPECT_NE(Unwrapped(text.out).find(bound), std::string::npos) << text.out;
  EXPECT_NE(Unwrapped(text.out).find("from $2.27"), std::string::npos) << text.out;
}

TEST(PlanOptions, InterruptionsThatCostFiveMinutes) {  // example C of spot/formulas_test.cc
  const json plan = PlanDocument(kModel +
                                 "--price 1 --spot-price 0.4 --samples 720000 --samples-per-min 1000 "
                                 "--uptime 8h --loss 5m");
  const json spot = OptionOf(plan, "spot");
  const double hours = 12 / (1 - 5.0 / 60 / 8);
  EXPECT_EQ(spot["basis"], "measured_loss");
  EXPECT_NEAR(spot["hours"].get<double>(), hours, 1e-9);  // 12.1263
  EXPECT_NEAR(spot["expected_interruptions"].get<double>(), hours / 8, 1e-9);
  EXPECT_NEAR(std::stod(spot["cost_exact"].get<std::string>()), 0.4 * hours, 1e-9);
  EXPECT_NEAR(spot["saving"].get<double>(), 1 - 0.4 * hours / 12, 1e-9);
  EXPECT_NEAR(spot["break_even_overhead"].get<double>(), 1.5, 1e-12);
}

TEST(PlanOptions, OnDemandOrSpot) {  // example D of spot/formulas_test.cc
  const std::string run = kHalf + "--samples 200000 --epochs 2 --samples-per-min 1200 ";
  const Answered text = Plan("--full " + run);
  for (const char* cost :
       {"$2.78 at 0 %", "$2.92 at", "$3.06 at 10 %", "$3.33 at 20 % overhead", "cheaper below 100.0 %"}) {
    EXPECT_NE(Unwrapped(text.out).find(cost), std::string::npos) << cost << "\n" << text.out;
  }
  const json plan = PlanDocument(run + "--uptime 8h --checkpoint-cost 30s --restart 3m");
  EXPECT_EQ(OptionOf(plan, "on_demand")["cost_exact"], "5.555555556");
  const json spot = OptionOf(plan, "spot");
  EXPECT_NEAR(spot["checkpoint_interval_s"].get<double>(), 1314.5, 0.05);
  const double interval = std::sqrt(2 * 30.0 * 8 * 3600) / 3600;
  const double alone = 50.0 / 9 * (1 + 30.0 / 3600 / interval) + 3.0 / 60;
  const double billed = alone + alone / 8 * (3.0 / 60 + interval / 2);
  EXPECT_EQ(spot["basis"], "first_order");
  EXPECT_NEAR(spot["hours"].get<double>(), billed, 1e-9);
  EXPECT_NEAR(spot["break_even_overhead"].get<double>(), 1, 1e-12);
  EXPECT_EQ(plan["options"][plan["recommended"]["option"].get<std::size_t>()]["market"], "spot");
  EXPECT_GE(spot["wall_clock_p95"].get<double>(), spot["wall_clock_p50"].get<double>());
  EXPECT_GT(spot["wall_clock_p50"].get<double>(), 50.0 / 9);
}

TEST(PlanOptions, ACapOfTwelveGpuHours) {  // example F of plan/training_time_test.cc
  const json plan = PlanDocument(kModel + "--price 1 --samples 300000 --samples-per-min 1100 --gpu-hours 12");
  EXPECT_NEAR(plan["budget"]["samples_per_min"].get<double>(), 416.667, 5e-4);
  EXPECT_NEAR(plan["budget"]["gpu_hours_per_epoch"].get<double>(), 4.5455, 5e-5);
  EXPECT_NEAR(plan["budget"]["epochs"].get<double>(), 2.64, 1e-9);
  EXPECT_EQ(plan["budget"]["whole_epochs"], 2);
  EXPECT_EQ(plan["budget"]["kept"], true);
  const Answered text = Plan("--full " + kModel + "--price 1 --samples 300000 --samples-per-min 1100 --gpu-hours 12");
  for (const char* part : {"37.9 % of the cap", "2.64, whole 2 at 0 %", "2.2, whole 2 at 20 %", "417 at 0 %",
                           "438 at 5 %", "458 at 10 %", "500 at 20 %"}) {
    EXPECT_NE(Unwrapped(text.out).find(part), std::string::npos) << part << "\n" << text.out;
  }
  const std::string three = kModel + "--price 1 --samples 300000 --samples-per-min 1200 --gpu-hours 12 --epochs ";
  EXPECT_EQ(Plan(three + "2 --fail-on over-budget").code, 0);
  const Answered over = Plan(three + "3 --fail-on over-budget", "2>&1");  // 12.5 GPU-hours
  EXPECT_EQ(over.code, 3);
  EXPECT_NE(over.out.find("the nearest is 4 % beyond"), std::string::npos) << over.out;
  const json four = PlanDocument(kModel + "--price 1 --samples 300000 --samples-per-min 4400 --gpus 4 --gpu-hours 12");
  EXPECT_NEAR(four["time"]["hours"].get<double>(), 1.1364, 5e-5);
  EXPECT_NEAR(four["options"][0]["gpu_hours"].get<double>(), 4.5455, 5e-5);
}

TEST(PlanOptions, EveryGpuOfTheCatalogueThatFits) {
  const json plan = PlanDocument(
      "--model llama-3.1-8b --method lora --seq-len 4096 --checkpointing full --framework torchtune --samples 100000 "
      "--sharding fsdp --uptime 8h --checkpoint-cost 30s --restart 3m");
  const json& options = plan["options"];
  ASSERT_GT(options.size(), 40U);
  std::size_t spot = 0;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const json& one = options[i];
    EXPECT_TRUE(one["fits"] == "fits" || one["fits"] == "tight") << one;
    const double cost = std::stod(one["cost_exact"].get<std::string>());
    const double hours = one["wall_clock_p95"].get<double>();
    if (i > 0) {
      EXPECT_GE(cost, std::stod(options[i - 1]["cost_exact"].get<std::string>()));
    }
    bool beaten = false;
    for (const json& other : options) {
      const double its_cost = std::stod(other["cost_exact"].get<std::string>());
      const double its_hours = other["wall_clock_p95"].get<double>();
      beaten = beaten || (its_cost <= cost && its_hours <= hours && (its_cost < cost || its_hours < hours));
    }
    EXPECT_EQ(one["pareto"].get<bool>(), !beaten) << one;
    if (one["market"] == "spot") ++spot;
    EXPECT_FALSE(one["gpu"] == "T4-16GB" && one["count"] == 1);  // which does not even hold the weights
  }
  EXPECT_GT(spot, 10U);
  EXPECT_EQ(plan["recommended"]["option"], 0);
}

TEST(PlanOptions, AMachineIsPricedWhole) {
  const TemporaryText prices("prices.csv",
                             "provider,region,instance,gpu,gpu_count,market,price,as_of,source\n"
                             "x,r,two,RTX-3080,2,on_demand,2,2026-11-01,s\n"
                             "x,r,two,RTX-3080,2,spot,2,2026-11-01,s\n"  // as dear as on demand: no offer
                             "x,r,four,RTX-3080,4,on_demand,3,2026-11-01,s\n"
                             "x,r,four,RTX-3080,4,spot,1.5,2026-11-01,s\n");
  const std::string run =
      "--model llama-2-7b --method qlora --seq-len 512 --checkpointing full --gpu rtx3080 "
      "--samples 60000 --samples-per-min 1000 --prices " +
      prices.path();
  const json plan = PlanDocument(run);
  ASSERT_EQ(plan["options"].size(), 2U) << plan["options"];
  EXPECT_EQ(plan["options"][1]["price"], "x:two:on_demand@r");
  EXPECT_EQ(plan["options"][1]["cost"], "2.00");  // an hour of two, for one
  EXPECT_EQ(plan["options"][1]["price_as_of"], "2026-11-01T00:00:00Z");
  EXPECT_EQ(plan["options"][0]["price"], "x:four:spot@r");
  EXPECT_NE(plan["warnings"].dump().find("1 spot prices are no lower than on demand"), std::string::npos);
}

// Eight machines of one GPU exchange over a network that the price does not tell: a run that shards is not offered
// there until the plan states it. Adapters alone are small enough for any.
TEST(PlanOptions, MachinesOfOneGpuAreNoNode) {
  const TemporaryText prices("one.csv",
                             "provider,region,instance,gpu,gpu_count,market,price,as_of,source\n"
                             "x,r,one,RTX-3080,1,on_demand,0.2,2026-11-01,s\n");
  const std::string run =
      "--model llama-3.2-1b --seq-len 512 --checkpointing full --gpu rtx3080 --gpus 8 "
      "--samples 1000 --prices " +
      prices.path() + " ";
  const auto machines = [](const json& plan) {
    for (const json& option : plan["options"]) {
      if (option["gpu"] == "RTX-3080") return option["machines"].get<int>();
    }
    return 0;
  };
  for (const std::string sharded :
       {"--method full --sharding fsdp", "--method full", "--method lora --sharding fsdp"}) {
    const json plan = PlanDocument(run + sharded);
    EXPECT_EQ(machines(plan), 0) << sharded;
    EXPECT_NE(plan["warnings"].dump().find("8 x RTX-3080 on 8 machines"), std::string::npos) << plan["warnings"];
    EXPECT_EQ(machines(PlanDocument(run + sharded + " --network 400")), 8) << sharded;
  }
  EXPECT_EQ(machines(PlanDocument(run + "--method lora --sharding none")), 8);
}

// An hour of one GPU, at what an audit of that GPU would be priced at: flag before settings, then contract, owned.
TEST(PlanOptions, TheUsersOwnPricesComeBeforeTheCatalogue) {
  const std::string hour = kModel + "--samples 60000 --samples-per-min 1000 ";
  const TemporaryText named("named.toml", "[price]\nrate = \"A100=1.25,H100=9\"\n");
  const TemporaryText all("all.toml", "[price]\nrate = \"1.5\"\n");
  const TemporaryText contracts("contracts.csv", "name,applies_to,per_gpu_hour\nspring,A100,1.10\n");
  const std::string agreed = "--contracts " + contracts.path() + " ";
  const std::string owned = "--owned capex=17520,life=1,gpus=1 ";
  const std::pair<std::string, const char*> priced[] = {
      {"--config " + named.path(), "1.25"},
      {"--config " + all.path(), "1.50"},
      {"--config " + all.path() + " --price A100=3,8", "3.00"},
      {"--price 8", "8.00"},
      {agreed, "1.10"},
      {agreed + "--price H100=4", "1.10"},
      {agreed + "--price 4", "4.00"},
      {owned, "2.00"},
      {owned + agreed, "1.10"},
  };
  for (const auto& [given, cost] : priced) {
    const json plan = PlanDocument(hour + given);
    ASSERT_EQ(plan["options"].size(), 1U) << given << plan["options"];
    EXPECT_EQ(plan["options"][0]["cost_exact"], cost) << given;
    EXPECT_EQ(plan["options"][0]["per_gpu_hour_exact"], cost) << given;
    EXPECT_EQ(plan["currency"], "USD");
  }
  ASSERT_EQ(setenv("IDLEBURN_CFG_PRICE_RATE", "0.75", 1), 0);
  EXPECT_EQ(PlanDocument(hour + "--config " + all.path())["options"][0]["cost_exact"], "0.75");
  ASSERT_EQ(unsetenv("IDLEBURN_CFG_PRICE_RATE"), 0);
}

TEST(PlanOptions, AKeyIsThePriceOfItsWholeMachines) {
  const std::string hour =
      "--model llama-2-7b --method lora --seq-len 1024 --checkpointing full --gpu h100 "
      "--samples 60000 --samples-per-min 1000 --price ";
  const json one = PlanDocument(hour + "aws:p5.4xlarge@us-east-1");
  ASSERT_EQ(one["options"].size(), 1U);
  EXPECT_EQ(one["options"][0]["cost_exact"], "6.88");
  EXPECT_EQ(one["options"][0]["price"], "aws:p5.4xlarge:on_demand@us-east-1");
  const json eight = PlanDocument(hour + "aws:p5.48xlarge@us-east-1");
  EXPECT_EQ(eight["options"][0]["cost_exact"], "55.04");
}

// A price that names a model is that model's, and leaves the others to the catalogue.
TEST(PlanOptions, APriceOfOneModelIsNotThatOfAnother) {
  const std::string run =
      "--model llama-3.1-8b --method lora --seq-len 4096 --checkpointing full --framework torchtune "
      "--samples 100000 ";
  // Whether an option is beaten depends on the others.
  const auto options_of = [](const std::string& arguments) {
    json options = PlanDocument(arguments)["options"];
    for (json& option : options) option.erase("pareto");
    return options;
  };
  const json before = options_of(run);
  const json after = options_of(run + "--price 'A100 80GB SXM=0.01'");
  std::size_t own = 0;
  for (const json& option : after) {
    const bool named = option["price"] == "--price A100 80GB SXM=0.01";
    own += named ? 1 : 0;
    EXPECT_EQ(named, option["gpu"] == "A100-80GB-SXM") << option;
    EXPECT_TRUE(named || std::find(before.begin(), before.end(), option) != before.end()) << option;
    EXPECT_TRUE(!named || option["per_gpu_hour_exact"] == "0.01") << option;
  }
  EXPECT_EQ(own, 1U);
}

// Eight GPUs of which a contract has room for four: what the others cost is not known here, so nothing is offered.
TEST(PlanOptions, AContractHasRoomForSoManyGpus) {
  const TemporaryText contracts("room.csv",
                                "name,applies_to,committed_per_hour,gpus\nsmall,A100,4.00,4\nnext,A100,8.00,4\n");
  const std::string run = kModel + "--samples 60000 --samples-per-min 1000 --contracts " + contracts.path();
  EXPECT_EQ(PlanDocument(run + " --gpus 4")["options"][0]["cost_exact"], "4.00");
  EXPECT_EQ(PlanDocument(run + " --gpus 8")["options"][0]["cost_exact"], "12.00");  // four at 1.00, four at 2.00
  const json many = PlanDocument(run + " --gpus 16");
  EXPECT_TRUE(many["options"].empty());
  EXPECT_NE(many["warnings"].dump().find("16 x A100-80GB-SXM"), std::string::npos) << many["warnings"];
}

TEST(PlanOptions, OwnPricesHaveTheirCurrency) {
  const std::string hour = kModel + "--samples 60000 --samples-per-min 1000 --budget 5 --currency EUR ";
  const json plan = PlanDocument(hour + "--price 2 --spot-price 1");
  EXPECT_EQ(plan["currency"], "EUR");
  const Answered text = Plan("--full " + hour + "--price 2 --spot-price 1");
  EXPECT_NE(Unwrapped(text.out).find("2.00 EUR; "), std::string::npos) << text.out;
  EXPECT_NE(Unwrapped(text.out).find("budget 5.00 EUR"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find('$'), std::string::npos) << text.out;
  const TemporaryText contracts("eu.csv", "name,applies_to,per_gpu_hour,currency\neu,A100,1.00,CHF\n");
  const Answered two = Plan(hour + "--spot-price 1 --contracts " + contracts.path(), "2>&1");
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.out.find("--spot-price is in EUR and contract eu: 1.00 per GPU-hour in CHF"), std::string::npos)
      << two.out;
}

TEST(PlanOptions, APriceOfNoKnownGpuIsSaid) {
  const std::string run = "--model llama-3.1-8b --method lora --seq-len 4096 --framework torchtune --samples 100000 ";
  const Answered flag = Plan(run + "--price 2", "2>&1");
  EXPECT_EQ(flag.code, 2);
  EXPECT_NE(flag.out.find("name it with --gpu"), std::string::npos) << flag.out;
  const TemporaryText all("nameless.toml", "[price]\nrate = \"1.5\"\n");
  const json plan = PlanDocument(run + "--config " + all.path());
  EXPECT_EQ(plan["options"], PlanDocument(run)["options"]);
  EXPECT_NE(plan["warnings"].dump().find("--price 1.5 names no GPU"), std::string::npos) << plan["warnings"];
}

TEST(PlanOptions, TheBudgetIsJudgedByTheUsersOwnPrices) {
  const TemporaryText dear("dear.toml", "[price]\nrate = \"A100=100\"\n");
  const std::string hour = kModel + "--samples 60000 --samples-per-min 1000 --budget 50 --fail-on over-budget ";
  EXPECT_EQ(Plan(hour).code, 0);
  EXPECT_EQ(Plan(hour + "--config " + dear.path()).code, 3);
}

TEST(PlanOptions, TheIntervalByAHistoryOfInterruptions) {
  std::string events = "t_s,event,node\n";
  for (int k = 0; k < 40; ++k) {  // there for two hours, gone for one
    events += std::to_string(k * 10800) + ",add,n" + std::to_string(k) + "\n";
    events += std::to_string(k * 10800 + 7200) + ",remove,n" + std::to_string(k) + "\n";
  }
  const TemporaryText file("events.csv", events);
  const json plan = PlanDocument(kHalf +
                                 "--samples 200000 --epochs 2 --samples-per-min 1200 --checkpoint-cost 30s "
                                 "--restart 3m --interruptions " +
                                 file.path());
  const json& by_history = plan["spot"]["by_history"];
  EXPECT_NEAR(by_history["young_interval_s"].get<double>(), std::sqrt(2 * 30.0 * 7200), 1e-6);
  EXPECT_GE(by_history["regret"].get<double>(), 0);
  EXPECT_NE(plan["spot"]["machines_from"].get<std::string>().find("40 losses, 2 h up each"), std::string::npos);
  // 5.6 hours of work take three stays at least, so the wall clock holds two hours of waiting.
  EXPECT_GT(OptionOf(plan, "spot")["wall_clock_p50"].get<double>(), 50.0 / 9 + 2);
}

TEST(PlanOptions, RestartAndCheckpointFromADrill) {
  const TemporaryText whole("drill.json", R"({"schema": "idleburn.drill/1", "checkpoint_s": 30, "restart_s": 180,
                                              "checkpoint_interval_s": 600, "lost_s": 300})");
  const std::string run = kHalf + "--samples 200000 --epochs 2 --samples-per-min 1200 --uptime 8h ";
  EXPECT_EQ(OptionOf(PlanDocument(run + "--drill " + whole.path()), "spot"),
            OptionOf(PlanDocument(run + "--checkpoint-cost 30s --restart 3m"), "spot"));
  // Without the time of a checkpoint the job stays as it was drilled: an interruption costs restart and lost work.
  const TemporaryText part("part.json", R"({"schema": "idleburn.drill/1", "checkpoint_s": null, "restart_s": 180,
                                            "checkpoint_interval_s": 600, "lost_s": 300})");
  const json spot = OptionOf(PlanDocument(run + "--drill " + part.path()), "spot");
  EXPECT_EQ(spot["basis"], "measured_loss");
  EXPECT_NEAR(spot["hours"].get<double>(), (50.0 / 9 + 0.05) / (1 - 480.0 / 3600 / 8), 1e-9);
  EXPECT_NEAR(spot["checkpoint_interval_s"].get<double>(), 600, 1e-9);
}

TEST(PlanOptions, ADeadlineThatCannotBeMet) {
  const std::string run = kModel + "--price 1 --samples 720000 --samples-per-min 1000 --deadline ";  // 12 hours
  const Answered late = Plan(run + "10h");
  EXPECT_EQ(late.code, 0);
  EXPECT_NE(Unwrapped(late.out).find("No option keeps the caps (deadline 10 h). Nearest, 20.0 % beyond"),
            std::string::npos)
      << late.out;
  EXPECT_NE(Unwrapped(late.out).find("The nearest feasible deadline is 12 h"), std::string::npos) << late.out;
  EXPECT_NE(
      Unwrapped(Plan(run + "48h --budget 500").out).find("It keeps the caps: deadline 2 d, budget $500.00 (at most"),
      std::string::npos);
  EXPECT_EQ(Plan(run + "48h --budget 11.99 --fail-on over-budget").code, 3);
  EXPECT_NE(Unwrapped(Plan(run + "48h --budget 500").out).find("(at most 500 GPU-hours at this price)"),
            std::string::npos);
  EXPECT_EQ(PlanDocument(run + "48h --budget 500")["options"][0]["budget_gpu_hours"], 500);
}

TEST(PlanOptions, BadInputIsOneLine) {
  const TemporaryText calm("calm.csv", "t_s,event,node\n0,add,a\n100,add,b\n");
  const TemporaryText other("other.json", R"({"schema": "idleburn.audit/1"})");
  const std::string run = kModel + "--samples 1000 ";
  const std::pair<std::string, const char*> wrong[] = {
      {"--deadline 48", "needs a unit: write 48h or 48d"},
      {"--deadline soon", "--deadline: 'soon' is not a span of time"},
      {"--budget -5", "--budget '-5' is not an amount above 0"},
      {"--budget 500GB", "--budget '500GB' is not an amount above 0"},
      {"--price -1", "'-1' is negative"},
      {"--price acme:x@nowhere", "'acme:x@nowhere' is not in the price catalogue"},
      {"--price H10O=4", "no GPU is called H10O"},
      {"--spot-price -1", "--spot-price '-1' is not an amount above 0"},
      {"--gpus 0", "gpus 0 is not above 0"},
      {"--gpu-hours 12 --budget-gpu-hours 12", "are the same cap"},
      {"--fail-on over-budget", "needs the budget"},
      {"--fail-on late --budget 5", "is not over-budget"},
      {"--uptime 8", "--uptime: '8' is not a span of time"},
      {"--uptime 8h --up-fraction 1.5", "is not a fraction above 0 and up to 1"},
      {"--up-fraction 0.5", "--up-fraction needs --uptime"},
      {"--uptime 8h --interruptions " + calm.path(), "leave out --uptime"},
      {"--interruptions " + calm.path(), "this history has no losses"},
      {"--interruptions /proc/nowhere.csv", "/proc/nowhere.csv"},
      {"--drill " + other.path(), "not an idleburn.drill/1 document"},
  };
  for (const auto& [arguments, part] : wrong) {
    const Answered answer = Plan(run + arguments, "2>&1");
    EXPECT_TRUE(answer.code == 1 || answer.code == 2) << arguments << "\n" << answer.out;
    EXPECT_NE(answer.out.find(part), std::string::npos) << arguments << "\n" << answer.out;
    EXPECT_EQ(std::count(answer.out.begin(), answer.out.end(), '\n'), 1) << answer.out;
  }
}

}  // namespace
}  // namespace idleburn
