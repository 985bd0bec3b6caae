#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/host_watch.h"
#include "import/json_input.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/printed_values.h"
#include "text/line_reader.h"
#include "text/metric_line.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Logs that agents write on each host, a reading or a GPU per line: JSON lines of a sampling agent, and Telegraf's line
// protocol.

namespace {

// A field of a log, the signal it tells and its unit.
struct Field {
  std::string_view key;
  Signal signal;
  Scale scale;
};
constexpr Field kAgentFields[] = {
    {"util_pct", Signal::kUtilization, Scale::kPercentage},
    {"memory_util_pct", Signal::kMemoryUtilization, Scale::kPercentage},
    {"gr_engine_active_pct", Signal::kGrEngineActive, Scale::kPercentage},
    {"sm_active_pct", Signal::kSmActive, Scale::kPercentage},
    {"tensor_active_pct", Signal::kTensorActive, Scale::kPercentage},
    {"dram_active_pct", Signal::kDramActive, Scale::kPercentage},
    {"encoder_util_pct", Signal::kEncoderUtilization, Scale::kPercentage},
    {"decoder_util_pct", Signal::kDecoderUtilization, Scale::kPercentage},
    {"power_w", Signal::kPower, Scale::kWatt},
    {"power_mw", Signal::kPower, Scale::kMilliwatt},
    {"power_limit_w", Signal::kPowerLimit, Scale::kWatt},
    {"power_default_limit_w", Signal::kPowerDefaultLimit, Scale::kWatt},
    {"energy_mj", Signal::kEnergy, Scale::kMillijoule},
    {"energy_j", Signal::kEnergy, Scale::kJoule},
    {"sm_clock_mhz", Signal::kSmClock, Scale::kMegahertz},
    {"max_sm_clock_mhz", Signal::kMaxSmClock, Scale::kMegahertz},
    {"memory_used_bytes", Signal::kMemoryUsed, Scale::kByte},
    {"memory_used_mib", Signal::kMemoryUsed, Scale::kMebibyte},
    {"memory_total_bytes", Signal::kMemoryTotal, Scale::kByte},
    {"memory_total_mib", Signal::kMemoryTotal, Scale::kMebibyte},
    {"temperature_c", Signal::kTemperature, Scale::kCelsius},
    {"event_reasons", Signal::kEventReasons, Scale::kMask},
    {"processes", Signal::kProcesses, Scale::kCount},
    {"pcie_rx_bytes_per_s", Signal::kPcieRx, Scale::kBytePerSecond},
    {"pcie_tx_bytes_per_s", Signal::kPcieTx, Scale::kBytePerSecond},
    {"nvlink_bytes_per_s", Signal::kNvlink, Scale::kBytePerSecond},
};
// Members of a line that are not readings: its clocks and its device.
constexpr std::string_view kKeysOfLine[] = {"mono_ns", "wall_ns",    "gpu_uuid", "gpu_index",
                                            "host",    "pci_bus_id", "gpu_name"};

// Clocks that differ by less have not been stepped.
constexpr std::int64_t kLeastClockStep = kNanosPerSecond;  // a smaller difference is drift

// Both clocks of one line.
struct Clocks {
  std::int64_t mono = 0;
  std::int64_t wall = 0;
};

// Relates a host's monotonic clock to the time line: the time of a line is first.wall + (mono - first.mono). A host
// has one anchor until it reboots.
struct Anchor {
  Clocks first;
  Clocks last;
  std::int64_t latest = 0;  // time of the host's latest line
};

// Reads agent JSON lines. A wall clock may be set while an agent runs, so times follow the monotonic clock, and the
// wall clock only says where its zero is. The interval in which the wall clock was set counts as no data, because a
// suspended machine looks the same.
class AgentImport {
 public:
  AgentImport(ByteSource& in, ImportTarget& out)
      : lines_(in), out_(out), writer_(out), hosts_(out.hosts != nullptr ? *out.hosts : own_hosts_) {}
  Result<void> Run();

 private:
  // A device's last line, to recognize a repeated line and a clock step.
  struct Previous {
    Clocks clocks;
    Sample sample;
  };

  [[nodiscard]] Place Here() const { return {&lines_.name(), lines_.number()}; }
  bool OnLine(const JsonNode& line);
  std::optional<Instant> PlaceInTime(const std::string& host, Clocks now);
  void OnSample(DeviceId device, Clocks now, Sample sample);
  void AddField(std::string_view key, const JsonNode& value, Sample* sample);

