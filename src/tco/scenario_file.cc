#include "tco/scenario_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "base/money.h"
#include "tco/figures.h"
#include "tco/levers.h"
#include "text/command_line.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {

// One reader walks the file from top to bottom: head, shared figures, lines by category, variants, and the server that
// could be bought. Lines follow recipes (tco/figures.h), so that a new kind of line is a new row there and no new code
// here.

namespace embedded {
extern const std::string_view tco_toml;
}  // namespace embedded
namespace {

// Keys and words, for checks and suggestions.
using Names = std::vector<std::string>;

// A word in formulas that stands for the hours of a month in this file.
constexpr std::string_view kMonthHours = "month_hours";

// Keys that any line may have besides the figures of its recipe.
const Names& TextKeys() {
  static const Names kKeys = {"name",      "source",  "region", "as_of", "purchase",        "resume_drill",
                              "recurring", "paid_in", "watts",  "pue",   "grid_kg_per_kwh", "embodied_kg",
                              "life_hours"};
  return kKeys;
}

// Reads one file. Every fault names its line.
class ScenarioReader {
 public:
  ScenarioReader(std::string name, std::string today) : name_(std::move(name)), today_(std::move(today)) {}

  Result<TcoFile> Read(const toml::table& file);

 private:
  [[nodiscard]] std::string Where(const toml::node& node) const {
    return name_ + ":" + std::to_string(node.source().begin.line) + ": ";
  }
  [[nodiscard]] tl::unexpected<Error> Wrong(const toml::node& node, const std::string& what) const {
    return FailUsage(Where(node) + what);
  }
  Result<void> CheckKeys(const toml::table& table, const Names& known, const std::string& of) const;
  Result<std::string> Text(const toml::table& table, std::string_view key, const std::string& absent = {}) const;
  Result<Fraction> Number(const toml::node& node, std::string_view key) const;
  Result<std::optional<Fraction>> NumberIn(const toml::table& table, std::string_view key) const;
  Result<bool> Switch(const toml::table& table, std::string_view key, bool absent) const;
  Result<std::optional<double>> ShareIn(const toml::table& table, std::string_view key) const;
  Result<PlanFigure> Figure(const toml::node& node, std::string_view key, const std::string& name) const;
  void NoteDoubt(const std::string& of, std::string_view key, const PlanFigure& figure, TcoPlan& plan) const;
  Result<std::size_t> FigureIndex(const toml::node& node, std::string_view key, const std::string& name);
  std::size_t Constant(const std::string& name, const Fraction& value);

  Result<int> MonthHours(const toml::node& node, const Fraction& hours, const std::string& key) const;
  Result<void> ReadHead(const toml::table& file);
  Result<void> ReadShared(const toml::table& file);
  Result<void> ReadLines(const toml::table& file, CostCategory category);
  Result<void> ReadLine(const toml::table& table, CostCategory category);
  Result<const LineRecipe*> RecipeFor(const toml::table& table, CostCategory category, const std::string& key) const;
  Result<void> AddTerms(const toml::table& table, const LineRecipe& recipe, PlanLine& line);
  Result<std::size_t> Horizon(const toml::node& at, std::string_view key, const PlanLine& line);
  Result<void> NoteBasis(const toml::table& table, PlanLine& line);
  Result<void> NoteCarbon(const toml::table& table, const LineRecipe& recipe, PlanLine& line);
  Result<void> NotePaidIn(const toml::table& table, PlanLine& line) const;
  Result<void> CheckDoubleCounts() const;
  Result<void> ReadUnits(const toml::table& file);
  Result<LeverEdit> ReadLever(const toml::table& table) const;
  Result<void> ReadKind(const toml::table& table, LeverEdit& edit) const;
  Result<std::vector<LeverEdit>> ReadLevers(const toml::table& table) const;
  Result<void> SetFigure(const toml::key& key, const toml::node& node, TcoPlan& plan) const;
  Result<TcoPlan> ReadVariant(const toml::table& table) const;
  Result<OwnOffer> ReadOwn(const toml::table& table) const;
  Result<std::vector<Fraction>> NumbersIn(const toml::table& table, std::string_view key) const;

  std::string name_;
  std::string today_;
  // The scenario as far as it is read, and its shared figures by name.
  TcoPlan plan_;
  std::map<std::string, std::size_t> shared_;
  bool owned_price_ = false;  // a line of compute at an internal rate
  bool rented_ = false;
  bool energy_ = false;
  std::string undated_;  // lines whose price has no date
};

// Refuses a key that is not known, with the nearest one that is.
Result<void> ScenarioReader::CheckKeys(const toml::table& table, const Names& known, const std::string& of) const {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    return FailUsage(name_ + ":" + std::to_string(key.source().begin.line) + ": " + of + " has an unknown key '" +
                     std::string(key.str().substr(0, 60)) + "'; " + SuggestionFor(key.str(), known));
  }
  return {};
}

