#include "expose/exposition.h"

#include <charconv>
#include <string_view>

#include "text/strings.h"

namespace idleburn {
namespace {

void AppendNumber(std::int64_t number, std::string* out) {
  char digits[20];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
  out->append(digits, end.ptr);
}

// Writes mantissa x 10^-decimals without trailing zeros: {12340, 3} is "12.34".
void AppendValue(MetricValue value, std::string* out) {
  std::int64_t power = 1;
  for (int i = 0; i < value.decimals; ++i) power *= 10;
  std::int64_t whole = value.mantissa / power;
  std::int64_t rest = value.mantissa % power;
  if (value.mantissa < 0) out->push_back('-');
  whole = whole < 0 ? -whole : whole;
  rest = rest < 0 ? -rest : rest;
  AppendNumber(whole, out);
  if (rest == 0) return;
  out->push_back('.');
  while (rest != 0) {
    power /= 10;
    out->push_back(static_cast<char>('0' + rest / power));
    rest %= power;
  }
}

// HELP escapes a backslash and a newline; OpenMetrics escapes a quote too, which Prometheus reads as it is.
void AppendHelp(std::string_view help, MetricFormat format, std::string* out) {
  for (const char c : help) {
    if (c == '\\')
      out->append("\\\\");
    else if (c == '\n')
      out->append("\\n");
    else if (c == '"' && format == MetricFormat::kOpenMetrics)
      out->append("\\\"");
    else
      out->push_back(c);
  }
}

std::string_view TypeName(MetricType type, MetricFormat format) {
  if (type == MetricType::kCounter) return "counter";
  if (type == MetricType::kInfo && format == MetricFormat::kOpenMetrics) return "info";
  return "gauge";
}

std::string_view Suffix(MetricType type) {
  return type == MetricType::kCounter ? "_total" : type == MetricType::kInfo ? "_info" : "";
}

void AppendLine(std::string_view name, std::string_view suffix, std::string_view labels, std::string* out) {
  out->append(name).append(suffix);
  if (!labels.empty()) out->append("{").append(labels).append("}");
  out->push_back(' ');
}

// In OpenMetrics a family has its own name; in Prometheus' format the name of its samples.
void AppendHead(const MetricFamily& family, MetricFormat format, std::string* out) {
  const bool open_metrics = format == MetricFormat::kOpenMetrics;
  std::string name = family.name;
  if (!open_metrics) name += Suffix(family.type);
  out->append("# TYPE ").append(name).append(" ").append(TypeName(family.type, format)).append("\n");
  if (open_metrics && !family.unit.empty())
    out->append("# UNIT ").append(name).append(" ").append(family.unit).append("\n");
  out->append("# HELP ").append(name).append(" ");
  AppendHelp(family.help, format, out);
  out->push_back('\n');
}

}  // namespace

std::string LabelText(const std::vector<MetricLabel>& labels) {
  std::string text;
  for (const MetricLabel& label : labels) {
    if (label.value.empty()) continue;
    if (!text.empty()) text.push_back(',');
    text.append(label.name).append("=\"");
    for (const char c : Printable(label.value)) {
      if (c == '\\' || c == '"') text.push_back('\\');
      text.push_back(c);
    }
    text.push_back('"');
  }
  return text;
}

std::string MetricText(std::span<const MetricFamily> families, MetricFormat format, bool ledger_only) {
  std::string out;
  out.reserve(1 << 17);
  for (const MetricFamily& family : families) {
    if (ledger_only && !family.ledger) continue;
    AppendHead(family, format, &out);
    for (const MetricSample& sample : family.samples) {
      AppendLine(family.name, Suffix(family.type), sample.labels, &out);
      AppendValue(sample.value, &out);
      out.push_back('\n');
      if (format != MetricFormat::kOpenMetrics || family.type != MetricType::kCounter || !sample.created) continue;
      AppendLine(family.name, "_created", sample.labels, &out);
      AppendValue({sample.created->nanos() / 1'000'000, 3}, &out);
      out.push_back('\n');
    }
  }
  if (format == MetricFormat::kOpenMetrics) out.append("# EOF\n");
  return out;
}

}  // namespace idleburn