  LineReader lines_;
  ImportTarget& out_;
  ReadingWriter writer_;
  JsonParser parser_;
  std::map<std::string, Anchor> anchors_;  // by host
  std::map<DeviceId, Previous> previous_;
  HostWatch own_hosts_;
  HostWatch& hosts_;
  std::set<std::string> unknown_;
};

// Reads all lines. A last line without a newline that is not JSON was cut off; any other such line is bad.
Result<void> AgentImport::Run() {
  bool any = false;
  std::string_view text;
  while (true) {
    const bool more = TRY(lines_.Next(&text));
    if (!more) break;
    if (Trim(text).empty()) continue;
    const Result<JsonNode> line = parser_.Parse(text);
    const bool good = line && OnLine(*line);
    any = any || good;
    const bool torn = !line && !lines_.terminated();
    if (!good) out_.quality.Count(torn ? QualityId::kTornRow : QualityId::kBadRow, Here());
  }
  TRY(hosts_.Verdict(lines_.name(), out_.devices));
  if (any) return {};
  return Fail(lines_.name() + ": no line holds mono_ns, wall_ns and gpu_uuid or gpu_index; this is not an agent's log");
}

// Reads one line. False if it lacks a clock or a device. A line whose monotonic time the device already had is the
// same line again, as when two copies of a log were joined; it is counted and dropped, and so is one that lies in the
// past.
bool AgentImport::OnLine(const JsonNode& line) {
  const std::optional<std::int64_t> mono = ParseInteger(line.GetText("mono_ns"));
  const std::optional<std::int64_t> wall = ParseInteger(line.GetText("wall_ns"));
  DeviceKey key;
  key.uuid = line.GetText("gpu_uuid");
  key.bus_id = line.GetText("pci_bus_id");
  key.name = line.GetText("gpu_name");
  key.host = line.GetText("host");
  const std::optional<std::int64_t> index = ParseInteger(line.GetText("gpu_index"));
  if (index && *index >= 0 && *index <= 4096) key.index = static_cast<int>(*index);
  if (!mono || !wall || *mono < 0 || *wall < 0 || *mono > kLatestStampNs || *wall > kLatestStampNs) return false;
  if (key.uuid.empty() && key.bus_id.empty() && !key.index) return false;
  const std::string host = key.host;
  Sample sample;
  sample.device = EnterDevice(key, out_, Here());
  if (!host.empty() && !out_.devices[sample.device].uuid.empty()) {
    hosts_.Track(sample.device, host)->See(Instant::FromNanos(*wall));
  }
  for (const auto& [name, value] : line.Members()) AddField(name, value, &sample);
  const Clocks now{*mono, *wall};
  const auto known = previous_.find(sample.device);
  if (known != previous_.end() && now.mono == known->second.clocks.mono) {
    out_.quality.Count(QualityId::kDuplicateRow, Here());
    return true;
  }
  const std::optional<Instant> time = PlaceInTime(host, now);
  if (!time || (known != previous_.end() && *time < known->second.sample.time)) {
    out_.quality.Count(QualityId::kOutOfOrder, Here());
    return true;
  }
  sample.time = *time;
  OnSample(sample.device, now, sample);
  return true;
}

// The time of a line of `host`. Absent if it would lie before 1970 or after 2096. Wrong if the first wall clock of
// the host was wrong: all its times are then shifted by the same amount, and durations stay right.
std::optional<Instant> AgentImport::PlaceInTime(const std::string& host, Clocks now) {
  const auto [found, first] = anchors_.emplace(host, Anchor{now, now, now.wall});
  Anchor& anchor = found->second;
  // How much further the wall clock went than the monotonic one since the last line.
  const std::int64_t drift = (now.wall - anchor.last.wall) - (now.mono - anchor.last.mono);
  const bool jumped = drift > kLeastClockStep || drift < -kLeastClockStep;
  if (jumped) out_.quality.Count(QualityId::kClockStep, Here());
  // The monotonic clock restarts at a boot. Only the wall clock tells how long the boot took.
  if (jumped && now.mono < anchor.last.mono) anchor.first = {now.mono, std::max(now.wall, anchor.latest + 1)};
  anchor.last = now;
  const std::int64_t time = anchor.first.wall + (now.mono - anchor.first.mono);
  if (time < 0 || time > kLatestStampNs) return std::nullopt;
  anchor.latest = std::max(anchor.latest, time);
  return Instant::FromNanos(time);
}

// Delivers a reading, after a mark if the clock was stepped since the device's last one.
void AgentImport::OnSample(DeviceId device, Clocks now, Sample sample) {
  const auto [found, first] = previous_.emplace(device, Previous{now, sample});
  Previous& before = found->second;
  if (!first) {
    const std::int64_t drift = (now.wall - before.clocks.wall) - (now.mono - before.clocks.mono);
    if (drift > kLeastClockStep || drift < -kLeastClockStep) {
      // Readings do not hold across a clock step.
      Sample mark;
      mark.time = before.sample.time + Nanos(1);
      mark.device = device;
      mark.unavailable = before.sample.present;
      mark.reason = UnobservedReason(QualityId::kClockStep);
      writer_.PutSample(mark);
    }
    before = {now, sample};
  }
  writer_.PutSample(sample);
}

// Reads one member of a line into the sample. Unknown members are counted once.
void AgentImport::AddField(std::string_view key, const JsonNode& value, Sample* sample) {
  for (const std::string_view known : kKeysOfLine) {
    if (key == known) return;
  }
  for (const Field& field : kAgentFields) {
    if (key != field.key) continue;
    const Reading reading = ReadScaled(value.Text(), field.scale);
    if (reading.doubt) {
      out_.quality.Count(*reading.doubt, Here());
      sample->SetUnavailable(field.signal, UnobservedReason(*reading.doubt));
    } else {
      sample->Set(field.signal, reading.value);
      writer_.Claim(sample->device, field.signal, field.key, "agent." + std::string(field.key));
    }
    return;
  }
  if (unknown_.size() < 1024 && unknown_.emplace(key).second) {
    out_.quality.CountNamed(QualityId::kUnknownColumn, key, Here());
  }
}

}  // namespace

