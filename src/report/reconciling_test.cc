// The figures of one report agree with each other, whatever was measured and paid: in text, JSON and HTML. Loads are
// made of stretches that the rules know (idle, held, bursts, spin-wait, steady, gaps), at one price, at several, with
// GPUs that have none, and without any.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "classify/run_classifier.h"
#include "report/write_audit.h"
#include "support/advice_on.h"
#include "support/property.h"

namespace idleburn {
namespace {

using Json = nlohmann::json;

enum class Load { kEmpty, kHeld, kFewPercent, kSteady, kBursts, kBusy, kSpin, kDim, kGap, kCount };

class AnyRun {
 public:
  explicit AnyRun(std::uint32_t seed) : random_(seed) {}

  int Upto(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  void Measure() {
    const int gpus = 1 + Upto(4);
    const bool power = Upto(3) > 0;
    const bool memory = Upto(3) > 0;
    const int period_ms = Upto(1) == 0 ? 1000 : 250;
    const int seconds = 60 + Upto(1500);
    std::vector<DeviceId> ids;
    for (int g = 0; g < gpus; ++g) {
      DeviceKey key;
      key.index = g;
      key.name = "NVIDIA H100 80GB HBM3";
      ids.push_back(devices.Enter(key));
    }
    std::vector<Sample> samples;
    std::vector<Load> load(ids.size(), Load::kEmpty);
    for (int ms = 0; ms < 1000 * seconds; ms += period_ms) {
      for (std::size_t g = 0; g < ids.size(); ++g) {
        if (ms == 0 || Upto(90'000 / period_ms) == 0)
          load[g] = static_cast<Load>(Upto(static_cast<int>(Load::kCount) - 1));
        if (load[g] == Load::kGap && ms > 0) continue;
        samples.push_back(Read(ids[g], ms, load[g], power, memory));
      }
    }
    RunClassifier classifier(thresholds, devices, quality, [](std::string_view) { return BoardFacts(); });
    classifier.OnSamples(samples);
    run = classifier.Finish();
  }

  RateCard Rates() {
    const auto rate = [&](int cents) {
      Rate r;
      if (cents > 0) r.per_gpu_hour = Money::Cents(cents);
      if (cents == 0) r.reason = "no_price";
      return r;
    };
    const int kind = Upto(4);
    RateCard card(rate(kind == 0 ? 0 : 1 + Upto(200'000)));
    for (DeviceId id = 0; kind >= 3 && id < devices.size(); ++id) {
      if (Upto(1) == 0) card.Give(id, rate(kind == 4 && Upto(1) == 0 ? 0 : 1 + Upto(2'000)));
    }
    return card;
  }

  DeviceTable devices;
  DataQuality quality;
  const Thresholds thresholds;
  RunResult run;

 private:
  Sample Read(DeviceId id, int ms, Load load, bool power, bool memory) {
    const bool high = (ms / 1000 + Upto(1)) % 3 != 0;
    int busy = 0;
    int watts = 70;
    switch (load) {
      case Load::kFewPercent:
        busy = 1 + Upto(8);
        watts = 90;
        break;
      case Load::kSteady:
        busy = 30 + Upto(30);
        watts = 250;
        break;
      case Load::kBursts:
        busy = high ? 95 + Upto(5) : Upto(5);
        watts = high ? 500 : 120;
        break;
      case Load::kBusy:
        busy = 90 + Upto(10);
        watts = 620;
        break;
      case Load::kSpin:
        busy = 100;
        watts = 125;
        break;
      case Load::kDim:
        busy = 100;
        watts = 220;
        break;
      default:
        break;
    }
    Sample s;
    s.device = id;
    s.time = Instant::FromNanos(1'783'000'800 * kNanosPerSecond + ms * (kNanosPerSecond / 1000));
    s.Set(Signal::kUtilization, busy * kPercent);
    if (power) {
      s.Set(Signal::kPower, watts * 1000);
      s.Set(Signal::kPowerLimit, 700'000);
    }
    if (memory) s.Set(Signal::kMemoryUsed, load == Load::kEmpty ? 0 : std::int64_t{40} << 30);
    return s;
  }

  std::mt19937 random_;
};

std::int64_t Units(const std::string& money) {  // "1,234.50" in hundredths
  std::string digits;
  for (const char ch : money) {
    if (ch >= '0' && ch <= '9') digits += ch;
  }
  return std::stoll(digits);
}

// "13.333333333" in nano-units.
std::int64_t Nano(const Json& exact) {
  std::string text = exact.get<std::string>();
  const std::size_t point = text.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : text.size() - point - 1;
  return Units(text + std::string(9 - decimals, '0'));
}

void CheckIntervals(const Json& json) {
  for (const char* list : {"recommendations", "try_first"}) {
    for (const Json& row : json[list]) {
      const Json& saving = row["saving"];
      if (saving.is_null()) continue;
      RC_ASSERT(saving["low"].get<double>() <= saving["expected"].get<double>());
      RC_ASSERT(saving["expected"].get<double>() <= saving["high"].get<double>());
    }
  }
  const Json& all = json["savings"];
  if (all["low"].is_null()) return;
  RC_ASSERT(all["low"].get<double>() <= all["total_fraction"].get<double>());
  RC_ASSERT(all["total_fraction"].get<double>() <= all["high"].get<double>());
}

void CheckJson(const Json& json) {
  const bool priced = !json["cost"]["total"].is_null();
  const auto window = json["gpu_hours"]["window"].get<double>();
  double hours = 0;
  double percent = 0;
  std::int64_t cents = 0;
  std::int64_t nano = 0;
  for (const Json& slice : json["slices"]) {
    hours += slice["gpu_hours"].get<double>();
    RC_ASSERT(slice["percent"].is_null() == (window <= 0));  // nothing has no share of no time
    if (window > 0) percent += slice["percent"].get<double>();
    if (!slice["cost"].is_null()) cents += Units(slice["cost"]);
    if (!slice["cost"].is_null()) nano += Nano(slice["cost_exact"]);
  }
  RC_ASSERT(std::abs(hours - window) < 1e-9);
  if (window > 0) RC_ASSERT(std::abs(percent - 100) < 1e-6);
  if (priced) {
    RC_ASSERT(cents == Units(json["cost"]["total"]));
    RC_ASSERT(nano == Nano(json["cost"]["total_exact"]));
  }
  std::int64_t caused = 0;
  std::int64_t caused_cents = 0;
  for (const Json& finding : json["findings"]) {
    if (finding["cost"].is_null()) continue;
    caused += Nano(finding["cost_exact"]);
    caused_cents += Units(finding["cost"]);
  }
  if (const Json& waste = json["cost"]["waste"]; waste.is_null()) {  // nothing observed, or no price
    RC_ASSERT(caused == 0);
  } else {
    RC_ASSERT(caused <= Nano(json["cost"]["waste_exact"]));
    RC_ASSERT(caused_cents <= Units(waste));
  }
  CheckIntervals(json);
}

// A page as one line, without the marks of its format. By hand: std::regex recurses as deep as a page is long.
std::string OneLine(std::string page) {
  page = page.substr(0, page.find("<script"));
  std::string line;
  for (std::size_t at = 0; at < page.size(); ++at) {
    char ch = page[at];
    if (ch == '<') {
      const bool hidden = page.compare(at, 6, "<style") == 0 || page.compare(at, 6, "<title") == 0;
      at = hidden ? page.find("</", at) : at;
      at = std::min(page.find('>', at), page.size() - 1);
      ch = ' ';
    }
    if (ch == '\n') ch = ' ';
    if (ch != ' ' || line.empty() || line.back() != ' ') line += ch;
  }
  return line;
}

struct Amount {
  bool money = false;
  std::int64_t units = 0;  // in the last decimal
  double scale = 1;        // of a unit, in dollars or hours
  double percent = -1;     // beside it
  int parts = 2;           // roundings that it went through, at most: of a phase to the total, of a slice to its phase
};

// "$3.07 (38.4 %" and "0.25 GPU-hours, 38.4 % of the bill".
std::vector<Amount> Amounts(const std::string& line) {
  static const std::regex kAmount(R"((\$([\d,]+\.\d\d)|([\d,]+(?:\.(\d+))?) GPU-hours?)(?: \(|, )([\d.]+) %)");
  std::vector<Amount> found;
  for (auto at = std::sregex_iterator(line.begin(), line.end(), kAmount); at != std::sregex_iterator(); ++at) {
    const std::smatch& m = *at;
    const bool money = m[2].matched;
    const std::string before = line.substr(0, static_cast<std::size_t>(m.position()));
    const bool rest = before.ends_with("; the rest ") || before.ends_with("Other waste: ");
    found.push_back({money, Units(money ? m[2] : m[3]),
                     money ? 0.01 : std::pow(10, -static_cast<double>(m[4].length())), std::stod(m[5]), rest ? 5 : 2});
  }
  return found;
}

// Every share of money is of the one bill.
void CheckPage(const std::string& page, const CostReport& cost) {
  const std::string line = OneLine(page);
  const std::vector<Amount> amounts = Amounts(line);
  RC_ASSERT(!amounts.empty());
  const double bill = cost.whole.total ? static_cast<double>(cost.whole.total->nano()) / 1e9 : 0;
  const double hours = static_cast<double>(cost.whole.window_ns) / static_cast<double>(kNanosPerHour);
  for (const Amount& a : amounts) {
    const double whole = a.money ? bill : hours;
    if (whole <= 0) continue;
    if (!a.money && cost.several()) continue;  // beside hours of several prices stands the share of their cost
    const double share = 100 * static_cast<double>(a.units) * a.scale / whole;
    const double slack = 0.051 + 100 * 1.01 * a.parts * a.scale / whole;  // rounding of either
    if (std::abs(share - a.percent) > slack) RC_LOG() << line.substr(0, 2000) << "\n";
    RC_ASSERT(std::abs(share - a.percent) <= slack);
  }
}

// The slices in the headline add up to what was paid, the largest first.
void CheckHeadline(const std::string& page, const CostReport& cost) {
  const std::string line = OneLine(page);
  const std::size_t from = line.find("By GPU state, largest first: ");
  if (from == std::string::npos) {
    RC_ASSERT(line.find("All of it was: ") != std::string::npos);
    return;
  }
  const std::size_t to = line.find("%).", from);
  if (line.find("without a price", from) < to) return;  // hours and money do not add up
  RC_ASSERT(to != std::string::npos);
  const std::string sentence = line.substr(from, to + 3 - from);
  const std::vector<Amount> slices = Amounts(sentence);
  RC_ASSERT(slices.size() >= 2);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    sum += slices[i].units;
    const bool rest = i + 1 == slices.size() && sentence.find("; the rest ") != std::string::npos;
    if (i > 0 && !rest) RC_ASSERT(slices[i].percent <= slices[i - 1].percent);
  }
  const double whole = slices.front().money
                           ? static_cast<double>(cost.whole.total->nano()) / 1e9
                           : static_cast<double>(cost.whole.window_ns) / static_cast<double>(kNanosPerHour);
  RC_ASSERT(std::abs(static_cast<double>(sum) * slices.front().scale - whole) <= 0.501 * slices.front().scale);
}

TEST(ReconcilingTest, FiguresOfAReportAgreeWithEachOther) {
  test::ExpectProperty([] {
    AnyRun any(*rc::gen::arbitrary<std::uint32_t>());
    any.Measure();
    Result<CostReport> cost = PriceRun(any.run, any.devices, {}, any.Rates(), {}, {}, 720);
    RC_ASSERT(cost.has_value());
    AuditReport report;
    report.advice = testing::AdviceOn({any.run, any.devices, *cost});
    report.run = any.run;
    report.devices = &any.devices;
    report.quality = &any.quality;
    report.cost = *std::move(cost);
    CheckJson(Json::parse(AuditJson(report)));
    RC_PRE(report.cost.whole.observed_ns > 0);
    for (const std::string& page : {AuditText(report, 100, false), AuditMarkdown(report), AuditHtml(report)}) {
      CheckPage(page, report.cost);
      CheckHeadline(page, report.cost);
    }
  });
}

}  // namespace
}  // namespace idleburn
