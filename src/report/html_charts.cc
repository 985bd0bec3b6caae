#include "report/html_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/strings.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr int kBarHeight = 26;

}  // namespace

std::string ChartBar(double x, std::size_t row, double width, std::string_view paint, const std::string& title) {
  return fmt::format(R"(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" {}><title>{}</title></rect>)", x,
                     static_cast<int>(row) * kChartRow, std::max(width, 0.0), kBarHeight, paint, HtmlEscaped(title));
}

std::string ChartLabel(std::string_view text, std::size_t row) {
  constexpr int kRoom = 30;  // characters
  return fmt::format("<text x=\"0\" y=\"{}\">{}</text>", row * kChartRow + 18, HtmlEscaped(Shortened(text, kRoom)));
}

std::string ChartPicture(std::string_view title, double height, const std::string& shapes) {
  return fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" font-size=\"13\" fill=\"currentColor\">{}</svg>\n",
      kChartWidth, height, HtmlEscaped(title), shapes);
}

std::string ChartKey(std::string_view paint, std::string_view meaning) {
  return fmt::format(
      "<li><svg class=\"swatch\" aria-hidden=\"true\"><rect width=\"100%\" height=\"100%\" {}/></svg>{}</li>", paint,
      HtmlEscaped(meaning));
}

std::string ChartHtml(std::string_view title, const ReportChart& chart) {
  if (chart.bars.empty()) return {};
  double most = 0;
  for (const ReportBar& bar : chart.bars) {
    double sum = 0;
    for (const ReportBar::Part& part : bar.parts) sum += std::max(part.size, 0.0);
    most = std::max(most, sum);
  }
  const double scale = most > 0 ? (kChartWidth - kChartLabels) / most : 0;
  std::string shapes;
  for (std::size_t row = 0; row < chart.bars.size(); ++row) {
    shapes += ChartLabel(chart.bars[row].label, row);
    double x = kChartLabels;
    for (const ReportBar::Part& part : chart.bars[row].parts) {
      const double width = std::max(part.size, 0.0) * scale;
      if (width > 0) shapes += ChartBar(x, row, width, fmt::format("class=\"{}\"", part.fill), part.title);
      x += width;
    }
  }
  std::string html = ChartPicture(title, static_cast<double>(chart.bars.size()) * kChartRow, shapes);
  if (chart.key.empty()) return html;
  html += "<ul class=\"key\">";
  for (const auto& [fill, meaning] : chart.key) html += ChartKey(fmt::format("class=\"{}\"", fill), meaning);
  return html + "</ul>\n";
}

}  // namespace idleburn