// True if the first line is a JSON object with a monotonic clock, which no other format has.
bool SniffAgentJsonl(std::string_view head) {
  const std::string_view line = Trim(head.substr(0, head.find('\n')));
  return !line.empty() && line.front() == '{' && line.find("\"mono_ns\"") != std::string_view::npos;
}

Result<void> ImportAgentJsonl(ByteSource& in, const ImportOptions& /*options*/, ImportTarget& out) {
  return AgentImport(in, out).Run();
}

namespace {

constexpr std::string_view kMeasurement = "nvidia_smi";

// Fields of the plugin's README: numbers of nvidia-smi -q -x, still in MiB and percent.
constexpr Field kTelegrafFields[] = {
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

// Reads a stamp without knowing its unit. Telegraf's outputs write nanoseconds by default, but can be told otherwise.
// The unit is the one that puts the stamp between 1973 and 2096. For example, 1757000000000 is in milliseconds.
// Absent if no unit fits.
std::optional<Instant> ReadUnitlessStamp(std::string_view text) {
  constexpr std::int64_t kEarliest = 100'000'000 * kNanosPerSecond;
  std::int64_t time = ParseInteger(text).value_or(0);
  if (time <= 0) return std::nullopt;
  for (int thousands = 0; time < kEarliest && thousands < 3; ++thousands) {
    if (__builtin_mul_overflow(time, std::int64_t{1000}, &time)) return std::nullopt;
  }
  return time >= kEarliest && time <= kLatestStampNs ? std::optional(Instant::FromNanos(time)) : std::nullopt;
}

// Reads InfluxDB line protocol. A line without a time or without a GPU fails the import instead of being counted,
// because the configuration that wrote the file is at fault, and every line will lack it.
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
    // In a line that is cut off, the last number may lack digits, and it may be the stamp.
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
    const std::optional<Instant> time = ReadUnitlessStamp(line_.stamp);
    if (!time) {
      out_.quality.Count(QualityId::kBadRow, Here());
      return {};
    }
    // The tags of a line name its GPU like the labels of a metric.
    const DeviceKey key = Identify(line_.tags, false).device;
    if (key.uuid.empty() && !key.index) {
      return Fail(lines_.Where() + ": a line names no GPU, so several may be mixed; keep the tags index and uuid");
    }
    Put(*time, EnterDevice(key, out_, Here()));
    return {};
  }

  // Delivers the known fields of the current line, one sample each.
  void Put(Instant time, DeviceId device) {
    for (const auto& [name, value] : line_.fields) {
      const std::string& wanted = name;
      const auto* const field = std::find_if(std::begin(kTelegrafFields), std::end(kTelegrafFields),
                                             [&wanted](const Field& f) { return f.key == wanted; });
      if (field == std::end(kTelegrafFields)) {
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

// True if the first lines parse as line protocol. Up to four are tried, because a single line of another format may
// parse by chance. The last line of the head may be cut off, so it only counts if it is the first.
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