// A text, or a date as a text; `absent` where the key is not given.
Result<std::string> ScenarioReader::Text(const toml::table& table, std::string_view key,
                                         const std::string& absent) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return absent;
  if (const auto* text = node->as_string()) return text->get();
  // as_of = 2026-07-01 without quotes is a date to TOML.
  if (node->is_date()) {
    const toml::date day = node->as_date()->get();
    std::string text = std::to_string(day.year) + "-";
    text += (day.month < 10 ? "0" : "") + std::to_string(day.month) + (day.day < 10 ? "-0" : "-");
    return text + std::to_string(day.day);
  }
  return Wrong(*node, std::string(key) + " is not a text; put it in quotes");
}

// A number. TOML's own floating-point numbers are refused, because 0.1 would not be read exactly.
Result<Fraction> ScenarioReader::Number(const toml::node& node, std::string_view key) const {
  if (node.is_floating_point()) {
    return Wrong(node,
                 "write the number of " + std::string(key) + " in quotes, so idleburn reads it exactly: \"2.50\"");
  }
  const auto* text = node.as_string();
  const auto* whole = node.as_integer();
  if (text == nullptr && whole == nullptr) return Wrong(node, std::string(key) + " is not a number");
  Result<Fraction> number = ParseDecimal(text != nullptr ? text->get() : std::to_string(whole->get()));
  if (!number) return Wrong(node, std::string(key) + ": " + number.error().message);
  // 35 would be 3,500 %; it is always meant as 35 %.
  if (IsShare(key) && Compare(*number, Fraction::Of(1, 1)) > 0) {
    return Wrong(node, std::string(key) + " is above 1; it is a share: write 35% or 0.35");
  }
  return number;
}

// The number of a key; absent where it is not given.
Result<std::optional<Fraction>> ScenarioReader::NumberIn(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::optional<Fraction>();
  const Fraction number = TRY(Number(*node, key));
  return std::optional(number);
}

// A switch; `absent` where the key is not given.
Result<bool> ScenarioReader::Switch(const toml::table& table, std::string_view key, bool absent) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return absent;
  if (const auto* on = node->as_boolean()) return on->get();
  return Wrong(*node, std::string(key) + " is true or false, without quotes");
}

// A share of a claim, which needs no exactness. An overhead may be above 1.
Result<std::optional<double>> ScenarioReader::ShareIn(const toml::table& table, std::string_view key) const {
  const std::optional<Fraction> number = TRY(NumberIn(table, key));
  if (!number) return std::optional<double>();
  if (key != "overhead" && Compare(*number, Fraction::Of(1, 1)) > 0) {
    return Wrong(*table.get(key), std::string(key) + " is above 1; it is a share: write 35% or 0.35");
  }
  return std::optional(number->AsDouble());
}

// A number, or a range [low, likely, high] that rises.
Result<PlanFigure> ScenarioReader::Figure(const toml::node& node, std::string_view key, const std::string& name) const {
  PlanFigure figure;
  figure.name = name;
  const toml::array* range = node.as_array();
  if (range == nullptr) {
    const Fraction number = TRY(Number(node, key));
    figure.low = figure.likely = figure.high = number;
    return figure;
  }
  if (range->size() != 3) return Wrong(node, std::string(key) + ": a range is [low, likely, high]");
  Fraction* const ends[] = {&figure.low, &figure.likely, &figure.high};
  for (std::size_t i = 0; i < 3; ++i) {
    *ends[i] = TRY(Number(*range->get(i), key));
  }
  if (Compare(figure.low, figure.likely) > 0 || Compare(figure.likely, figure.high) > 0) {
    return Wrong(node, std::string(key) + ": the range must rise: [low, likely, high]");
  }
  return figure;
}

// Warns of a figure that looks as if its unit was forgotten.
void ScenarioReader::NoteDoubt(const std::string& of, std::string_view key, const PlanFigure& figure,
                               TcoPlan& plan) const {
  if (const auto doubt = DoubtOf(key, figure.likely, plan.currency)) {
    plan.warnings.push_back(of + ": " + std::string(key) + " " + *doubt);
  }
}

// The place of a figure. A name in [shared] gives the figure that is drawn once for all who use it.
Result<std::size_t> ScenarioReader::FigureIndex(const toml::node& node, std::string_view key, const std::string& name) {
  if (const auto* text = node.as_string(); text != nullptr && !text->get().empty() && IsLetter(text->get()[0])) {
    const auto found = shared_.find(text->get());
    if (found != shared_.end()) return found->second;
    Names known;
    for (const auto& [shared, index] : shared_) known.push_back(shared);
    return Wrong(node, std::string(key) + ": '" + text->get().substr(0, 40) +
                           "' is neither a number nor a name in [shared]; " + SuggestionFor(text->get(), known));
  }
  PlanFigure figure = TRY(Figure(node, key, name));
  plan_.figures.push_back(std::move(figure));
  return plan_.figures.size() - 1;
}

