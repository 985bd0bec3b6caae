#include "report/trace_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "diagnose/gap_list.h"
#include "diagnose/painted_time.h"
#include "report/report_page.h"
#include "text/strings.h"
#include "text/table.h"

namespace idleburn {
namespace {

constexpr int kTimelineNameWidth = 100;

// Indices of texts that repeat, in the order of their first use.
class TextNumbers {
 public:
  std::size_t Of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

// Keeps the longest items of many, in bounded memory, and returns them by start.
template <typename Item>
class LongestItems {
 public:
  explicit LongestItems(std::size_t most) : most_(most) {}

  void Add(const Item& item) {
    ++all_;
    items_.push_back(item);
    if (items_.size() >= 2 * most_) Cut();
  }
  // The number of all items that were added.
  [[nodiscard]] std::size_t all() const { return all_; }
  std::vector<Item> Take() {
    Cut();
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tie(a.at.start, a.at.end) < std::tie(b.at.start, b.at.end);
    });
    return std::move(items_);
  }

 private:
  void Cut() {
    if (items_.size() <= most_) return;
    const auto middle = items_.begin() + static_cast<std::ptrdiff_t>(most_);
    std::nth_element(items_.begin(), middle, items_.end(), [](const Item& a, const Item& b) {
      return a.at.Ns() != b.at.Ns() ? a.at.Ns() > b.at.Ns() : a.at.start < b.at.start;
    });
    items_.erase(middle, items_.end());
  }

  std::size_t most_;
  std::size_t all_ = 0;
  std::vector<Item> items_;
};

// An event or gap as it is drawn, relative to the window.
struct DrawnEvent {
  Interval at;
  NameId name = kNoName;
  int rank = 0;  // PaintRank: 0 compute, 1 communication, 2 copies
};
struct DrawnGap {
  Interval at;
  IdleClass what = IdleClass::kHostOther;
  bool attributed = false;
  std::string_view cause;
};

// Sums over equal columns of a window: idle nanoseconds, and those of each class, streams added.
class TimelineColumns {
 public:
  TimelineColumns(std::int64_t window_ns, std::size_t columns)
      : width_(std::max<std::int64_t>(
            (window_ns + static_cast<std::int64_t>(columns) - 1) / static_cast<std::int64_t>(columns), 1)),
        rows_(static_cast<std::size_t>(window_ns / width_ + 1)) {}

  // Adds an interval of the window to slot 0 (idle) or 1 + PaintRank.
  void Add(Interval at, std::size_t slot) {
    for (std::int64_t t = std::max<std::int64_t>(at.start, 0); t < at.end;) {
      const std::int64_t column = t / width_;
      if (column >= static_cast<std::int64_t>(rows_.size())) return;
      const std::int64_t until = std::min(at.end, (column + 1) * width_);
      rows_[static_cast<std::size_t>(column)][slot] += until - t;
      t = until;
    }
  }
  // [[idle, class], ...]: the class with the most time, or -1.
  [[nodiscard]] std::string Json() const {
    std::string text = fmt::format(R"({{"width":{},"rows":[)", width_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto most = std::max_element(rows_[i].begin() + 1, rows_[i].end());
      const std::ptrdiff_t rank = *most > 0 ? most - rows_[i].begin() - 1 : -1;
      text += fmt::format("{}{},{}", i > 0 ? "," : "", rows_[i][0], rank);
    }
    return text + "]}";
  }

