#include "telemetry/run_facts.h"

#include <algorithm>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Keys of the facts.
constexpr const char* kDevices = "gpus.hidden";
constexpr const char* kBecause = "gpus.hidden_by";
constexpr const char* kDoubt = "gpus.hidden_doubt";

// A name for a device that is valid in every table, as a DeviceId is not: its UUID, else its bus id, else its index.
// A MIG instance has its id behind it.
std::string LastingName(const Device& device) {
  std::string name = !device.uuid.empty() ? device.uuid : device.bus_id;
  if (name.empty()) name = "index " + std::to_string(device.index.value_or(-1));
  return device.mig ? name + "/" + device.mig->id : name;
}

}  // namespace

std::vector<RunFact> HiddenGpus::Facts(const DeviceTable& table) const {
  std::vector<RunFact> facts;
  const std::string names = ListText(devices, ",", [&](DeviceId id) { return LastingName(table[id]); });
  if (!names.empty()) facts.push_back({kDevices, names});
  if (!names.empty()) facts.push_back({kBecause, because});
  if (!doubt.empty()) facts.push_back({kDoubt, doubt});
  return facts;
}

// Names that no device of the table has are ignored.
HiddenGpus HiddenGpus::From(const RunFacts& facts, const DeviceTable& table) {
  HiddenGpus hidden;
  hidden.because = FactIn(facts, kBecause);
  hidden.doubt = FactIn(facts, kDoubt);
  const std::string names = "," + FactIn(facts, kDevices) + ",";
  for (DeviceId id = 0; id < table.size(); ++id) {
    if (names.find("," + LastingName(table[id]) + ",") != std::string::npos) hidden.devices.push_back(id);
  }
  return hidden;
}

void RunWindow::Take(const RunFact& fact) {
  std::optional<Instant>* const end_of = fact.key == kStartFact ? &start : fact.key == kEndFact ? &end : nullptr;
  if (end_of == nullptr) return;
  if (const std::optional<std::int64_t> ns = ParseInteger(fact.value)) *end_of = Instant::FromNanos(*ns);
}

void WindowFilter::See(Instant time) {
  first_ = std::min(first_.value_or(time), time);
  last_ = std::max(last_.value_or(time), time);
}

void WindowFilter::OnSamples(std::span<const Sample> samples) {
  within_.clear();
  for (const Sample& sample : samples) {
    See(sample.time);
    if (sample.time >= *window_.start && sample.time <= *window_.end) {
      within_.push_back(sample);
    } else {
      ++outside_;
    }
  }
  if (!within_.empty()) next_.OnSamples(within_);
}

// Columns that lie inside the window pass unchanged. Only columns that cross its border are converted to rows.
void WindowFilter::OnColumns(const SampleColumns& columns) {
  if (columns.rows == 0) return;
  const auto [first, last] = std::minmax_element(columns.times, columns.times + columns.rows);
  if (*first < *window_.start || *last > *window_.end) return SampleSink::OnColumns(columns);
  See(*first);
  See(*last);
  next_.OnColumns(columns);
}

}  // namespace idleburn
