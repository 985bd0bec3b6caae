#pragma once

#include <string_view>

// The front end of the HTML report, compiled in: see idleburn_embed in CMakeLists.txt.
namespace idleburn::embedded {

extern const std::string_view kHeadHtml;     // web/head.html: start of the page; nothing may be loaded from anywhere
extern const std::string_view kPatternsSvg;  // web/patterns.svg
extern const std::string_view kReportCss;    // web/report.css
extern const std::string_view kReportJs;     // web/report.js
extern const std::string_view kUplotCss;     // uPlot, MIT licence
extern const std::string_view kUplotJs;

}  // namespace idleburn::embedded
