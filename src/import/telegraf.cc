#include "import/telegraf.h"

#include <algorithm>
#include <string>

#include "import/metric_table.h"
#include "import/reading_writer.h"
#include "import/stamp.h"
#include "text/escape.h"
#include "text/line_reader.h"
#include "text/metric_line.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr std::string_view kMeasurement = "nvidia_smi";

// Fields by the plugin's README: numbers of nvidia-smi -q -x, whose MiB and percents they keep.
struct TelegrafField {
  std::string_view name;
  Signal signal;
  Scale scale;
};
constexpr TelegrafField kFields[] = {
    {"utilization_gpu", Signal::kUtilization, Scale::kPercentage},
    {"utilization_memory", Signal::kMemoryUtilization, Scale::kPercentage},
    {"utilization_encoder", Signal::kEncoderUtilization, Scale::kPercentage},
    {"utilization_decoder", Signal::kDecoderUtilization, Scale::kPercentage},
    {"memory_used", Signal::kMemoryUsed, Scale::kMebibyte},
    {"memory_total", Signal::kMemoryTotal, Scale::kMebibyte},
    {"power_draw", Signal::kPower, Scale::kWatt},
    {"power_limit", Signal::kPowerLimit, Scale::kWatt},
    {"temperature_gpu", Signal::kTemperature, Scale::kCelsius},
    {"clocks_current_sm", Signal::kSmClock, Scale::kMegahertz},
};

// Outputs write nanoseconds unless told otherwise; the unit is the one that puts the stamp between 1973 and 2096.
std::optional<Instant> StampOf(std::string_view text) {
  constexpr std::int64_t kEarliest = 100'000'000 * kNanosPerSecond;
  constexpr std::int64_t kLatest = 4'000'000'000 * kNanosPerSecond;
  std::int64_t time = ParseInteger(text).value_or(0);
  if (time <= 0) return std::nullopt;
  for (int thousands = 0; time < kEarliest && thousands < 3; ++thousands) {
    if (__builtin_mul_overflow(time, std::int64_t{1000}, &time)) return std::nullopt;
  }
  return time >= kEarliest && time <= kLatest ? std::optional(Instant::FromNanos(time)) : std::nullopt;
}

class TelegrafImport {
 public:
  TelegrafImport(ByteSource& in, ImportTarget& out) : lines_(in), out_(out), writer_(out) {}

  Result<void> Run() {
    std::string_view text;
    while (true) {
      const bool more = TRY(lines_.Next(&text));
      if (!more) break;
      TRY(ReadLine(Trim(text)));
    }
    if (any_) return {};
    return Fail(lines_.name() + ": no line of the measurement nvidia_smi has a field that is known; record " +
                "[[inputs.nvidia_smi]] of Telegraf");
  }

 private:
  [[nodiscard]] Place Here() const { return {&lines_.name(), lines_.number()}; }

  Result<void> ReadLine(std::string_view text) {
    if (text.empty() || text.front() == '#') return {};
    // Of a line that is cut off, the last number may lack digits, be it the stamp's.
    if (!ParseInfluxLine(text, &line_) || !lines_.terminated()) {
      out_.quality.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, Here());
      return {};
    }
    if (line_.measurement != kMeasurement) {
      out_.quality.CountNamed(QualityId::kUnknownMetric, Printable(line_.measurement), Here());
      return {};
    }
    if (line_.stamp.empty()) {
      return Fail(lines_.Where() + ": a line has no time; let Telegraf's file output write data_format = \"influx\"");
    }
    const std::optional<Instant> time = StampOf(line_.stamp);
    if (!time) {
      out_.quality.Count(QualityId::kBadRow, Here());
      return {};
    }
    const DeviceKey key = Identify(line_.tags, false).device;
    if (key.uuid.empty() && !key.index) {
      return Fail(lines_.Where() + ": a line names no GPU, so several may be mixed; keep the tags index and uuid");
    }
    Put(*time, EnterDevice(key, out_, Here()));
    return {};
  }

  void Put(Instant time, DeviceId device) {
    for (const auto& [name, value] : line_.fields) {
      const std::string& wanted = name;
      const auto* const field = std::find_if(std::begin(kFields), std::end(kFields),
                                             [&wanted](const TelegrafField& f) { return f.name == wanted; });
      if (field == std::end(kFields)) {
        out_.quality.CountNamed(QualityId::kUnknownColumn, Printable(name), Here());
        continue;
      }
      any_ = true;
      writer_.Use(device, field->signal, "telegraf." + name);
      writer_.Put(time, device, field->signal, ReadScaled(value, field->scale), Here());
    }
  }

  LineReader lines_;
  ImportTarget& out_;
  ReadingWriter writer_;
  InfluxLine line_;
  bool any_ = false;
};

}  // namespace

bool SniffTelegraf(std::string_view head) {
  constexpr int kLines = 4;
  InfluxLine line;
  int whole = 0;
  while (!head.empty() && whole < kLines) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view text = Trim(head.substr(0, end));
    if (end == head.size() && whole > 0) break;  // cut off by the size of the head
    head.remove_prefix(std::min(end + 1, head.size()));
    if (text.empty() || text.front() == '#') continue;
    if (!ParseInfluxLine(text, &line)) return false;
    ++whole;
  }
  return whole > 0;
}

Result<void> ImportTelegraf(ByteSource& in, const ImportOptions& /*options*/, ImportTarget& out) {
  return TelegrafImport(in, out).Run();
}

}  // namespace idleburn