// A figure that the file does not give, such as 24 hours; returns its place.
std::size_t ScenarioReader::Constant(const std::string& name, const Fraction& value) {
  plan_.figures.push_back({name, value, value, value});
  return plan_.figures.size() - 1;
}

// Hours of a month, a whole number from 1 to those of the longest month.
Result<int> ScenarioReader::MonthHours(const toml::node& node, const Fraction& hours, const std::string& key) const {
  if (hours.bottom == 1 && hours.top >= 1 && hours.top <= kMostMonthHours) return static_cast<int>(hours.top);
  return Wrong(node, key + " is not a whole number of hours from 1 to " + std::to_string(kMostMonthHours) +
                         ", such as 720 or 730");
}

// Everything above the lines: name, currency, horizon, contingency, budget.
Result<void> ScenarioReader::ReadHead(const toml::table& file) {
  Names known = {"name",   "currency", "horizon_months", "start",   "month_hours", "contingency", "contingency_amount",
                 "budget", "shared",   "units",          "variant", "own"};
  for (const std::string_view category : kCostCategoryNames) known.emplace_back(category);
  TRY(CheckKeys(file, known, "the file"));
  const std::string name = TRY(Text(file, "name", "scenario"));
  const std::string currency = TRY(Text(file, "currency", "USD"));
  plan_.name = name;
  plan_.currency = currency;
  if (!IsCurrencyCode(currency)) {
    return Wrong(*file.get("currency"), "currency is not a code of three capitals such as USD");
  }
  const std::string start = TRY(Text(file, "start"));
  if (!start.empty()) {
    // A month: its first day must be a date.
    if (start.size() != 7 || !ParseDayOrTime(start + "-01")) {
      return Wrong(*file.get("start"), "start is not a month such as \"2026-07\"");
    }
    plan_.start = start;
  }
  const auto money = [&](std::string_view key, std::optional<Money>& into) -> Result<void> {
    const std::optional<Fraction> number = TRY(NumberIn(file, key));
    if (!number) return {};
    into = number->AsMoney();
    if (into) return {};
    return Wrong(*file.get(key), std::string(key) + " is beyond 9.2 billion, the largest amount kept exactly");
  };
  TRY(money("budget", plan_.budget));
  TRY(money("contingency_amount", plan_.forced_contingency));
  // All three are read before any is judged, so that a number that cannot be read is told first.
  const Result<std::optional<Fraction>> months = NumberIn(file, "horizon_months");
  const Result<std::optional<Fraction>> hours = NumberIn(file, "month_hours");
  const Result<std::optional<Fraction>> contingency = NumberIn(file, "contingency");
  for (const auto* number : {&months, &hours, &contingency}) {
    if (!*number) return tl::unexpected<Error>(number->error());
  }
  if (*months && (*months)->top == 0) return Wrong(*file.get("horizon_months"), "horizon_months is 0");
  plan_.months = *months;
  if (*hours) {
    plan_.month_hours = TRY(MonthHours(*file.get("month_hours"), **hours, "month_hours"));
  }
  if (*contingency) plan_.contingency = **contingency;
  // Two ways to say one thing may contradict each other.
  if (*contingency && plan_.forced_contingency) {
    return Wrong(*file.get("contingency_amount"), "contingency is given twice; the rate is enough, it is computed");
  }
  return {};
}

// Figures that several lines use by their name.
Result<void> ScenarioReader::ReadShared(const toml::table& file) {
  const toml::node* node = file.get("shared");
  if (node == nullptr) return {};
  if (!node->is_table()) return Wrong(*node, "shared is not a table; write [shared]");
  for (const auto& [key, value] : *node->as_table()) {
    const std::string name(key.str());
    PlanFigure figure = TRY(Figure(value, name, "shared." + name));
    plan_.figures.push_back(std::move(figure));
    shared_[name] = plan_.figures.size() - 1;
  }
  return {};
}

// The first recipe of the category for which the line gives all needs.
Result<const LineRecipe*> ScenarioReader::RecipeFor(const toml::table& table, CostCategory category,
                                                    const std::string& key) const {
  Names ways;
  Names known = TextKeys();
  for (const LineRecipe& recipe : LineRecipes()) {
    if (recipe.category != category) continue;
    ways.emplace_back(recipe.needs.substr(0, recipe.needs.find(' ')));
    for (const RecipeFigure& figure : FiguresOf(recipe)) {
      if (figure.name != kMonthHours) known.emplace_back(figure.name);
    }
  }
  TRY(CheckKeys(table, known, key));
  for (const LineRecipe& recipe : LineRecipes()) {
    if (recipe.category != category) continue;
    const std::vector<std::string_view> needs = Split(recipe.needs, ' ');
    const bool fits = std::all_of(needs.begin(), needs.end(), [&](auto figure) { return table.contains(figure); });
    if (fits) return &recipe;
  }
  // Several recipes may begin with one figure.
  ways.erase(std::unique(ways.begin(), ways.end()), ways.end());
  return Wrong(table, key + " has no amount; give one of " + ListText(ways));
}

