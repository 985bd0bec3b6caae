#include "bill/hourly_use.h"

#include <map>
#include <memory>
#include <optional>

#include "audit/join_inputs.h"
#include "audit/run_inputs.h"
#include "classify/run_classifier.h"

namespace idleburn {
namespace {

constexpr std::int64_t kSecondsOfHour = 3600;

// Classifies samples hour by hour. Samples of one device come in order, so an hour ends when the next begins. A reading
// holds until the next one, across the edge of an hour too: at the edge it is given to both hours again. It holds no
// longer than in an audit.
class HourlySink final : public SampleSink {
 public:
  HourlySink(const Thresholds& thresholds, const DeviceTable& devices, const HourlyUse& out)
      : thresholds_(thresholds), devices_(devices), out_(out) {}

  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& sample : samples) {
      const std::int64_t second = FloorSecond(sample.time.nanos());
      const std::int64_t hour = second - ((second % kSecondsOfHour) + kSecondsOfHour) % kSecondsOfHour;
      if (hour_ && hour < *hour_) continue;  // a clock that went back
      if (!hour_ || hour > *hour_) {
        EndHour(thresholds_.max_gap_tenths);
        BeginHour(hour);
      }
      Take(sample);
    }
  }
  // The last reading holds for one period more.
  void End() { EndHour(10); }

 private:
  // The newest reading of a device.
  struct LastReading {
    Sample sample;
    std::int64_t interval = 0;  // to the one before; 0: there is none
  };

  [[nodiscard]] bool Holds(const LastReading& last, Instant until, std::int64_t tenths) const {
    const std::int64_t silent = (until - last.sample.time).count();
    if (thresholds_.max_gap) return silent <= thresholds_.max_gap->count();
    return last.interval > 0 && silent <= last.interval / 10 * tenths;
  }
  void Push(Sample sample, Instant time) {
    sample.time = time;
    classifier_->OnSamples(std::span(&sample, 1));
  }
  void Take(const Sample& sample) {
    const auto found = last_.find(sample.device);
    if (found != last_.end()) {
      LastReading& last = found->second;
      const bool crosses = last.sample.time < *window_.start && sample.time > *window_.start;
      if (crosses && Holds(last, sample.time, thresholds_.max_gap_tenths)) Push(last.sample, *window_.start);
      const std::int64_t interval = (sample.time - last.sample.time).count();
      if (interval > 0) last.interval = interval;
      last.sample = sample;
    } else {
      last_[sample.device].sample = sample;
    }
    classifier_->OnSamples(std::span(&sample, 1));
  }
  void BeginHour(std::int64_t hour) {
    hour_ = hour;
    window_.start = Instant::FromNanos(hour * kNanosPerSecond);
    window_.end = *window_.start + Nanos(kNanosPerHour);
    window_.named = true;
    classifier_ = std::make_unique<RunClassifier>(thresholds_, devices_, quality_, FactsOf, &window_);
  }
  void EndHour(std::int64_t tenths) {
    if (!hour_) return;
    for (const auto& [device, last] : last_) {
      if (last.sample.time >= *window_.start && Holds(last, *window_.end, tenths)) Push(last.sample, *window_.end);
    }
    const RunResult result = classifier_->Finish();
    for (const DeviceResult& device : result.devices) out_.take(device.device, *hour_, device.totals);
    hour_.reset();
  }

  const Thresholds& thresholds_;
  const DeviceTable& devices_;
  const HourlyUse& out_;
  DataQuality quality_;
  RunWindow window_;
  std::optional<std::int64_t> hour_;
  std::map<DeviceId, LastReading> last_;
  std::unique_ptr<RunClassifier> classifier_;
};

}  // namespace

Result<void> ReadByHour(const std::vector<std::string>& inputs, const ImportOptions& options,
                        const Thresholds& thresholds, const HourlyUse& use) {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  InputJoin join(devices, quality, owners);
  if (inputs.size() > 1) {
    const RecordedHosts machines = TRY(LookAtRecordings(inputs, options, nullptr));
    TRY(join.TellMachines(machines));
  }
  for (const std::string& path : inputs) {
    KnownInput input = TRY(OpenKnownInput(path, options));
    if (input.importer == nullptr) return Fail(path + ": is a profiler's file; --telemetry needs readings over time");
    TRY(join.Read(input, options));
  }
  TRY(use.begin(devices, owners));
  HourlySink sink(thresholds, devices, use);
  TRY(join.Deliver(sink, nullptr));
  sink.End();
  return {};
}

}  // namespace idleburn
