#include "run/live_session.h"

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/host_lane.h"
#include "measure/sampler.h"
#include "measure/system_facts.h"
#include "telemetry/run_facts.h"

namespace idleburn {
namespace {

// How long Stop waits for the host's last reading. It cannot hang, but the machine may be busy, and it completes all
// sums.
constexpr Nanos kHostPatience(10 * kNanosPerSecond);

}  // namespace

LiveSession::LiveSession(DeviceTable& devices, LiveSink& sink)
    : devices_(devices), sink_(sink), clock_(SystemClock()), line_(clock_->Read()) {}

void LiveSession::Start(const LiveSessionSpec& spec, const std::stop_token& stop) {
  Try([&] { Open(spec, stop); });
}

// Telling the failure needs memory too, and may fail in the same way.
void LiveSession::Try(const std::function<void()>& part) {
  try {
    try {
      part();
    } catch (const std::exception& error) {
      Tell(RunFact{kMeasuringFailedFact, error.what()});
    }
  } catch (const std::exception&) {  // not even for that: the figures show that time as unobserved
    return;
  }
}

// The host comes first. Its readings must not wait for a driver that takes seconds to list its GPUs.
void LiveSession::Open(const LiveSessionSpec& spec, const std::stop_token& stop) {
  SamplerOptions options;
  options.period = spec.gpus.period;
  sampler_ = std::make_unique<Sampler>(options, clock_, line_, sink_);
  std::vector<std::unique_ptr<Lane>> host;
  host.push_back(std::make_unique<ClockLane>(clock_));
  host.push_back(std::make_unique<HostLane>(HostLaneSpec{"", spec.workload}));
  host.push_back(std::make_unique<WorkLane>(spec.markers, spec.lines));
  sampler_->Serve(std::move(host), kHostPatience);
  // GPUs have a thread of their own, because a driver may hang.
  LiveGpus gpus = LiveGpus::Open(spec.gpus, devices_, sampler_->sink(), clock_, line_, stop);
  why_no_gpu_ = gpus.why_not;
  nvidia_ = gpus.nvidia;
  // The facts about hidden GPUs go into the recording. An audit of it then counts the same GPUs as the live one.
  HiddenGpus hidden;
  if (spec.environment) hidden = GpusHiddenBy(spec.environment, gpus.gpus, devices_);
  HideWhatIsNotShown(spec.environment, IsContainer(""), gpus.gpus, devices_, &hidden);
  for (const RunFact& fact : hidden.Facts(devices_)) Tell(fact);
  std::error_code ignored;
  for (const RunFact& fact : SystemFacts("", std::filesystem::current_path(ignored).string())) Tell(fact);
  if (!gpus.lanes.empty()) sampler_->Serve(std::move(gpus.lanes));
}

void LiveSession::Stop() {
  if (sampler_ == nullptr) return;
  sampler_->Stop();
  for (const RunFact& fact : SamplerFacts(statistics())) sink_.OnFact(fact);
}

}  // namespace idleburn
