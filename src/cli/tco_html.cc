#include <fmt/format.h>

#include <algorithm>

#include "cli/tco_output.h"
#include "report/embedded.h"
#include "text/escape.h"

namespace idleburn {
namespace {

constexpr double kChartWidth = 900;
constexpr int kBarHeight = 26;
constexpr int kBarStep = 34;
constexpr int kLabelWidth = 220;
// Told apart by lightness too, for those who do not see colours.
constexpr std::array<std::string_view, kCostCategoryCount + 1> kFills = {
    "#1b4f72", "#2e86c1", "#85c1e9", "#117a65", "#73c6b6", "#7d6608", "#f1c40f", "#922b21", "#aab7b8"};

std::string H(std::string_view text) { return HtmlEscaped(text); }

std::string Lines(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  std::string html = "<section>\n<h2>" + H(title) + "</h2>\n<ul class=\"facts\">\n";
  for (const std::string& line : lines) html += "<li>" + H(line) + "</li>\n";
  return html + "</ul>\n</section>\n";
}

std::string Grid(const TcoAnswer& answer) {
  std::string html = "<section>\n<h2>Costs</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Cost</th>";
  for (const std::string& header : TcoColumns(answer)) html += "<th scope=\"col\" class=\"num\">" + H(header) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const TcoRow& row : TcoRows(answer)) {
    html += row.part ? "<tr class=\"part\">" : row.label == "total" ? "<tr class=\"total\">" : "<tr>";
    html += "<td>" + H(row.label) + "</td>";
    for (const std::string& cell : row.cells) html += "<td class=\"num\">" + H(cell) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n</section>\n";
}

std::string Rectangle(double x, int y, double width, std::string_view fill, const std::string& title) {
  return fmt::format(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="{}"><title>{}</title></rect>)", x, y,
                     std::max(width, 0.0), kBarHeight, fill, H(title));
}

std::string Chart(std::string_view title, std::size_t bars, const std::string& shapes) {
  return fmt::format(
      "<section>\n<h2>{}</h2>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "font-size=\"13\" fill=\"currentColor\">{}</svg>\n</section>\n",
      H(title), kChartWidth, bars * kBarStep, H(title), shapes);
}

std::string Label(std::string_view text, std::size_t row) {
  return fmt::format("<text x=\"0\" y=\"{}\">{}</text>", row * kBarStep + 18, H(text));
}

// A bar a scenario, cut by category and contingency.
std::string Stacks(const TcoAnswer& answer) {
  double most = 1;
  for (const TcoScenario& s : answer.scenarios) most = std::max(most, static_cast<double>(s.cost.total.nano()));
  std::string shapes;
  for (std::size_t row = 0; row < answer.scenarios.size(); ++row) {
    const TcoScenario& s = answer.scenarios[row];
    shapes += Label(s.plan.name, row);
    double x = kLabelWidth;
    for (std::size_t c = 0; c <= kCostCategoryCount; ++c) {
      const bool extra = c == kCostCategoryCount;
      const Money amount = extra ? s.cost.contingency : s.cost.categories[c];
      const double width = (kChartWidth - kLabelWidth) * static_cast<double>(amount.nano()) / most;
      const std::string name(extra ? "contingency" : kCostCategoryNames[c]);
      if (amount.nano() > 0) {
        shapes +=
            Rectangle(x, static_cast<int>(row) * kBarStep, width, kFills[c],
                      name + ": " + FormatGrouped(amount, MinorUnitDigits(s.plan.currency)) + " " + s.plan.currency);
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

// A bar a figure, from the total at its low end to that at its high end.
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
    const int digits = MinorUnitDigits(s.plan.currency);
    const double from = std::min(place(bar.low), place(bar.high));
    shapes += Label(bar.figure, row);
    shapes +=
        Rectangle(from, static_cast<int>(row) * kBarStep, std::max(place(bar.low), place(bar.high)) - from, kFills[1],
                  bar.figure + ": " + FormatGrouped(bar.low, digits) + " to " + FormatGrouped(bar.high, digits) + " " +
                      s.plan.currency);
  }
  return Chart("What matters: the total of " + s.plan.name + " from the low to the high end of each figure", bars,
               shapes);
}

// Two bars a month: what was planned, and what was paid.
std::string MonthBars(const ActualReport& report, const std::string& currency) {
  std::vector<std::pair<std::string, std::array<Money, 2>>> months;
  double most = 1;
  for (const MonthVariance& cell : report.months) {
    if (months.empty() || months.back().first != cell.month) months.push_back({cell.month, {}});
    std::array<Money, 2>& sums = months.back().second;
    sums = {Money::Nano(sums[0].nano() + cell.plan.nano()), Money::Nano(sums[1].nano() + cell.actual.nano())};
  }
  for (const auto& [month, sums] : months) {
    for (const Money sum : sums) most = std::max(most, static_cast<double>(sum.nano()));
  }
  constexpr std::array<std::string_view, 2> kWhat = {"plan", "actual"};
  std::string shapes;
  std::size_t row = 0;
  for (const auto& [month, sums] : months) {
    for (std::size_t i = 0; i < sums.size(); ++i, ++row) {
      const std::string label = month + " " + std::string(kWhat[i]);
      shapes += Label(label, row);
      shapes += Rectangle(kLabelWidth, static_cast<int>(row) * kBarStep,
                          (kChartWidth - kLabelWidth) * static_cast<double>(sums[i].nano()) / most, kFills[2 - 2 * i],
                          label + ": " + FormatGrouped(sums[i], MinorUnitDigits(currency)) + " " + currency);
    }
  }
  return Chart("Plan and actual, month by month", row, shapes);
}

std::string MonthGrid(const ActualReport& report, const std::string& currency) {
  std::string html = "<section>\n<h2>Actual and plan</h2>\n<div class=\"scroll\"><table>\n<thead><tr>";
  const auto cells = [&](const std::vector<std::string>& texts, std::string_view tag, std::string_view more) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      html += fmt::format("<{}{}{}>{}</{}>", tag, more, i < 2 ? "" : " class=\"num\"", H(texts[i]), tag);
    }
  };
  cells(TcoMonthHeaders(currency), "th", " scope=\"col\"");
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : TcoMonthRows(report, currency)) {
    html += "<tr>";
    cells(row, "td", "");
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n</section>\n";
}

}  // namespace

