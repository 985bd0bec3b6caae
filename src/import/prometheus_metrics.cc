#include "import/prometheus_metrics.h"

#include "import/prometheus_samples.h"
#include "text/line_reader.h"
#include "text/metric_line.h"
#include "text/number.h"

namespace idleburn {

bool SniffPrometheus(std::string_view head) {
  using Kind = PrometheusLine::Kind;
  constexpr int kLines = 8;
  bool sure = false;
  for (int i = 0; i < kLines && !head.empty(); ++i) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && i > 0) break;  // cut off by the size of the head
    const PrometheusLine line = ParsePrometheusLine(Trim(head.substr(0, end)));
    if (line.kind == Kind::kBad) return false;
    sure = sure || line.kind == Kind::kSample || line.kind == Kind::kType || line.kind == Kind::kEof;
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  }
  return sure;
}

Result<void> ImportPrometheus(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  LineReader lines(in);
  PrometheusSamples samples(in.name(), options, out, false);
  std::string_view text;
  while (true) {
    const bool more = TRY(lines.Next(&text));
    if (!more) return samples.Finish();
    samples.OnLine(text, lines.number(), lines.terminated());
  }
}

}  // namespace idleburn
