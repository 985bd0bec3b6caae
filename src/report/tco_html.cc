#include <fmt/format.h>

#include <algorithm>

#include "report/report_page.h"
#include "report/tco_words.h"
#include "text/escape.h"
#include "text/table.h"

namespace idleburn {
namespace {

// Sizes of the charts in SVG units. A chart scales to the width of the page.
constexpr double kChartWidth = 900;
constexpr int kBarHeight = 26;
constexpr int kBarStep = 34;
constexpr int kLabelWidth = 220;
// Colours by category, the last for contingency. They differ in lightness too, so they can be told apart without
// colour.
constexpr std::array<std::string_view, kCostCategoryCount + 1> kFills = {
    "#1b4f72", "#2e86c1", "#85c1e9", "#117a65", "#73c6b6", "#7d6608", "#f1c40f", "#922b21", "#aab7b8"};

// A bar. Its title is what a pointer or a screen reader shows, and holds the exact amount.
std::string Rectangle(double x, int y, double width, std::string_view fill, const std::string& title) {
  return fmt::format(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}"><title>{}</title></rect>)", x, y,
                     std::max(width, 0.0), kBarHeight, fill, HtmlEscaped(title));
}

// A section with one chart.
std::string Figure(std::string_view title, double height, const std::string& shapes) {
  return fmt::format(
      "<section>\n<h2>{}</h2>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "font-size=\"13\" fill=\"currentColor\">{}</svg>\n</section>\n",
      HtmlEscaped(title), kChartWidth, height, HtmlEscaped(title), shapes);
}

// A chart of `bars` rows.
std::string Chart(std::string_view title, std::size_t bars, const std::string& shapes) {
  return Figure(title, static_cast<double>(bars) * kBarStep, shapes);
}

// The name of a row, shortened to the room beside the bars. The bar's title has the whole name.
std::string RowLabel(std::string_view text, std::size_t row) {
  constexpr int kRoom = 30;  // characters
  return fmt::format("<text x=\"0\" y=\"{}\">{}</text>", row * kBarStep + 18, HtmlEscaped(Shortened(text, kRoom)));
}

// One bar per scenario, divided by category and contingency, all on one scale.
std::string Stacks(const TcoAnswer& answer) {
  double most = 1;
  for (const TcoScenario& s : answer.scenarios) most = std::max(most, static_cast<double>(s.cost.total.nano()));
  std::string shapes;
  for (std::size_t row = 0; row < answer.scenarios.size(); ++row) {
    const TcoScenario& s = answer.scenarios[row];
    shapes += RowLabel(s.plan.name, row);
    double x = kLabelWidth;
    for (std::size_t c = 0; c <= kCostCategoryCount; ++c) {
      const bool extra = c == kCostCategoryCount;
      const Money amount = extra ? s.cost.contingency : s.cost.categories[c];
      const double width = (kChartWidth - kLabelWidth) * static_cast<double>(amount.nano()) / most;
      const std::string name(extra ? "contingency" : kCostCategoryNames[c]);
      if (amount.nano() > 0) {
        shapes += Rectangle(x, static_cast<int>(row) * kBarStep, width, kFills[c],
                            name + ": " + TcoPaid(amount, s.plan.currency));
      }
      x += std::max(width, 0.0);
    }
  }
  std::string key = "<ul class=\"key\">";
  for (std::size_t c = 0; c <= kCostCategoryCount; ++c) {
    key += fmt::format(
        "<li><svg class=\"swatch\" aria-hidden=\"true\"><rect width=\"100%\" height=\"100%\" "
        "fill=\"{}\"/></svg>{}</li>",
        kFills[c], c == kCostCategoryCount ? "contingency" : kCostCategoryNames[c]);
  }
  return Chart("Where the money goes", answer.scenarios.size(), shapes) + key + "</ul>\n";
}

// One bar per figure, from the total at its low end to the total at its high end, largest first. At most ten: the
// others change little.
std::string Tornado(const TcoScenario& s) {
  constexpr std::size_t kMost = 10;
  const std::size_t bars = std::min(s.tornado.size(), kMost);
  if (bars == 0) return {};
  auto low = static_cast<double>(s.cost.total.nano());
  double high = low;
  for (const TornadoBar& bar : s.tornado) {
    low = std::min({low, static_cast<double>(bar.low.nano()), static_cast<double>(bar.high.nano())});
    high = std::max({high, static_cast<double>(bar.low.nano()), static_cast<double>(bar.high.nano())});
  }
  const auto place = [&](Money m) {
    return kLabelWidth +
           (kChartWidth - kLabelWidth) * (static_cast<double>(m.nano()) - low) / std::max(high - low, 1.0);
  };
  std::string shapes;
  for (std::size_t row = 0; row < bars; ++row) {
    const TornadoBar& bar = s.tornado[row];
    const double from = std::min(place(bar.low), place(bar.high));
    shapes += RowLabel(bar.figure, row);
    shapes += Rectangle(
        from, static_cast<int>(row) * kBarStep, std::max(place(bar.low), place(bar.high)) - from, kFills[1],
        bar.figure + ": " + TcoAmount(bar.low, s.plan.currency) + " to " + TcoPaid(bar.high, s.plan.currency));
  }
  return Chart("What matters: the total of " + s.plan.name + " from the low to the high end of each figure", bars,
               shapes);
}

// Two bars per month: the plan, and what was paid or is expected.
std::string MonthBars(const ActualReport& report, const std::string& currency) {
  double most = 1;
  for (const MonthForecast& month : report.forecast) {
    most = std::max({most, static_cast<double>(month.plan.nano()), static_cast<double>(month.expected.nano())});
  }
  std::string shapes;
  std::size_t row = 0;
  for (const MonthForecast& month : report.forecast) {
    const auto bar = [&](std::string_view what, Money amount, std::string_view fill) {
      const std::string label = month.month + " " + std::string(what);
      shapes += RowLabel(label, row);
      shapes += Rectangle(kLabelWidth, static_cast<int>(row) * kBarStep,
                          (kChartWidth - kLabelWidth) * static_cast<double>(amount.nano()) / most, fill,
                          label + ": " + TcoPaid(amount, currency));
      ++row;
    };
    bar("plan", month.plan, kFills[2]);
    bar(month.actual ? "actual" : "forecast", month.actual.value_or(month.expected),
        month.actual ? kFills[0] : kFills[8]);
  }
  return Chart("Plan and actual, month by month", row, shapes);
}

// The price of a delivered GPU-hour on own hardware as a curve over its use, and rented prices as lines. Where they
// cross owning starts to pay.
std::string OwnCurve(const OwnOffer& offer, const std::string& currency) {
  constexpr double kHeight = 300;
  constexpr double kFoot = 24;
  // The curve goes to infinity at low use. The picture ends at twice the price at full use, or above the dearest
  // cloud.
  double most = 2 * PerDeliveredHour(offer, Fraction::Of(1, 1)).AsDouble();
  for (const Fraction& cloud : offer.cloud) most = std::max(most, 1.15 * cloud.AsDouble());
  const auto x = [&](int percent) { return kLabelWidth + (kChartWidth - kLabelWidth) * percent / 100; };
  const auto y = [&](double price) { return (kHeight - kFoot) * (1 - std::min(price / std::max(most, 1e-9), 1.0)); };
  std::string points;
  for (int percent = 2; percent <= 100; percent += 2) {
    const double price = PerDeliveredHour(offer, Fraction::Of(percent, 100)).AsDouble();
    points += fmt::format("{:.1f},{:.1f} ", x(percent), y(price));
  }
  std::string shapes =
      fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2.5"><title>owned</title></polyline>)",
                  points, kFills[1]);
  for (const Fraction& cloud : offer.cloud) {
    const Fraction mean = MeanPrice(offer, cloud);
    const double at = y(mean.AsDouble());
    shapes += fmt::format(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="{}" stroke-dasharray="6 4"/>)",
                          kLabelWidth, at, kChartWidth, at, kFills[7]);
    shapes += fmt::format(R"(<text x="0" y="{:.1f}">rented at {}</text>)", at + 4, HtmlEscaped(TcoDecimal(mean, 2)));
  }
  for (int percent = 20; percent <= 100; percent += 20) {
    shapes += fmt::format(R"(<text x="{:.0f}" y="{}" text-anchor="end">{} %</text>)", x(percent), kHeight - 4, percent);
  }
  return Figure(currency + " a GPU-hour, owned (curve) and rented, by the share of GPU-hours that jobs get", kHeight,
                shapes);
}

