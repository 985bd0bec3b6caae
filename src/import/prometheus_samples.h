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

#include "import/device_facts.h"
#include "import/host_watch.h"
#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/owner_timeline.h"
#include "text/metric_line.h"
#include "text/strings.h"

namespace idleburn {

// Turns the samples of scrapes into readings. Samples arrive as lines of the text format, whatever format the input
// has, so every form of the same scrapes gives the same result. Both importers of import/prometheus.cc feed it.
//
//     DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-5f3a...",pod="train-0"} 97 1783117320000
//     ->  97,000,000 micro-percent of GPU-5f3a... at that time, and "pod train-0" owned it then
//
// Memory grows with devices, owners and series, and not with scrapes: at most kMaxSeries series are kept.
class PrometheusSamples {
 public:
  // All references outlive it. `file` is the input's name, for places. `seconds`: stamps are seconds, as in
  // OpenMetrics.
  PrometheusSamples(const std::string& file, const ImportOptions& options, ImportTarget& out, bool seconds)
      : file_(file),
        options_(options),
        out_(out),
        writer_(out),
        readings_(out, writer_),
        openmetrics_(seconds),
        owners_(options),
        hosts_(out.hosts != nullptr ? *out.hosts : own_hosts_) {}

  // Reads one line. `number`: the line's place. `whole`: false for the last line of an input that does not end with a
  // newline.
  void OnLine(std::string_view text, std::int64_t number, bool whole);
  // Call after the last line. Fails if no metric is known.
  Result<void> Finish();

 private:
  // What nvidia_gpu_exporter says about a host: at which scrapes nvidia-smi failed, and which metrics say how busy
  // its GPUs were. Those have no data from a failed scrape on.
  struct SmiHost {
    std::vector<Instant> failed;                                // failed scrapes, in time order
    std::map<std::pair<DeviceId, Signal>, const Metric*> busy;  // per device: the metrics that say how busy it was
  };
  // A series of the file. Its lines are recognized by their text, so its labels are parsed once.
  struct Series {
    const Metric* metric = nullptr;
    bool unused = false;   // its values are not readings
    bool created = false;  // its values say when the metric's counter began
    DeviceId device = 0;
    SmiHost* host = nullptr;
    std::int64_t code = 0;  // the label `xid`
    OwnerTimeline::Presence* owner = nullptr;
    HostWatch::Stay* stay = nullptr;  // on the host that its labels name
    std::int64_t scrape = -1;         // without stamps: the last scrape with this series
  };
  // A line whose device is only known by a later line.
  struct Waiting {
    std::string text;
    std::int64_t number;
  };

  // The place of the current line.
  [[nodiscard]] Place Here() const { return {&file_, line_number_}; }
  // Private steps, from a line to a reading: parse it, find its series, read its time, use its value.
  void ReadLine(std::string_view text);
  void OnSample(std::string_view text, const PrometheusLine& line);
  bool IsTorn(const PrometheusLine& line) const;
  std::optional<Instant> ReadTime(const PrometheusLine& line, Series& series);
  Series* Find(std::string_view text, const PrometheusLine& line);
  Series* Enter(const PrometheusLine& line, const Series& series);
  // What a sample name refers to: a metric, or the start of a metric's counter.
  struct Named {
    const Metric* metric = nullptr;  // null: unknown
    bool created = false;
  };
  Named LookUp(const std::string& name);
  static Named FindNamed(const std::string& name);
  std::optional<Series> Resolve(const PrometheusLine& line, const Named& named, bool* wait);
  std::optional<DeviceId> FindDevice(DeviceKey key);
  void Release();
  void Dispatch(const Series& series, Instant time, std::string_view value);
  void Deliver();

  // Limits that keep memory bounded whatever the input holds.
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
  // Whether samples of this input have stamps, once one was seen, and how long a stamp is.
  std::optional<bool> stamped_;
  std::size_t stamp_length_ = 0;
  // Without stamps: the number of the current scrape.
  std::int64_t scrape_ = 0;
  bool any_known_ = false;
  // Names of metrics that are not known, for the message of an input without a known one.
  std::set<std::string> unknown_;
  std::unordered_map<std::string, Named> metrics_;  // by name
  std::unordered_map<std::string, Series, TextHash, std::equal_to<>> series_;
  std::int64_t full_ = -1;                          // the scrape with more series than are kept
  Series spare_;                                    // stands for a series that is not kept
  std::set<std::pair<DeviceId, LinkPart>> linked_;  // link parts that were told
  std::map<std::string, SmiHost> smi_hosts_;
  std::size_t failed_ = 0;
  OwnerTimeline owners_;
  HostWatch own_hosts_;
  HostWatch& hosts_;
  // Devices with an all-zero UUID are only identified by nvidia_smi_gpu_info, which may come last.
  std::map<std::string, DeviceKey> masked_;
  std::vector<Waiting> waiting_;
  bool wait_no_more_ = false;
};

}  // namespace idleburn
