#include "tco/scenario_file.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tco/figures.h"
#include "tco/levers.h"

namespace idleburn {

// Mistakes in a scenario file, each with the line and the words of its message, and the tables that lines and levers
// come from.

namespace {

struct BadScenario {
  const char* text;
  const char* says;
};

constexpr auto kWrong = std::to_array<BadScenario>({
    {"[[compute]]\ngpu_hours = 5\nprice = -2\n", "x.toml:3: price: '-2' is negative"},
    {"[[compute]]\ngpu_hours = 5\nprise = 2\n", "unknown key 'prise'; did you mean price?"},
    {"month,category,amount\n2026-01,compute,5\n", "x.toml: is a table; a scenario is TOML"},
    {"{\"traceEvents\": []}\n", "x.toml: is JSON; a scenario is TOML"},
    {"[[compute]\n", "x.toml:1: "},
    {"horizon = 6\n", "unknown key 'horizon'; did you mean horizon_months?"},
    {"[[compute]]\ngpu_hours = 5\nprice_per_hour = 2\n", "unknown key 'price_per_hour'; did you mean price?"},
    {"[[training]]\namount = 2\n", "unknown key 'training'; give one of name, currency"},
    {"currency = \"Dollar\"\n", "currency is not a code of three capitals such as USD"},
    {"[[variant]]\n[[variant.lever]]\nline = \"compute\"\nto = 3\n", "there is no line 'compute'; there is none"},
    {"horizon_month = 6\n", "x.toml:1: the file has an unknown key 'horizon_month'; did you mean horizon_months?"},
    {"[[compute]]\ngpu_hours = \"5h\"\nprice = 2\n", "'5h' is not a number; write it without a unit"},
    {"[[compute]]\ngpu_hours = 5\nprice = \"2 USD\"\n", "'2 USD' is not a number"},
    {"[[compute]]\ngpu_hours = 5\nprice = 2.5\n", "in quotes, so idleburn reads it exactly"},
    {"[[compute]]\ngpu_hours = 5\n", "compute.compute has no price"},
    {"[[compute]]\nprice = 5\n", "has no amount; give one of gpu_hours, hourly, amount"},
    {"[[compute]]\ngpu_hours = 5\nprice = 2\namount = 7\n", "unknown key 'amount'"},
    {"[[compute]]\ngpu_hours = 5\nprice = \"h100\"\n", "is neither a number nor a name in [shared]"},
    {"[shared]\nh100 = 2\n[[compute]]\ngpu_hours = 5\nprice = \"h10\"\n", "did you mean h100?"},
    {"[[compute]]\ngpu_hours = [5, 4, 6]\nprice = 2\n", "the range must rise"},
    {"[[compute]]\ngpu_hours = [5, 6]\nprice = 2\n", "a range is [low, likely, high]"},
    {"contingency = 15\n", "contingency is above 1; it is a share: write 35% or 0.35"},
    {"[[risk]]\nprobability = 5\nimpact = 10\n", "probability is above 1"},
    {"[[inference]]\nrequests = 5\nprice = 2\nrequests_per_s = 0\nutilisation = 1\n", "requests_per_s is 0"},
    {"[[depreciation]]\npurchase_price = 5\nuseful_years = 4\n", "without it six months would be charged as a year"},
    {"[[infrastructure]]\nmonthly = 5\n", "needs a horizon: give horizon_months, or months for this line"},
    {"contingency = \"15%\"\ncontingency_amount = 5\n", "contingency is given twice"},
    {"[compute]\ngpu_hours = 5\n", "write [[compute]] before its lines"},
    {"[[compute]]\namount = 5\n[[compute]]\namount = 6\n", "compute.compute appears twice"},
    {"[[compute]]\namount = 5\npurchase = \"rented\"\n", "not one of on_demand, spot, reserved, owned"},
    {"[[compute]]\namount = 5\nas_of = \"July\"\n", "as_of is not a date"},
    {"horizon_months = 6\n[[compute]]\namount = 5\npurchase = \"owned\"\n[[depreciation]]\namount = 5\n",
     "owned compute counts twice"},
    {"[[compute]]\namount = 5\n[[infrastructure]]\ngpu_hours = 1\nwatts = 1\ntariff = 1\n", "energy counts twice"},
    {"[[data]]\nname = \"storage\"\namount = 5\n[[infrastructure]]\nname = \"storage\"\namount = 5\n",
     "storage is in data and in infrastructure"},
    {"[[compute]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"compute.x\"\nto = 3\n",
     "there is no line 'compute.x'; give one of compute.compute"},
    {"[[data]]\nname = \"a\"\namount = 5\n[[data]]\nname = \"b\"\namount = 5\n[[variant]]\n[[variant.lever]]\n"
     "line = \"data\"\nto = 3\n",
     "to would set each of the 2 lines of data to that amount; name one line, such as data.a"},
    {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\ntime = \"5%\"\n", "is not GPU work"},
    {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\n", "has no effect"},
    {"[[labour]]\namount = 5\n[[variant]]\nset = { \"labour.labour.amont\" = 3 }\n",
     "did you mean labour.labour.amount?"},
    {"[[labour]]\namount = 5\n[[variant]]\nset = 3\n", "set is not a table"},
    {"[[inference]]\nrequests = 5\nprice = 2\nrequests_per_s = 9\nutilisation = 1\n[[variant]]\n"
     "set = { \"inference.inference.requests_per_s\" = 0 }\n",
     "requests_per_s is 0; nothing can be divided by it"},
    {"[[inference]]\nrequests = 5\nprice = 2\nrequests_per_s = 9\nutilisation = 1\n[[variant]]\n"
     "set = { \"inference.inference.utilisation\" = 35 }\n",
     "utilisation is above 1"},
    {"[[compute]]\nhourly = 4\nmonth_hours = 730\n", "unknown key 'month_hours'"},
    {"[[compute]]\namount = 5\ngrid_kg_per_kwh = 1\n", "needs watts to compute emissions"},
    {"[[infrastructure]]\ngpu_hours = 8\nwatts = 9\ntariff = 1\nembodied_kg = 5\n", "needs its life_hours"},
    {"start = \"July\"\n", "start is not a month such as \"2026-07\""},
    {"start = 2026-07-01\n", "start is not a month"},
    {"[[compute]]\namount = 5\nrecurring = \"yes\"\n", "recurring is true or false, without quotes"},
    {"[[compute]]\namount = 5\npurchase = \"spot\"\nresume_drill = 1\n", "resume_drill is true or false"},
    {"[[labour]]\namount = 5\nwatts = 5\n", "watts is for the energy of gpu_hours"},
    {"[[compute]]\ngpu_hours = 5\nprice = 2\nwatts = 5\n", "give gpu_hours and grid_kg_per_kwh"},
    {"horizon_months = 6\n[[data]]\namount = 5\npaid_in = \"0-2\"\n", "paid_in is a month of the plan"},
    {"horizon_months = 6\n[[data]]\namount = 5\npaid_in = \"3-2\"\n", "paid_in is a month of the plan"},
    {"horizon_months = 6\n[[data]]\namount = 5\npaid_in = \"6-7\"\n", "paid_in is beyond horizon_months"},
    {"[[data]]\namount = 5\npaid_in = \"1\"\n", "paid_in is beyond horizon_months"},
    {"horizon_months = 6\n[[inference]]\npeak_rps = 1\nrps_per_gpu = 1\nprice = 1\nhours_a_day = 25\n",
     "hours_a_day is above 24"},
    {"[[infrastructure]]\nmonthly_bill = 5\nshare = 30\nmonths = 1\n", "share is above 1"},
    {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nkind = \"distilation\"\nline = \"labour\"\nto = 1\n",
     "there is no lever of kind 'distilation'; did you mean distillation?"},
    {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\nfaktor = 1\n", "did you mean factor?"},
    {"[[labour]]\namount = -5\n", "'-5' is negative; give a cost without a sign"},
    {"budget = -5\n", "'-5' is negative"},
    {"name = \"x\"\nbudget = 9223372037\n", "x.toml:2: budget is beyond 9.2 billion"},
    {"contingency_amount = 9223372037\n", "x.toml:1: contingency_amount is beyond 9.2 billion"},
    {"[own]\ncapex = 5\nlife_years = 4\ngpus = 0\n", "gpus is 0"},
    {"[own]\ncapex = 5\nlife_years = 4\ngpus = 8\ncloud = [\"2.5\", -1]\n", "'-1' is negative"},
    {"[own]\ncapex = 5\nlife_years = 4\ngpus = 8\ncloud_falls_a_year = 20\n", "cloud_falls_a_year is above 1"},
    {"[own]\ncapex = 5\nlife_years = 4\ngpus = 8\npayback_month_hours = 745\n",
     "payback_month_hours is not a whole number of hours from 1 to 744, such as 720 or 730"},
    {"[own]\ncapex = 5\nlife_years = 4\ngpu = 8\n", "did you mean gpus?"},
    {"[units]\nsample = 5\n", "did you mean samples?"},
    {"[own]\ncapex = 5\nlife_years = 0\ngpus = 8\n", "life_years is 0"},
    {"[own]\ncapex = 5\n", "[own] has no life_years"},
    {"name = \n", "x.toml:1: "},
});

TEST(ScenarioFile, WhatIsWrongIsNamedWithItsLineAndHowToWriteIt) {
  for (const BadScenario& row : kWrong) {
    const Result<TcoFile> file = ReadTcoFile("x.toml", row.text, "2026-11-21");
    ASSERT_FALSE(file) << row.text;
    EXPECT_NE(file.error().message.find(row.says), std::string::npos) << file.error().message;
    EXPECT_EQ(file.error().message.find('\n'), std::string::npos) << file.error().message;
    EXPECT_EQ(file.error().kind, Error::Kind::kUsage);
  }
}

TEST(ScenarioFile, DoubtsAboutPricesAreWarnings) {
  const Result<TcoFile> file = ReadTcoFile(
      "x.toml", "[[compute]]\namount = 5\npurchase = \"spot\"\nas_of = 2026-01-05\nregion = \"us-central1\"\n",
      "2026-11-21");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const TcoPlan& plan = file->plans.front();
  ASSERT_EQ(plan.warnings.size(), 2U);
  EXPECT_NE(plan.warnings[0].find("older than 90 days (2026-01-05)"), std::string::npos) << plan.warnings[0];
  EXPECT_NE(plan.warnings[1].find("no drill"), std::string::npos);
  EXPECT_EQ(plan.lines.front().basis, "spot, us-central1, as of 2026-01-05");
}

TEST(ScenarioFile, AFigureIsSaidHoweverLargeItIs) {
  const Result<TcoFile> file = ReadTcoFile("x.toml",
                                           "budget = 9223372036\n[[inference]]\ntokens = 15000000000000\n"
                                           "per_million = \"0.1\"\n[[variant]]\n"
                                           "set = { \"inference.inference.tokens\" = 12000000000000 }\n",
                                           "2026-11-21");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->plans.size(), 2U);
  EXPECT_EQ(file->plans[0].budget->nano(), 9'223'372'036'000'000'000);
  ASSERT_EQ(file->plans[1].levers.size(), 1U);
  EXPECT_EQ(file->plans[1].levers[0].how, "15000000000000 to 12000000000000");
}

TEST(ScenarioFile, AMonthOfAnyHorizonIsKept) {
  const Result<TcoFile> file = ReadTcoFile(
      "x.toml", "horizon_months = 5000000000\n[[data]]\namount = 5\npaid_in = \"4294967297\"\n", "2026-11-21");
  ASSERT_TRUE(file) << file.error().message;
  const std::pair<std::int64_t, std::int64_t> month(4294967297, 4294967297);
  EXPECT_EQ(file->plans.front().lines.front().paid_in, month);
}

struct DoubtRow {
  const char* text;
  const char* says;  // empty: nothing
};

TEST(ScenarioFile, AForgottenUnitShowsInTheNumber) {
  const DoubtRow rows[] = {
      {"[[compute]]\ngpu_hours = 5\nprice = 250\nas_of = 2026-11-01\n",
       "compute.compute: price 250 is above 200 a GPU-hour; is it cents, or the price of a whole server?"},
      {"[[compute]]\ngpu_hours = 5\nprice = 3\nas_of = 2026-11-01\n", ""},
      {"currency = \"JPY\"\n[[compute]]\ngpu_hours = 5\nprice = 450\nas_of = 2026-11-01\n", ""},
      {"[[infrastructure]]\ngpu_hours = 5\nwatts = \"0.35\"\ntariff = \"0.12\"\n",
       "is below 20 a GPU; is it kilowatts"},
      {"[[infrastructure]]\ngpu_hours = 5\nwatts = 350\ntariff = 12\n", "12 is above 2 a kWh; is it cents"},
      {"[[infrastructure]]\ngpu_hours = 5\nwatts = 350\ntariff = \"0.1\"\npue = \"0.9\"\n", "it is never below 1?"},
      {"[[compute]]\ngpu_hours = 0\nprice = 3\nas_of = 2026-11-01\n", "gpu_hours is 0, so the line costs nothing"},
      {"[[labour]]\nrole_months = 5\nmonthly_rate = 60\n", "60 is below 200 a role-month"},
      {"horizon_months = 1\n[[data]]\nstorage_tb = 5\nper_tb_month = \"0.02\"\n", "is it the price of a GB?"},
      {"[shared]\nh100 = 295\n[[compute]]\ngpu_hours = 5\nprice = \"h100\"\nas_of = 2026-11-01\n", "295 is above 200"},
  };
  for (const DoubtRow& row : rows) {
    const Result<TcoFile> file = ReadTcoFile("x.toml", row.text, "2026-11-21");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    const std::vector<std::string>& warnings = file->plans.front().warnings;
    ASSERT_EQ(warnings.size(), *row.says == '\0' ? 0U : 1U) << row.text;
    if (!warnings.empty()) {
      EXPECT_NE(warnings[0].find(row.says), std::string::npos) << warnings[0];
    }
  }
  EXPECT_FALSE(DoubtOf("name", Fraction::Of(5, 1), "USD"));
  EXPECT_FALSE(DoubtOf("headroom", Fraction{}, "USD"));  // 0 may be meant
}

TEST(ScenarioFile, APriceWithoutADateIsTold) {
  const Result<TcoFile> file = ReadTcoFile(
      "x.toml", "[[compute]]\nname = \"a\"\ngpu_hours = 5\nprice = 2\n[[labour]]\namount = 3\n[[variant]]\n",
      "2026-11-21");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->plans[0].warnings, std::vector<std::string>{"no date of the price (as_of): compute.a"});
  EXPECT_TRUE(file->plans[1].warnings.empty());  // said once
}

TEST(LeverKinds, EachIsNamedOnceAndSaysWhatToDo) {
  std::set<std::string_view> ids;
  for (const LeverKind& kind : LeverKinds()) {
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id;
    EXPECT_FALSE(kind.title.empty() || kind.todo.empty()) << kind.id;
    EXPECT_EQ(FindLeverKind(kind.id), &kind);
    EXPECT_NE(TcoTemplate().find(kind.id), std::string::npos) << kind.id;  // the template names all
  }
  for (const char* id : {"lora", "active_learning", "ci_gates", "spot", "distillation"}) EXPECT_TRUE(ids.contains(id));
  EXPECT_EQ(FindLeverKind("magic"), nullptr);
}

TEST(LineRecipes, TheTemplateNamesEveryFigure) {
  const std::string text = TcoTemplate();
  for (const LineRecipe& recipe : LineRecipes()) {
    for (const RecipeFigure& figure : FiguresOf(recipe)) {
      const bool constant = figure.name.find_first_not_of("0123456789") == std::string_view::npos;
      if (!constant && figure.name != "years") {
        EXPECT_NE(text.find(figure.name), std::string::npos) << figure.name;
      }
    }
  }
}

TEST(LineRecipes, EachIsToldByItsFigures) {
  std::set<std::pair<CostCategory, std::string_view>> seen;
  for (const LineRecipe& recipe : LineRecipes()) {
    EXPECT_TRUE(seen.insert({recipe.category, recipe.needs}).second) << recipe.needs;
    std::set<std::string_view> required;
    if (!recipe.price.empty()) {
      EXPECT_EQ(FiguresOf(recipe)[1].name, recipe.price);
    }
    for (const RecipeFigure& figure : FiguresOf(recipe)) {
      if (!figure.optional) required.insert(figure.name);
    }
    std::string_view rest = recipe.needs;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      EXPECT_TRUE(required.contains(word)) << word << " of " << recipe.formula;
    }
  }
}

}  // namespace
}  // namespace idleburn