// The horizon as a figure, in months or years.
Result<std::size_t> ScenarioReader::Horizon(const toml::node& at, std::string_view key, const PlanLine& line) {
  if (!plan_.months) {
    return Wrong(
        at, line.Key() + " needs a horizon: give horizon_months" +
                (line.category == CostCategory::kDepreciation ? "; without it six months would be charged as a year"
                                                              : ", or months for this line"));
  }
  const bool years = key == "years";
  return Constant(years ? "years" : "months", years ? *plan_.months / Fraction::Of(12, 1) : *plan_.months);
}

// Fills the formula of a recipe with the figures of the line, term by term. A later term is skipped where its first
// figure is not given.
Result<void> ScenarioReader::AddTerms(const toml::table& table, const LineRecipe& recipe, PlanLine& line) {
  Names used = TextKeys();
  bool skip = false;
  for (const RecipeFigure& part : FiguresOf(recipe)) {
    const toml::node* node = part.name == kMonthHours ? nullptr : table.get(part.name);
    if (part.name != kMonthHours) used.emplace_back(part.name);
    if (part.starts) {
      // The first term is always there.
      skip = !line.terms.empty() && node == nullptr;
      if (!skip) line.terms.push_back({part.minus, part.at_least, {}});
    }
    if (skip) continue;
    std::size_t figure = 0;
    if (part.name.find_first_not_of("0123456789") == std::string_view::npos) {
      figure = Constant(std::string(part.name), *ParseDecimal(part.name));
    } else if (const auto known = line.figures.find(part.name); known != line.figures.end()) {
      figure = known->second;  // drawn once, also where it stands in several terms
    } else if (part.name == kMonthHours) {
      figure = Constant(std::string(kMonthHours), Fraction::Of(plan_.month_hours, 1));
    } else if (node != nullptr) {
      const std::size_t read = TRY(FigureIndex(*node, part.name, line.Key() + "." + std::string(part.name)));
      // The low end must do too, because estimates divide by it.
      if (part.divides && plan_.figures[read].low.top == 0) {
        return Wrong(*node, line.Key() + ": " + std::string(part.name) + " is 0; nothing can be divided by it");
      }
      if (part.name == "hours_a_day" && Compare(plan_.figures[read].high, Fraction::Of(24, 1)) > 0) {
        return Wrong(*node, line.Key() + ": hours_a_day is above 24");
      }
      figure = read;
      NoteDoubt(line.Key(), part.name, plan_.figures[figure], plan_);
    } else if (part.name == "months" || part.name == "years") {
      figure = TRY(Horizon(table, part.name, line));
    } else if (part.optional && part.usual.empty()) {
      continue;
    } else if (part.optional) {
      figure = Constant(std::string(part.name), *ParseDecimal(part.usual));
    } else {
      return Wrong(table, line.Key() + " has no " + std::string(part.name) + "; it is " + std::string(recipe.formula));
    }
    line.figures.emplace(part.name, figure);
    if (part.name == "probability") line.probability = figure;
    line.terms.back().factors.push_back({figure, part.divides, part.rounds_up});
  }
  return CheckKeys(table, used, line.Key() + " (" + std::string(recipe.formula) + ")");
}

// Notes where a price comes from, and warns of what is doubtful about it.
Result<void> ScenarioReader::NoteBasis(const toml::table& table, PlanLine& line) {
  Names parts;
  for (const char* key : {"purchase", "source", "region", "as_of"}) {
    const std::string text = TRY(Text(table, key));
    if (!text.empty()) parts.push_back(std::string(key) == "as_of" ? "as of " + text : text);
    if (std::string(key) == "as_of" && !text.empty()) {
      const Result<Instant> then = ParseDayOrTime(text);
      const Result<Instant> now = ParseDayOrTime(today_);
      if (!then) return Wrong(*table.get(key), "as_of is not a date such as 2026-07-01");
      // The price is used all the same; only the report warns.
      if (now && IsStale(*then, *now)) {
        plan_.warnings.push_back(line.Key() + ": its price is older than " + std::to_string(kStaleAfterDays) +
                                 " days (" + text + ")");
      }
    }
  }
  line.basis = ListText(parts);
  const std::string purchase = table["purchase"].value_or(std::string());
  const Names kinds = {"on_demand", "spot", "reserved", "owned", ""};
  if (std::find(kinds.begin(), kinds.end(), purchase) == kinds.end()) {
    return Wrong(*table.get("purchase"), "purchase is not one of on_demand, spot, reserved, owned");
  }
  // The discount of spot is lost where a run starts from its beginning again.
  const bool drilled = TRY(Switch(table, "resume_drill", false));
  if (purchase == "spot" && !drilled) {
    plan_.warnings.push_back(line.Key() + ": spot, and no drill has shown that it resumes (resume_drill = true)");
  }
  // Kept for the check of what is paid for twice.
  if (line.category == CostCategory::kCompute) (purchase == "owned" ? owned_price_ : rented_) = true;
  const bool priced = line.figures.contains("price") || line.figures.contains("hourly");
  if (priced && !table.contains("as_of")) undated_ += (undated_.empty() ? "" : ", ") + line.Key();
  return {};
}

