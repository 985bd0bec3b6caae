#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/host_watch.h"
#include "import/link_facts.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/owner_timeline.h"
#include "import/reading_writer.h"
#include "text/metric_line.h"
#include "text/strings.h"

namespace idleburn {

// Makes readings of the samples of scrapes. They come as lines of the text format, whatever they were written in, so
// that every form of the same scrapes gives the same answer.
class PrometheusSamples {
 public:
  // All outlive it; `file` is the input's name for places. `seconds`: stamps are seconds, as OpenMetrics writes them.
  PrometheusSamples(const std::string& file, const ImportOptions& options, ImportTarget& out, bool seconds)
      : file_(file),
        options_(options),
        out_(out),
        writer_(out),
        readings_(out, writer_),
        openmetrics_(seconds),
        owners_(options),
        hosts_(out.hosts != nullptr ? *out.hosts : own_hosts_) {}

  // `number` is its place. `whole`: not the last of an input that ends without a line's end.
  void OnLine(std::string_view text, std::int64_t number, bool whole);
  // After the last line. An error where no metric is known.
  Result<void> Finish();

 private:
  // What nvidia_gpu_exporter says of a host.
  struct SmiHost {
    std::vector<Instant> failed;                                // scrapes, in order
    std::map<std::pair<DeviceId, Signal>, const Metric*> busy;  // what it counts as busy, of each device
  };
  // A series of the file, found again by its text.
  struct Series {
    const Metric* metric = nullptr;
    bool unused = false;   // what it says is no reading
    bool created = false;  // it says when the metric's counter began
    DeviceId device = 0;
    SmiHost* host = nullptr;
    std::int64_t code = 0;  // of the label `xid`
    OwnerTimeline::Presence* owner = nullptr;
    HostWatch::Stay* stay = nullptr;  // on the machine that its labels name
    std::int64_t scrape = -1;         // that last named it, without stamps
  };
  // A line that waits for the information that tells its device.
  struct Waiting {
    std::string text;
    std::int64_t number;
  };

  [[nodiscard]] Place Here() const { return {&file_, line_number_}; }
  void ReadLine(std::string_view text);
  void OnSample(std::string_view text, const PrometheusLine& line);
  bool IsTorn(const PrometheusLine& line) const;
  std::optional<Instant> TimeOf(const PrometheusLine& line, Series& series);
  Series* Find(std::string_view text, const PrometheusLine& line);
  Series* Enter(const PrometheusLine& line, const Series& series);
  // A name as it stands: of a metric, or of when its counter began.
  struct Named {
    const Metric* metric = nullptr;  // null: not known
    bool created = false;
  };
  Named MetricOf(const std::string& name);
  static Named FindNamed(const std::string& name);
  std::optional<Series> Resolve(const PrometheusLine& line, const Named& named, bool* wait);
  std::optional<DeviceId> DeviceOf(DeviceKey key);
  void Release();
  void Dispatch(const Series& series, Instant time, std::string_view value);
  void Deliver();

  static constexpr std::size_t kMaxSeries = 1 << 16;
  static constexpr std::size_t kMaxWaiting = 4096;
  static constexpr std::size_t kMaxFailed = 1 << 20;
  static constexpr std::size_t kNamesShown = 8;

  const std::string& file_;
  const ImportOptions& options_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  std::int64_t line_number_ = 0;
  bool whole_ = true;
  bool openmetrics_;
  std::optional<bool> stamped_;
  std::size_t stamp_length_ = 0;
  std::int64_t scrape_ = 0;
  bool any_known_ = false;
  std::set<std::string> unknown_;
  std::unordered_map<std::string, Named> metrics_;  // by name
  std::unordered_map<std::string, Series, TextHash, std::equal_to<>> series_;
  std::int64_t full_ = -1;                          // the scrape that has more series than are kept
  Series spare_;                                    // a series that is not kept
  std::set<std::pair<DeviceId, LinkPart>> linked_;  // what was told of links
  std::map<std::string, SmiHost> smi_hosts_;
  std::size_t failed_ = 0;
  OwnerTimeline owners_;
  HostWatch own_hosts_;
  HostWatch& hosts_;
  // Devices with an all-zero UUID are known only by what nvidia_smi_gpu_info adds, and that may come last.
  std::map<std::string, DeviceKey> masked_;
  std::vector<Waiting> waiting_;
  bool wait_no_more_ = false;
};

}  // namespace idleburn
