#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/json_scan.h"
#include "profile/profile_builder.h"
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "profile/xla_rows.h"

namespace idleburn {

// A Chrome trace has events of threads and metadata that names the threads. Metadata may come last, so events of
// unnamed threads wait.

namespace {

constexpr std::int64_t kMostWritten = 1'000'000;  // events; of a longer profile the latest are left out

// The arguments of an entry: of metadata, and of events.
struct XlaArguments {
  std::string_view name;  // of a process or thread
  std::string_view correlation;
  std::string_view step;
  std::string_view copy;
  std::string_view set;
};
constexpr auto kXlaArguments = std::to_array<JsonField<XlaArguments>>({
    {"name", &XlaArguments::name},
    {"correlation_id", &XlaArguments::correlation},
    {"step_num", &XlaArguments::step},
    {"memcpy_details", &XlaArguments::copy},
    {"memset_details", &XlaArguments::set},
});

// Turns the entries of a trace into events of lines. XlaRows knows what the lines mean.
class XlaTrace {
 public:
  XlaTrace(const std::string& file, ProfileBuilder& builder, DataQuality& quality)
      : place_{&file}, quality_(quality), rows_(file, builder, quality) {}

  // Adds metadata or an event. An event of a line without a name waits, up to a limit that bounds memory.
  void Add(const TraceEvent& event) {
    if (event.phase == "M") return AddName(event);
    if (event.phase != "X") return;
    const XlaArguments arguments = ReadObject(event.arguments, kXlaArguments);
    const std::optional<Interval> at = ReadRange(event);
    if (!at) return;
    XlaEvent row;
    row.name = Unescape(event.name, scratch_);
    row.at = *at;
    row.correlation = LeadingNumber(arguments.correlation);
    row.step = LeadingNumber(arguments.step);
    row.details = arguments.copy.empty() ? arguments.set : arguments.copy;
    if (!Named(event) && waiting_.size() < kMostWritten) {
      waiting_.push_back({std::string(event.process), std::string(event.thread), std::string(row.name),
                          std::string(row.details), row});
      return;
    }
    rows_.Add(FindLine(event.process, event.thread), row);
  }
  // Adds the events that waited. A line that is still without a name is then unknown.
  void Finish() {
    for (Waiting& late : waiting_) {
      late.row.name = late.name;
      late.row.details = late.details;
      rows_.Add(FindLine(late.process, late.thread), late.row);
    }
    rows_.Finish();
  }

 private:
  // Names a process (a plane) or a thread (a line).
  void AddName(const TraceEvent& event) {
    const std::string_view name = Unescape(ReadObject(event.arguments, kXlaArguments).name, scratch_);
    if (event.name == "process_name") planes_[std::string(event.process)] = name;
    if (event.name == "thread_name") threads_[Track(event.process, event.thread)] = name;
  }

  // An event whose names follow later, as when a tool has sorted the trace by time. It waits until all names are
  // known.
  struct Waiting {
    std::string process, thread, name, details;
    XlaEvent row;
  };

  static std::string Track(std::string_view process, std::string_view thread) {
    return std::string(process) + ":" + std::string(thread);
  }

  // Whether the event's process is known, and for a device also its stream.
  [[nodiscard]] bool Named(const TraceEvent& event) const {
    const std::string track = Track(event.process, event.thread);
    if (lines_.contains(track)) return true;
    const auto plane = planes_.find(std::string(event.process));
    return plane != planes_.end() && (!XlaDevice(plane->second) || threads_.contains(track));
  }

  // The line of a thread, found once. Names that come after its first event do not change it.
  const XlaLine& FindLine(std::string_view process, std::string_view id) {
    std::string track = Track(process, id);
    if (const auto found = lines_.find(track); found != lines_.end()) return found->second;
    const auto plane = planes_.find(std::string(process));
    const auto thread = threads_.find(track);
    XlaLine line = rows_.FindLine(plane == planes_.end() ? "a process without a name" : plane->second,
                                  thread == threads_.end() ? "" : std::string_view(thread->second), id);
    return lines_.emplace(std::move(track), std::move(line)).first->second;
  }

  // Absent, and counted, if an event has no times.
  std::optional<Interval> ReadRange(const TraceEvent& event) {
    const std::optional<TraceNs> start = TraceMicrosToNs(event.time);
    const std::optional<TraceNs> length = TraceMicrosToNs(event.duration);
    if (!start || !length) {
      quality_.Count(QualityId::kBadRow, place_);
      return std::nullopt;
    }
    if (start->rounded || length->rounded) quality_.Count(QualityId::kRoundedTime, place_);
    return EventRange(start->ns, start->ns + length->ns, quality_, place_);
  }

  Place place_;
  DataQuality& quality_;
  XlaRows rows_;
  std::unordered_map<std::string, std::string> planes_;   // by process
  std::unordered_map<std::string, std::string> threads_;  // by process and thread
  std::unordered_map<std::string, XlaLine> lines_;
  std::vector<Waiting> waiting_;
  std::string scratch_;
};

}  // namespace

bool SniffXlaTrace(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return has("\"traceEvents\"") && has("\"process_name\"") && (has("\"/device:GPU:") || has("\"/host:CPU\""));
}

// A trace of a million events or more was probably cut by the profiler, so events may be missing.
Result<Profile> ReadXlaTrace(ByteSource& in, DataQuality& quality) {
  ProfileBuilder builder;
  TraceReader reader(in, {});
  XlaTrace trace(in.name(), builder, quality);
  while (true) {
    const TraceReader::Item item = TRY(reader.Next());
    if (item == TraceReader::Item::kEnd) break;
    if (item == TraceReader::Item::kEvent) trace.Add(reader.event());
  }
  const TraceTally& tally = reader.tally();
  if (!tally.found_events) return Fail(in.name() + ": holds no traceEvents; record the profile again");
  trace.Finish();
  Profile profile = builder.Build();
  profile.events_total = tally.events;
  profile.events_missing = CountLosses(tally, in, quality) || tally.events >= kMostWritten;
  return profile;
}

}  // namespace idleburn