// Notes what a kilowatt-hour of the line's energy emits, and what making the hardware did.
Result<void> ScenarioReader::NoteCarbon(const toml::table& table, const LineRecipe& recipe, PlanLine& line) {
  // The price of a rented GPU-hour holds its energy: there watts are told for what they emit, not for what they cost.
  const bool energy = recipe.needs == "watts";
  for (const std::string_view key : {"watts", "pue"}) {
    const toml::node* node = table.get(key);
    if (energy || node == nullptr) continue;
    if (recipe.needs != "gpu_hours" || !table.contains("grid_kg_per_kwh")) {
      return Wrong(*node,
                   line.Key() + ": " + std::string(key) +
                       " is for the energy of gpu_hours; give gpu_hours and grid_kg_per_kwh to compute emissions");
    }
    const std::size_t read = TRY(FigureIndex(*node, key, line.Key() + "." + std::string(key)));
    NoteDoubt(line.Key(), key, plan_.figures[read], plan_);
    line.figures.emplace(key, read);
  }
  const Result<std::optional<Fraction>> grid = NumberIn(table, "grid_kg_per_kwh");
  const Result<std::optional<Fraction>> embodied = NumberIn(table, "embodied_kg");
  const Result<std::optional<Fraction>> life = NumberIn(table, "life_hours");
  for (const auto* number : {&grid, &embodied, &life}) {
    if (!*number) return tl::unexpected<Error>(number->error());
  }
  if (!*grid && !*embodied && !*life) return {};
  if (!line.figures.contains("watts")) return Wrong(table, line.Key() + " needs watts to compute emissions");
  line.grid_kg_per_kwh = *grid;
  if (!*embodied && !*life) return {};
  if (!*grid || !*embodied || !*life || (*life)->top == 0) {
    return Wrong(table, line.Key() + ": embodied_kg of a GPU needs its life_hours, above 0, and grid_kg_per_kwh");
  }
  line.embodied_kg_per_gpu_hour = **embodied / **life;
  return {};
}

// Notes the months of the plan in which the line is paid: "1" or "1-2".
Result<void> ScenarioReader::NotePaidIn(const toml::table& table, PlanLine& line) const {
  const toml::node* node = table.get("paid_in");
  if (node == nullptr) return {};
  const std::string text = TRY(Text(table, "paid_in"));
  const std::size_t dash = text.find('-');
  const std::optional<std::int64_t> first = ParseInteger(text.substr(0, dash));
  const std::optional<std::int64_t> last = dash == std::string::npos ? first : ParseInteger(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first) {
    return Wrong(*node, line.Key() + ": paid_in is a month of the plan, or its first and last: \"1\" or \"1-2\"");
  }
  if (!plan_.months || Compare(Fraction::Of(*last - 1, 1), *plan_.months) >= 0) {
    return Wrong(*node, line.Key() + ": paid_in is beyond horizon_months");
  }
  line.paid_in = std::pair(*first, *last);
  return {};
}

Result<void> ScenarioReader::ReadLine(const toml::table& table, CostCategory category) {
  PlanLine line;
  line.category = category;
  const std::string name = TRY(Text(table, "name", std::string(Name(category))));
  line.name = name;
  for (const PlanLine& other : plan_.lines) {
    if (other.Key() == line.Key()) return Wrong(table, line.Key() + " appears twice; give each line its own name");
  }
  const LineRecipe* found = TRY(RecipeFor(table, category, line.Key()));
  const LineRecipe& recipe = *found;
  TRY(AddTerms(table, recipe, line));
  line.recurring = TRY(Switch(table, "recurring", recipe.recurring));
  line.of_compute = recipe.needs == "share_of_compute";
  energy_ = energy_ || recipe.needs == "watts" || recipe.needs == "peak_kilowatts";
  // In such a recipe the second factor of the first term is the price.
  if (!recipe.price.empty()) line.price = line.terms.front().factors[1].figure;
  TRY(NoteBasis(table, line));
  TRY(NoteCarbon(table, recipe, line));
  TRY(NotePaidIn(table, line));
  plan_.lines.push_back(std::move(line));
  return {};
}