 private:
  std::int64_t width_;
  std::vector<std::array<std::int64_t, 4>> rows_;
};

// A text inside a <script>: no quote, no "<" and no control character gets through.
std::string ScriptText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '<') {
      quoted += "\\u003c";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string ScriptTexts(const std::vector<std::string>& texts) {
  std::string list = "[";
  for (const std::string& text : texts) list += (list.size() > 1 ? "," : "") + ScriptText(text);
  return list + "]";
}

// All that is drawn of one GPU.
class GpuTimeline {
 public:
  GpuTimeline(const DeviceDiagnosis& d, std::size_t gpus)
      : d_(d),
        window_(d.Deciding().span),
        events_(kTimelineEvents / gpus),
        gaps_(kTimelineGaps / gpus),
        coarse_(window_.Ns(), kCoarseColumns),
        fine_(window_.Ns(), kFineColumns) {}

  void Add(const ProfiledDevice& device) {
    for (const DeviceEvent& e : device.events) {
      const Interval at{std::max(e.start_ns, window_.start) - window_.start,
                        std::min(e.end_ns, window_.end) - window_.start};
      if (at.Ns() <= 0) continue;
      const int rank = PaintRank(e.op);
      events_.Add({at, e.name, rank});
      AddToColumns(at, 1 + static_cast<std::size_t>(rank));
    }
  }
  void AddGap(std::span<const GapStretch> gap) {
    for (const GapStretch& part : gap) {
      const Interval at{part.at.start - window_.start, part.at.end - window_.start};
      gaps_.Add({at, part.what, part.attributed, part.cause});
      AddToColumns(at, 0);
    }
  }

  // `names` are of the profile; texts and causes are shared by all GPUs of the page. `offset_ns` is how much later than
  // the first window this one begins.
  std::string Json(const std::vector<std::string>& names, std::int64_t offset_ns, TextNumbers& texts,
                   TextNumbers& causes) {
    const std::vector<DrawnEvent> events = events_.Take();
    const std::vector<DrawnGap> gaps = gaps_.Take();
    const std::string label =
        d_.rank ? fmt::format("rank {}, GPU {}", *d_.rank, d_.device) : fmt::format("GPU {}", d_.device);
    std::string json = fmt::format(R"({{"label":{},"offset":{},"window":{},"events":{},"gaps":{},"event":[)",
                                   ScriptText(label), offset_ns, window_.Ns(), events_.all(), gaps_.all());
    std::string_view comma;
    for (const DrawnEvent& e : events) {
      const std::size_t text = texts.Of(Shortened(names[e.name], kTimelineNameWidth));
      json += fmt::format("{}{},{},{},{}", comma, e.at.start, e.at.Ns(), e.rank, text);
      comma = ",";
    }
    json += R"(],"gap":[)";
    comma = "";
    for (const DrawnGap& g : gaps) {
      const std::size_t what = texts.Of(g.attributed ? std::string(Name(g.what)) : "not attributed");
      const std::size_t cause = causes.Of(std::string(g.cause));
      json += fmt::format("{}{},{},{},{}", comma, g.at.start, g.at.Ns(), cause, what);
      comma = ",";
    }
    json += R"(],"step":[)";
    comma = "";
    for (const StepTime& step : d_.steps.steps) {
      json += fmt::format("{}{},{},{}", comma, step.at.start - window_.start, step.at.Ns(), step.number);
      comma = ",";
    }
    json += "],\"columns\":[" + coarse_.Json();
    if (events_.all() > events.size() || gaps_.all() > gaps.size()) json += "," + fine_.Json();
    return json + "]}";
  }

 private:
  void AddToColumns(Interval at, std::size_t slot) {
    coarse_.Add(at, slot);
    fine_.Add(at, slot);
  }

  const DeviceDiagnosis& d_;
  Interval window_;
  LongestItems<DrawnEvent> events_;
  LongestItems<DrawnGap> gaps_;
  TimelineColumns coarse_;
  TimelineColumns fine_;
};

// How much later than the first the window of each device begins, by the wall clock. All 0 if a file does not relate
// its times to it, and for captures that are not of one time: they then begin together.
std::vector<std::int64_t> WindowOffsets(const AuditReport& report) {
  const std::vector<DeviceDiagnosis>& devices = report.trace->devices;
  std::vector<std::int64_t> starts(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Profile& profile = report.profiles[devices[i].profile];
    const bool one_clock = report.profiles.size() == 1 || (profile.wall_base_ns && report.trace->apart.empty());
    if (!one_clock) return std::vector<std::int64_t>(devices.size());
    starts[i] = devices[i].Deciding().span.start + profile.wall_base_ns.value_or(0);
  }
  const std::int64_t first = starts.empty() ? 0 : *std::min_element(starts.begin(), starts.end());
  for (std::int64_t& start : starts) start -= first;
  return starts;
}

bool HasTimeline(const AuditReport& report) {
  return report.trace && !report.trace->devices.empty() && !report.profiles.empty();
}

}  // namespace

std::string TimelineJson(const AuditReport& report) {
  if (!HasTimeline(report)) return {};
  const std::vector<DeviceDiagnosis>& devices = report.trace->devices;
  const std::size_t gpus = std::min(devices.size(), kTimelineGpus);
  std::vector<GpuTimeline> timelines;
  timelines.reserve(gpus);
  for (std::size_t i = 0; i < gpus; ++i) {
    timelines.emplace_back(devices[i], gpus);
    for (const ProfiledDevice& device : report.profiles[devices[i].profile].devices) {
      if (device.id == devices[i].device) timelines.back().Add(device);
    }
  }
  VisitGaps(report.profiles, *report.trace, [&](std::size_t device, std::span<const GapStretch> gap) {
    if (device < gpus) timelines[device].AddGap(gap);
  });
  const std::vector<std::int64_t> offsets = WindowOffsets(report);
  TextNumbers texts;
  TextNumbers causes;
  std::string json = fmt::format(R"({{"left_out":{},"gpus":[)", devices.size() - gpus);
  for (std::size_t i = 0; i < gpus; ++i) {
    json +=
        (i > 0 ? "," : "") + timelines[i].Json(report.profiles[devices[i].profile].names, offsets[i], texts, causes);
  }
  return json + R"(],"texts":)" + ScriptTexts(texts.texts()) + R"(,"causes":)" + ScriptTexts(causes.texts()) + "}";
}

void AppendTimeline(const AuditReport& report, std::string* out) {
  if (!HasTimeline(report)) return;
  *out += R"(<section id="timeline" hidden>
<h2>Over time</h2>
<div class="controls" id="timeline-controls"></div>
<div id="timeline-rows"></div>
<p class="notes" id="timeline-tip" aria-live="polite">Point at a kernel or gap to see what it is. Select a gap for the
evidence.</p>
<ul class="key" id="timeline-key"></ul>
</section>
<noscript><p class="notes">The timeline needs JavaScript; all else is on this page.</p></noscript>
)";
}

}  // namespace idleburn