// The chart that belongs to a table. Empty if the table has none.
std::string ChartOf(const TcoAnswer& answer, std::string_view title) {
  const std::string& currency = answer.scenarios.front().plan.currency;
  if (title == kTcoCosts) return Stacks(answer);
  if (title == kTcoMonths) return MonthBars(*answer.actuals, currency);
  if (title == kTcoOwn) return OwnCurve(*answer.own, currency);
  std::string charts;
  for (const TcoScenario& s : answer.scenarios) {
    if (title == TcoTornadoTable(s).title) charts += Tornado(s);
  }
  return charts;
}

}  // namespace

std::string TcoHtml(const TcoAnswer& answer) {
  const ReportPage page = TcoPage(answer);
  std::string html(embedded::kHeadHtml);
  html += "<title>" + HtmlEscaped(page.heading) + "</title>\n<style>";
  html.append(embedded::kReportCss).append("</style>\n</head>\n<body>\n<header>\n<p class=\"eyebrow\">");
  html += HtmlEscaped(page.title) + "</p>\n<h1>" + HtmlEscaped(page.verdict) + "</h1>\n</header>\n<main>\n";
  AppendHtmlSection("Why", page.why, &html);
  AppendHtmlSection("Next", page.next, &html);
  for (const ReportTable& table : page.tables) {
    html += ChartOf(answer, table.title);
    AppendHtmlTable(table, &html);
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace idleburn