// Reads all lines of a category.
Result<void> ScenarioReader::ReadLines(const toml::table& file, CostCategory category) {
  const toml::node* node = file.get(Name(category));
  if (node == nullptr) return {};
  const std::string how = "write [[" + std::string(Name(category)) + "]] before its lines";
  if (!node->is_array()) return Wrong(*node, std::string(Name(category)) + " is not a list of lines; " + how);
  for (const toml::node& line : *node->as_array()) {
    if (!line.is_table()) return Wrong(line, std::string(Name(category)) + ": " + how);
    TRY(ReadLine(*line.as_table(), category));
  }
  return {};
}

// Refuses plans that pay for one thing in two lines; these are the usual ones.
Result<void> ScenarioReader::CheckDoubleCounts() const {
  const auto has = [&](CostCategory category, std::string_view word) {
    return std::any_of(plan_.lines.begin(), plan_.lines.end(), [&](const PlanLine& line) {
      return line.category == category && line.name.find(word) != std::string::npos;
    });
  };
  if (owned_price_ && has(CostCategory::kDepreciation, "")) {
    return FailUsage(name_ +
                     ": owned compute counts twice: give depreciation, energy and support, or a price with purchase = "
                     "\"owned\" that includes them");
  }
  if (energy_ && (rented_ || owned_price_)) {
    return FailUsage(name_ + ": energy counts twice: the price of a GPU-hour contains it; remove that line");
  }
  if (has(CostCategory::kData, "storage") && has(CostCategory::kInfrastructure, "storage")) {
    return FailUsage(name_ + ": storage is in data and in infrastructure; keep it in one of them");
  }
  return {};
}

// Fills in what is known of levers of a kind. The lever's own words come first.
Result<void> ScenarioReader::ReadKind(const toml::table& table, LeverEdit& edit) const {
  const std::string id = TRY(Text(table, "kind"));
  const LeverKind* kind = FindLeverKind(id);
  if (kind == nullptr && !id.empty()) {
    Names known;
    for (const LeverKind& k : LeverKinds()) known.emplace_back(k.id);
    return Wrong(*table.get("kind"),
                 "there is no lever of kind '" + id.substr(0, 40) + "'; " + SuggestionFor(id, known));
  }
  const std::string name = TRY(Text(table, "name", kind != nullptr ? std::string(kind->title) : "lever"));
  const std::string todo = TRY(Text(table, "todo", kind != nullptr ? std::string(kind->todo) : ""));
  edit.name = name;
  edit.todo = todo;
  return {};
}

// Reads one lever of a variant.
Result<LeverEdit> ScenarioReader::ReadLever(const toml::table& table) const {
  TRY(CheckKeys(
      table,
      {"kind", "name", "todo", "line", "to", "factor", "time", "rate", "overhead", "avoided", "cheaper", "evidence"},
      "the lever"));
  LeverEdit edit;
  const auto text = [&](std::string_view key, std::string& into, const std::string& absent) -> Result<void> {
    into = TRY(Text(table, key, absent));
    return {};
  };
  TRY(ReadKind(table, edit));
  TRY(text("line", edit.line, ""));
  TRY(text("evidence", edit.evidence, "assumed"));
  const Names kinds = {"measured", "calibrated", "assumed"};
  if (std::find(kinds.begin(), kinds.end(), edit.evidence) == kinds.end()) {
    return Wrong(*table.get("evidence"), "evidence is not one of measured, calibrated, assumed");
  }
  const auto figure = [&](std::string_view key, std::optional<PlanFigure>& into) -> Result<void> {
    if (const toml::node* node = table.get(key)) {
      into = TRY(Figure(*node, key, edit.name + "." + std::string(key)));
    }
    return {};
  };
  TRY(figure("to", edit.to));
  TRY(figure("factor", edit.factor));
  const std::pair<std::string_view, std::optional<double>*> shares[] = {
      {"time", &edit.time}, {"rate", &edit.rate_cut}, {"overhead", &edit.overhead}, {"avoided", &edit.avoided}};
  for (const auto& [key, into] : shares) {
    *into = TRY(ShareIn(table, key));
  }
  if (const toml::node* node = table.get("cheaper")) {
    const std::string words = node->value_or(std::string());
    const std::size_t colon = words.find(':');
    const Result<Fraction> share = ParseDecimal(words.substr(0, colon));
    const Result<Fraction> speedup = ParseDecimal(colon == std::string::npos ? "" : words.substr(colon + 1));
    if (!share || !speedup || Compare(*share, Fraction::Of(1, 1)) > 0 || speedup->top == 0) {
      return Wrong(*node, "cheaper needs a share of the busy time and its speed-up: \"0.75:2\"");
    }
    edit.cheaper = CombineInput::Cheaper{share->AsDouble(), speedup->AsDouble()};
  }
  return edit;
}

