#include "cli/join_inputs.h"

#include <algorithm>

#include "cli/input_keys.h"
#include "import/percent_guard.h"
#include "telemetry/straight_clock.h"

namespace idleburn {
namespace {

// Passes samples of one input on and notes what joining it depends on.
class JoinWatch final : public SampleSink {
 public:
  JoinWatch(SampleSink& next, InputOverlap& overlap) : next_(next), overlap_(overlap) {}

  void OnSamples(std::span<const Sample> samples) override {
    for (const Sample& s : samples) {
      signals_ |= s.present | s.unavailable;
      (IsDated(s.time) ? dated_ : undated_) = true;
      overlap_.See(s);
    }
    next_.OnSamples(samples);
  }
  [[nodiscard]] std::uint32_t signals() const { return signals_; }
  // What carries no times begins at second 0 of 1970.
  [[nodiscard]] bool undated() const { return undated_; }
  [[nodiscard]] bool dated() const { return dated_; }

 private:
  SampleSink& next_;
  InputOverlap& overlap_;
  std::uint32_t signals_ = 0;
  bool undated_ = false;
  bool dated_ = false;
};

// A GPU is on one machine: under two names that were said for it, one of them would be lost without a word.
Result<void> CheckHost(const KnownInput& input, const ImportOptions& options, const DeviceTable& devices) {
  if (input.host.empty()) return {};
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const std::string& other = devices[id].host;
    if (devices.NamedBy(id) == 0 || other == input.host) continue;
    const bool said = std::any_of(options.hosts.begin(), options.hosts.end(),
                                  [&other](const auto& named) { return named.second == other; });
    if (!said) continue;  // the input names the machine itself
    return Fail(NameOf(devices[id]) + " is said to be on " + other + " and on " + input.host +
                ": name one node for both inputs, or leave one out");
  }
  return {};
}

// What a file lacks may have been in the end that its copy lost.
Error WithLostEnd(Error error, const ByteSource& source) {
  if (source.truncated()) {
    error.message = source.name() +
                    ": its compressed data is cut off; copy the file again (what is left of it: " + error.message + ")";
  }
  return error;
}

}  // namespace

Result<void> ImportInput(const KnownInput& input, const ImportOptions& options, ImportTarget& target) {
  target.devices.BeginInput(input.host);
  PercentGuard guard(target.sink, target.devices, options);
  const bool ours = input.importer->clock == ClockDomain::kMonotonic;  // whose units are known
  ImportTarget guarded{target.devices, target.quality, target.owners, ours ? target.sink : guard,
                       target.beside,  target.hosts};
  const Result<void> imported = input.importer->import(*input.source, options, guarded);
  if (!imported) return tl::unexpected<Error>(WithLostEnd(imported.error(), *input.source));
  TRY(guard.Check(input.source->name(), target.quality));
  TRY(CheckHost(input, options, target.devices));
  if (input.source->truncated()) target.quality.Count(QualityId::kTruncatedInput, {&input.source->name(), 0});
  return {};
}

Result<void> CheckOrder(const std::string& input, std::int64_t rows, std::int64_t rows_back) {
  constexpr std::int64_t kFewRows = 8;  // in which some that went back prove nothing
  if (rows < kFewRows || 2 * rows_back <= rows) return {};
  return Fail(input + ": most of its rows are older than the row before them; sort it by time, oldest first");
}

Result<void> InputJoin::Read(const KnownInput& input, const ImportOptions& options) {
  ++inputs_;
  JoinWatch watch(sorter_, overlap_);
  StraightClock clock(watch, quality_);
  const bool steps = input.importer->in_order && input.importer->clock == ClockDomain::kWall;
  ImportTarget target{devices_, quality_, owners_, steps ? static_cast<SampleSink&>(clock) : watch, &links_, &hosts_};
  TRY(ImportInput(input, options, target));
  signals_ |= watch.signals();
  dated_ = dated_ || watch.dated();
  if (undated_.empty() && watch.undated()) undated_ = input.source->name();
  TRY(CheckOrder(input.source->name(), clock.rows(), clock.rows_back()));
  return overlap_.End(input.source->name());
}

Result<void> InputJoin::Deliver(SampleSink& out) {
  if (inputs_ > 1 && dated_ && !undated_.empty()) {
    return Fail(undated_ + ": carries no dates, so it has no place on the clock of the other inputs; record it with " +
                "times, or audit it alone");
  }
  TRY(overlap_.Finish());
  if (inputs_ > 1) TRY(CheckDistinct(devices_));
  return sorter_.Deliver(out);
}

}  // namespace idleburn