std::string TcoHtml(const TcoAnswer& answer) {
  const std::string& currency = answer.scenarios.front().plan.currency;
  std::string html(embedded::kHeadHtml);
  html += "<title>Total cost of ownership</title>\n<style>";
  html.append(embedded::kReportCss).append("</style>\n</head>\n<body>\n<header>\n");
  html +=
      "<p class=\"eyebrow\">Total cost of ownership</p>\n<h1>" + H(TcoVerdict(answer)) + "</h1>\n</header>\n<main>\n";
  html += Lines("Warnings", answer.warnings);
  html += Stacks(answer);
  html += Grid(answer);
  for (const TcoScenario& s : answer.scenarios) {
    html += Lines("Top levers of " + s.plan.name + ", each alone: they do not add up", TcoLeverLines(s));
    html += Tornado(s);
    html += Lines("How sure: " + s.plan.name, TcoUncertaintyLines(s));
    html += Lines("What a unit costs: " + s.plan.name, TcoUnitLines(s));
  }
  if (answer.own) html += Lines("Buy or rent", TcoOwnLines(*answer.own, currency));
  if (answer.actuals) {
    html += MonthBars(*answer.actuals, currency);
    html += MonthGrid(*answer.actuals, currency);
    html += Lines("So far", TcoActualLines(*answer.actuals, currency));
  }
  html += Lines("How these figures were made", TcoBasisLines(answer));
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace idleburn
