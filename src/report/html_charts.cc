#include "report/html_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/strings.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr int kBarHeight = 26;
constexpr double kLinesTop = 20;  // room for the text of the peak
constexpr double kLinesHeight = 140;
constexpr double kLinesBottom = 22;  // room for the texts of the ends

// Lines over time, their key, and an axis that is its two ends.
std::string LinesHtml(std::string_view title, const ReportChart& chart) {
  double first = 0;
  double last = 0;
  double low = 0;
  double high = 0;
  bool any = false;
  for (const ReportLine& line : chart.lines) {
    for (const auto& [at, value] : line.points) {
      first = any ? std::min(first, at) : at;
      last = any ? std::max(last, at) : at;
      low = std::min(low, value);
      high = std::max(high, value);
      any = true;
    }
  }
  const double wide = last > first ? kChartWidth / (last - first) : 0;
  const double tall = high > low ? kLinesHeight / (high - low) : 0;
  const double floor = kLinesTop + kLinesHeight;
  std::string shapes;
  std::string key;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    std::string points;
    for (const auto& [at, value] : chart.lines[i].points) {
      points +=
          fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", (at - first) * wide, floor - (value - low) * tall);
    }
    const std::string paint = fmt::format("class=\"line line-{}\"", i % kLineLooks);
    shapes += fmt::format("<polyline points=\"{}\" {}><title>{}</title></polyline>", points, paint,
                          HtmlEscaped(chart.lines[i].label));
    key += ChartKey(fmt::format("class=\"mark-{}\"", i % kLineLooks), chart.lines[i].label);
  }
  shapes += fmt::format("<text x=\"0\" y=\"14\">{}</text>", HtmlEscaped(chart.peak));
  shapes += fmt::format("<text x=\"0\" y=\"{0}\">{1}</text><text x=\"{2}\" y=\"{0}\" text-anchor=\"end\">{3}</text>",
                        floor + 18, HtmlEscaped(chart.ends.first), kChartWidth, HtmlEscaped(chart.ends.second));
  return ChartPicture(title, floor + kLinesBottom, shapes) + "<ul class=\"key\">" + key + "</ul>\n";
}

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
  if (!chart.lines.empty()) return LinesHtml(title, chart);
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
