#include "report/perfetto_output.h"

#include <fmt/format.h>

#include <cstdlib>

#include "diagnose/gap_list.h"
#include "text/strings.h"

// The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are microseconds;
// three decimals are nanoseconds.

namespace idleburn {
namespace {

constexpr std::size_t kPerfettoPiece = std::size_t{64} << 10;

// The tracks of one GPU, in the order in which they are drawn.
enum class GapTrack : int { kCause = 1, kWhat = 2, kSteps = 3 };

// Nanoseconds as microseconds with all decimals: -1500 gives "-1.500".
std::string ExactMicros(std::int64_t ns) {
  const std::uint64_t whole = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", whole / 1000, whole % 1000);
}

// A JSON string. Names come from files, so what is not printable is replaced first.
std::string PerfettoText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Collects events and hands them on in pieces. Keeps the first error.
class PerfettoEvents {
 public:
  explicit PerfettoEvents(const std::function<Result<void>(std::string_view)>& write) : write_(write) {}

  void Text(std::string_view text) {
    out_ += text;
    if (out_.size() >= kPerfettoPiece) Flush();
  }
  void Event(const std::string& json) {
    Text((first_ ? "\n" : ",\n") + json);
    first_ = false;
  }
  // Names a process or a track of it; tracks are drawn by number.
  void Name(std::string_view what, std::size_t process, int track, const std::string& name) {
    Event(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process, track,
                      PerfettoText(name)));
  }
  void Slice(std::size_t process, GapTrack track, std::string_view name, Interval at, const std::string& arguments) {
    Event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"idleburn","name":{},"args":{{{}}}}})",
                      process, static_cast<int>(track), ExactMicros(at.start), ExactMicros(at.Ns()), PerfettoText(name),
                      arguments));
  }
  Result<void> Finish() {
    Flush();
    return result_;
  }

 private:
  void Flush() {
    if (result_ && !out_.empty()) result_ = write_(out_);
    out_.clear();
  }

  const std::function<Result<void>(std::string_view)>& write_;
  std::string out_;
  bool first_ = true;
  Result<void> result_;
};

// "rank 3, GPU 0, NVIDIA H100 (a.json)".
std::string GapProcessName(const DeviceDiagnosis& d) {
  std::string name = d.rank ? fmt::format("rank {}, GPU {}", *d.rank, d.device) : fmt::format("GPU {}", d.device);
  if (!d.model.empty()) name += ", " + d.model;
  return "idleburn: " + name + " (" + d.file + ")";
}

void NameTracks(const TraceDiagnosis& diagnosis, PerfettoEvents& events) {
  for (std::size_t i = 0; i < diagnosis.devices.size(); ++i) {
    const std::size_t process = i + 1;
    events.Name("process_name", process, 0, GapProcessName(diagnosis.devices[i]));
    events.Name("thread_name", process, static_cast<int>(GapTrack::kCause), "idle: cause");
    events.Name("thread_name", process, static_cast<int>(GapTrack::kWhat), "idle: before the next GPU event");
    events.Name("thread_name", process, static_cast<int>(GapTrack::kSteps), "profiled steps");
  }
}

// Stretches of one cause that touch are one slice.
void AddGap(std::size_t process, std::span<const GapStretch> gap, PerfettoEvents& events) {
  for (const GapStretch& part : gap) {
    const std::string_view what = part.attributed ? Name(part.what) : std::string_view("not attributed");
    events.Slice(process, GapTrack::kWhat, what, part.at, fmt::format(R"("ns":{})", part.at.Ns()));
  }
  for (std::size_t i = 0; i < gap.size();) {
    const std::string_view cause = gap[i].cause;
    Interval at = gap[i].at;
    for (++i; i < gap.size() && gap[i].cause == cause; ++i) at.end = gap[i].at.end;
    events.Slice(process, GapTrack::kCause, cause.empty() ? "no cause claims it" : cause, at,
                 fmt::format(R"("ns":{})", at.Ns()));
  }
}

}  // namespace

Result<void> WritePerfetto(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis,
                           const std::function<Result<void>(std::string_view)>& write) {
  PerfettoEvents events(write);
  events.Text(R"({"displayTimeUnit":"ms",)");
  // Files on one clock can be laid beside each other; those of several ranks have a base each.
  if (profiles.size() == 1 && profiles.front().wall_base_ns.value_or(0) != 0) {
    events.Text(fmt::format(R"("baseTimeNanoseconds":{},)", *profiles.front().wall_base_ns));
  }
  events.Text(
      R"("otherData":{"writer":"idleburn export --format perfetto","holds":"idle gaps and their causes, on the clock )"
      R"(of the trace; the trace's own events are not repeated"},"traceEvents":[)");
  NameTracks(diagnosis, events);
  for (std::size_t i = 0; i < diagnosis.devices.size(); ++i) {
    for (const StepTime& step : diagnosis.devices[i].steps.steps) {
      events.Slice(i + 1, GapTrack::kSteps, fmt::format("step {}", step.number), step.at,
                   fmt::format(R"("busy_ns":{},"idle_ns":{})", step.busy_ns, step.IdleNs()));
    }
  }
  VisitGaps(profiles, diagnosis,
            [&](std::size_t device, std::span<const GapStretch> gap) { AddGap(device + 1, gap, events); });
  events.Text("\n]}\n");
  return events.Finish();
}

}  // namespace idleburn
