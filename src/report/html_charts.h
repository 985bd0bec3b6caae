#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Charts of HTML reports: still pictures in SVG, as wide as the page. They need no script, and a pointer or a screen
// reader gets the exact amount of each bar from its title.
namespace idleburn {

// One horizontal bar of parts, from left to right.
struct ReportBar {
  struct Part {
    double size = 0;        // in the unit of the chart; a negative one is drawn as 0
    std::string_view fill;  // a class of web/report.css: "fill-idle"
    std::string title;      // what the part is and how much, unescaped
  };
  std::string label;  // unescaped; long ones are shortened
  std::vector<Part> parts;
};

// Values over time. Line i has the class "line-i" of web/report.css, which has kLineLooks of them.
struct ReportLine {
  std::string label;  // unescaped
  std::vector<std::pair<double, double>> points;
};
inline constexpr std::size_t kLineLooks = 8;

// Bars on one scale, which makes their lengths comparable, and what the fills mean. Or lines on one scale from 0, or
// from the lowest value if that is below 0.
struct ReportChart {
  std::vector<ReportBar> bars;
  std::vector<std::pair<std::string_view, std::string>> key;  // fill, meaning
  std::vector<ReportLine> lines = {};
  std::string peak = {};                          // text of the highest value, at its height
  std::pair<std::string, std::string> ends = {};  // texts under the first and the last moment
};

// Sizes in SVG units. A chart scales to the width of the page. Bars have room for one line of text.
inline constexpr double kChartWidth = 900;
inline constexpr int kChartRow = 34;
inline constexpr int kChartLabels = 220;  // where bars begin

// A bar in a row. `paint` is an attribute: class="fill-idle", or fill="#1b4f72".
std::string ChartBar(double x, std::size_t row, double width, std::string_view paint, const std::string& title);
// The name of a row, shortened to the room beside the bars. SVG text does not wrap.
std::string ChartLabel(std::string_view text, std::size_t row);
// A picture of that height. The title is for a screen reader.
std::string ChartPicture(std::string_view title, double height, const std::string& shapes);
// One entry of a key.
std::string ChartKey(std::string_view paint, std::string_view meaning);
// The picture of a whole chart and its key; nothing without bars or lines.
std::string ChartHtml(std::string_view title, const ReportChart& chart);

}  // namespace idleburn