// Reads all levers of a variant, in their order.
Result<std::vector<LeverEdit>> ScenarioReader::ReadLevers(const toml::table& table) const {
  std::vector<LeverEdit> edits;
  const toml::node* list = table.get("lever");
  if (list == nullptr) return edits;
  if (!list->is_array()) return Wrong(*list, "lever is not a list; write [[variant.lever]]");
  for (const toml::node& lever : *list->as_array()) {
    if (!lever.is_table()) return Wrong(lever, "lever is not a list of tables; write [[variant.lever]]");
    LeverEdit edit = TRY(ReadLever(*lever.as_table()));
    edits.push_back(std::move(edit));
  }
  return edits;
}

// Replaces one figure of the plan, wherever it stands.
Result<void> ScenarioReader::SetFigure(const toml::key& key, const toml::node& node, TcoPlan& plan) const {
  const std::string name(key.str());
  Names known;
  for (std::size_t i = 0; i < plan.figures.size(); ++i) {
    PlanFigure& old = plan.figures[i];
    if (old.name.find('.') != std::string::npos) known.push_back(old.name);  // others are no figures of the file's
    if (old.name != name) continue;
    // The key behind the last dot says what kind of figure it is.
    const PlanFigure read = TRY(Figure(node, name.substr(name.rfind('.') + 1), name));
    for (const PlanLine& line : plan.lines) {
      for (const PlanTerm& term : line.terms) {
        for (const PlanFactor& factor : term.factors) {
          if (factor.figure != i || !factor.divides || read.low.top != 0) continue;
          return Wrong(node, name + " is 0; nothing can be divided by it");
        }
      }
    }
    plan.levers.push_back({"set", name, DecimalText(old.likely) + " to " + DecimalText(read.likely), "assumed", ""});
    NoteDoubt(name, name.substr(name.rfind('.') + 1), read, plan);
    old = read;
    return {};
  }
  return Wrong(node, "set: there is no figure '" + name.substr(0, 60) + "'; " + SuggestionFor(name, known));
}

// The plan with everything that the variant changes. Each change is applied alone as well, to know what it saves by
// itself.
Result<TcoPlan> ScenarioReader::ReadVariant(const toml::table& table) const {
  TRY(CheckKeys(table, {"name", "waste", "set", "lever"}, "the variant"));
  const std::string name = TRY(Text(table, "name", "variant"));
  const std::optional<double> waste = TRY(ShareIn(table, "waste"));
  const std::vector<LeverEdit> edits = TRY(ReadLevers(table));
  TcoPlan edited = plan_;
  // They are said of the scenario.
  edited.warnings.clear();
  std::vector<std::pair<std::string, TcoPlan>> each;  // with one edit only
  if (const toml::node* set = table.get("set")) {
    if (!set->is_table())
      return Wrong(*set, "set is not a table; write [variant.set] and \"compute.NAME.price\" = \"2\"");
    for (const auto& [key, value] : *set->as_table()) {
      TRY(SetFigure(key, value, edited));
      TRY(SetFigure(key, value, each.emplace_back("set " + std::string(key.str()), plan_).second));
    }
  }
  Result<TcoPlan> plan = WithLevers(edited, edits, waste);
  if (!plan) return Wrong(table, plan.error().message);
  for (const LeverEdit& edit : edits) {
    Result<TcoPlan> one = WithLevers(plan_, {edit}, waste);
    if (!one) return Wrong(table, one.error().message);
    each.emplace_back(edit.name, *std::move(one));
  }
  Result<std::vector<LeverSaving>> alone = SavingsOf(plan_, each);
  if (!alone) return Wrong(table, alone.error().message);
  plan->alone = *std::move(alone);
  plan->name = name;
  return plan;
}

// A list of numbers above 0; empty where the key is not given.
Result<std::vector<Fraction>> ScenarioReader::NumbersIn(const toml::table& table, std::string_view key) const {
  std::vector<Fraction> numbers;
  const toml::node* node = table.get(key);
  if (node == nullptr) return numbers;
  if (!node->is_array()) return Wrong(*node, std::string(key) + " is not a list; write [\"2.29\", \"2.95\"]");
  for (const toml::node& item : *node->as_array()) {
    const Fraction number = TRY(Number(item, key));
    if (number.top == 0) return Wrong(item, std::string(key) + ": cannot divide by 0");
    numbers.push_back(number);
  }
  return numbers;
}

