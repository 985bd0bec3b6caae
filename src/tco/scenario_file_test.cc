#include "tco/scenario_file.h"

#include <gtest/gtest.h>

#include <set>

#include "tco/line_recipes.h"

namespace idleburn {
namespace {

struct BadScenario {
  const char* text;
  const char* says;
};

TEST(ScenarioFile, WhatIsWrongIsNamedWithItsLineAndHowToWriteIt) {
  const BadScenario rows[] = {
      {"[[compute]]\ngpu_hours = 5\nprice = -2\n", "x.toml:3: price: '-2' is negative"},
      {"[[compute]]\ngpu_hours = 5\nprise = 2\n", "unknown key 'prise'; did you mean price?"},
      {"horizon_month = 6\n", "x.toml:1: the file has an unknown key 'horizon_month'; did you mean horizon_months?"},
      {"[[compute]]\ngpu_hours = \"5h\"\nprice = 2\n", "'5h' is no number; write it without a unit"},
      {"[[compute]]\ngpu_hours = 5\nprice = \"2 USD\"\n", "'2 USD' is no number"},
      {"[[compute]]\ngpu_hours = 5\nprice = 2.5\n", "in quotes, so that it is read exactly"},
      {"[[compute]]\ngpu_hours = 5\n", "compute.compute has no price"},
      {"[[compute]]\nprice = 5\n", "has no amount; give one of gpu_hours, hourly, amount"},
      {"[[compute]]\ngpu_hours = 5\nprice = 2\namount = 7\n", "unknown key 'amount'"},
      {"[[compute]]\ngpu_hours = 5\nprice = \"h100\"\n", "is no number and not in [shared]"},
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
      {"[[compute]]\namount = 5\n[[compute]]\namount = 6\n", "compute.compute is there twice"},
      {"[[compute]]\namount = 5\npurchase = \"rented\"\n", "none of on_demand, spot, reserved, owned"},
      {"[[compute]]\namount = 5\nas_of = \"July\"\n", "as_of is no date"},
      {"horizon_months = 6\n[[compute]]\namount = 5\npurchase = \"owned\"\n[[depreciation]]\namount = 5\n",
       "compute is owned twice"},
      {"[[compute]]\namount = 5\n[[infrastructure]]\ngpu_hours = 1\nwatts = 1\ntariff = 1\n", "energy is there twice"},
      {"[[data]]\nname = \"storage\"\namount = 5\n[[infrastructure]]\nname = \"storage\"\namount = 5\n",
       "storage is in data and in infrastructure"},
      {"[[compute]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"compute.x\"\nto = 3\n",
       "there is no line 'compute.x'; did you mean compute.compute?"},
      {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\ntime = \"5%\"\n", "is no GPU work"},
      {"[[labour]]\namount = 5\n[[variant]]\n[[variant.lever]]\nline = \"labour\"\n", "says nothing"},
      {"[[labour]]\namount = 5\n[[variant]]\nset = { \"labour.labour.amont\" = 3 }\n",
       "did you mean labour.labour.amount?"},
      {"[[labour]]\namount = 5\n[[variant]]\nset = 3\n", "set is no table"},
      {"[[inference]]\nrequests = 5\nprice = 2\nrequests_per_s = 9\nutilisation = 1\n[[variant]]\n"
       "set = { \"inference.inference.requests_per_s\" = 0 }\n",
       "requests_per_s is 0; nothing can be divided by it"},
      {"[[inference]]\nrequests = 5\nprice = 2\nrequests_per_s = 9\nutilisation = 1\n[[variant]]\n"
       "set = { \"inference.inference.utilisation\" = 35 }\n",
       "utilisation is above 1"},
      {"[[compute]]\nhourly = 4\nmonth_hours = 730\n", "unknown key 'month_hours'"},
      {"[[compute]]\namount = 5\ngrid_kg_per_kwh = 1\n", "has no watts to emit for"},
      {"[[infrastructure]]\ngpu_hours = 8\nwatts = 9\ntariff = 1\nembodied_kg = 5\n", "needs its life_hours"},
      {"[own]\ncapex = 5\nlife_years = 0\ngpus = 8\n", "life_years is 0"},
      {"[own]\ncapex = 5\n", "[own] has no life_years"},
      {"name = \n", "x.toml:1: "},
  };
  for (const BadScenario& row : rows) {
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
