#include "run/live_session.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/system_facts.h"

namespace idleburn {

LiveSession::LiveSession(DeviceTable& devices, LiveSink& sink)
    : devices_(devices), sink_(sink), clock_(SystemClock()), line_(clock_->Read()) {}

void LiveSession::Start(const LiveSessionSpec& spec) {
  LiveGpus gpus = LiveGpus::Open(spec.gpus, devices_, clock_, line_);
  why_no_gpu_ = gpus.why_not;
  nvidia_ = gpus.nvidia;
  std::vector<std::unique_ptr<Lane>> lanes = std::move(gpus.lanes);
  lanes.push_back(std::make_unique<HostLane>(HostLaneSpec{"", spec.workload}));
  markers_ = spec.markers;
  lines_ = spec.lines;
  lanes.push_back(std::make_unique<WorkLane>(markers_, lines_));
  SamplerOptions options;
  options.period = spec.gpus.period;
  sampler_ = std::make_unique<Sampler>(options, clock_, line_, std::move(lanes), sink_);
  std::error_code ignored;
  for (const RunFact& fact : SystemFacts("", std::filesystem::current_path(ignored).string())) sink_.OnFact(fact);
  sampler_->Start();
}

void LiveSession::Stop() {
  sampler_->Stop();
  // A driver that hangs held up the thread that reads the work done too, which must not look like little work.
  if (sampler_->statistics().abandoned) WorkLane(markers_, lines_).Finish(Now(), sink_);
}

void LiveSession::Tell(NoteKind kind, const std::string& text) {
  (sampler_ ? sampler_->sink() : sink_).OnNote({Now(), kind, text});
}

void LiveSession::Tell(const RunFact& fact) { (sampler_ ? sampler_->sink() : sink_).OnFact(fact); }

}  // namespace idleburn