// The server that could be bought. Figures that are not given count as 0 and are listed.
Result<OwnOffer> ScenarioReader::ReadOwn(const toml::table& table) const {
  OwnOffer offer;
  struct Entry {
    std::string_view key;
    Fraction* into;
    bool required;
    bool divides;
    bool of_capex;  // a percentage is of the purchase
  };
  const Entry entries[] = {{"capex", &offer.capex, true, false, false},
                           {"residual", &offer.residual, false, false, true},
                           {"life_years", &offer.life_years, true, true, false},
                           {"kilowatts", &offer.kilowatts, false, false, false},
                           {"pue", &offer.pue, false, false, false},
                           {"tariff", &offer.tariff, false, false, false},
                           {"support_a_year", &offer.support_a_year, false, false, true},
                           {"demand_charge", &offer.demand_charge, false, false, false},
                           {"space_a_year", &offer.space_a_year, false, false, false},
                           {"staff_a_year", &offer.staff_a_year, false, false, false},
                           {"capital_rate", &offer.capital_rate, false, false, false},
                           {"gpus", &offer.gpus, true, true, false},
                           {"cloud_falls_a_year", &offer.cloud_falls_a_year, false, false, false},
                           {"payback_at", &offer.payback_at, false, true, false}};
  Names known = {"utilisation", "cloud", "payback_month_hours"};
  for (const Entry& entry : entries) known.emplace_back(entry.key);
  TRY(CheckKeys(table, known, "[own]"));
  for (const Entry& entry : entries) {
    const std::optional<Fraction> number = TRY(NumberIn(table, entry.key));
    if (!number) {
      if (entry.required) return Wrong(table, "[own] has no " + std::string(entry.key));
      offer.not_given.emplace_back(entry.key);
      continue;
    }
    if (entry.divides && number->top == 0) return Wrong(*table.get(entry.key), std::string(entry.key) + " is 0");
    if (const auto doubt = DoubtOf(entry.key, *number, plan_.currency)) {
      offer.warnings.push_back("own: " + std::string(entry.key) + " " + *doubt);
    }
    const auto* text = table.get(entry.key)->as_string();
    const bool percent = text != nullptr && text->get().ends_with("%");
    *entry.into = percent && entry.of_capex ? *number * offer.capex : *number;
  }
  const std::vector<Fraction> cloud = TRY(NumbersIn(table, "cloud"));
  const std::vector<Fraction> uses = TRY(NumbersIn(table, "utilisation"));
  const std::optional<Fraction> hours = TRY(NumberIn(table, "payback_month_hours"));
  offer.cloud = cloud;
  if (!uses.empty()) offer.utilisations = uses;
  if (hours) {
    offer.month_hours = TRY(MonthHours(*table.get("payback_month_hours"), *hours, "payback_month_hours"));
  }
  return offer;
}

// How much of everything one run takes, for unit costs.
Result<void> ScenarioReader::ReadUnits(const toml::table& file) {
  const toml::node* units = file.get("units");
  if (units == nullptr) return {};
  if (!units->is_table()) return Wrong(*units, "units is not a table; write [units]");
  const Names known = {"samples", "tokens", "requests", "epochs", "gpu_hours", "utilisation"};
  TRY(CheckKeys(*units->as_table(), known, "[units]"));
  for (const auto& [key, node] : *units->as_table()) {
    plan_.units[std::string(key.str())] = TRY(Number(node, key.str()));
  }
  return {};
}

// The whole file.
Result<TcoFile> ScenarioReader::Read(const toml::table& file) {
  TRY(ReadHead(file));
  TRY(ReadShared(file));
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) TRY(ReadLines(file, static_cast<CostCategory>(c)));
  TRY(CheckDoubleCounts());
  if (!undated_.empty()) plan_.warnings.push_back("no date of the price (as_of): " + undated_);
  TRY(ReadUnits(file));
  TcoFile result;
  result.plans.push_back(plan_);
  if (const toml::node* variants = file.get("variant")) {
    if (!variants->is_array()) return Wrong(*variants, "variant is not a list; write [[variant]]");
    for (const toml::node& variant : *variants->as_array()) {
      if (!variant.is_table()) return Wrong(variant, "variant is not a list of tables; write [[variant]]");
      TcoPlan plan = TRY(ReadVariant(*variant.as_table()));
      result.plans.push_back(std::move(plan));
    }
  }
  if (const toml::node* own = file.get("own")) {
    if (!own->is_table()) return Wrong(*own, "own is not a table; write [own]");
    result.own = TRY(ReadOwn(*own->as_table()));
  }
  return result;
}

// What the file is instead of TOML: a table of what was paid, or a trace. Empty if it is neither.
std::string Mistaken(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  if (text.starts_with('{')) return "is JSON; a scenario is TOML (idleburn tco init writes one)";
  if (line.find(',') == std::string::npos || line.find('=') != std::string::npos || line.starts_with('#')) return "";
  return "is a table; a scenario is TOML (idleburn tco init writes one), and payments go to --actuals";
}

}  // namespace

Result<TcoFile> ReadTcoFile(const std::string& name, const std::string& text, const std::string& today) {
  try {
    const toml::table file = toml::parse(text, name);
    return ScenarioReader(name, today).Read(file);
  } catch (const toml::parse_error& error) {
    if (const std::string mistaken = Mistaken(text); !mistaken.empty()) return FailUsage(name + ": " + mistaken);
    return FailUsage(name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
}

std::string TcoTemplate() { return std::string(embedded::tco_toml); }

}  // namespace idleburn
