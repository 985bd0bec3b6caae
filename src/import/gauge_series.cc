#include "import/gauge_series.h"

#include "import/metric_table.h"

namespace idleburn {
namespace {

bool TellsUtilization(const Metric& metric) {
  const bool reading = metric.role == MetricRole::kSignal || metric.role == MetricRole::kCyclesActive ||
                       metric.role == MetricRole::kCyclesElapsed;
  return reading && (metric.signal == Signal::kUtilization || metric.signal == Signal::kGrEngineActive ||
                     metric.signal == Signal::kSmActive);
}

// Power tells a broken utilization counter and spin-wait, memory tells idle time that is held.
bool IsBesideUtilization(const Metric& metric) {
  const bool signal =
      metric.role == MetricRole::kSignal &&
      (metric.signal == Signal::kPower || metric.signal == Signal::kPowerLimit || metric.signal == Signal::kMemoryUsed);
  return signal || metric.role == MetricRole::kDeviceInfo || metric.role == MetricRole::kCollectSuccess ||
         metric.role == MetricRole::kJobId;
}

}  // namespace

std::vector<GaugeName> FleetGauges() {
  std::vector<GaugeName> names;
  for (const Metric& metric : KnownMetrics()) {
    const bool utilization = TellsUtilization(metric);
    if (utilization || IsBesideUtilization(metric)) names.push_back({std::string(metric.name), utilization});
  }
  return names;
}

GaugeSeries GaugeSeriesOf(const std::string& name, const std::vector<std::pair<std::string, std::string>>& labels) {
  const Metric* metric = FindMetric(name);
  if (metric == nullptr) return {};
  const SeriesIdentity identity = Identify(labels, NamesPods(*metric));
  // The driver has no utilization of MIG instances.
  const bool empty = identity.device.mig.has_value() && metric->signal == Signal::kUtilization;
  return {identity.device, identity.owner, TellsUtilization(*metric) && !empty};
}

std::vector<UtilizationGauge> UtilizationGauges() {
  std::vector<UtilizationGauge> gauges;
  int kind = 0;
  for (const Signal signal : {Signal::kUtilization, Signal::kGrEngineActive, Signal::kSmActive}) {
    for (const Metric& metric : KnownMetrics()) {
      if (metric.role != MetricRole::kSignal || metric.signal != signal) continue;
      gauges.push_back({std::string(metric.name), CounterName(metric), kind, metric.scale == Scale::kRatio ? 100 : 1,
                        NamesPods(metric), metric.source == MetricSource::kAllSmi});
    }
    ++kind;
  }
  return gauges;
}

GaugeLabels KnownGaugeLabels() {
  return {LabelsAbout(LabelTopic::kUuid), LabelsAbout(LabelTopic::kPlace), LabelsAbout(LabelTopic::kModel),
          LabelsAbout(LabelTopic::kInstance), LabelsAbout(LabelTopic::kJob)};
}

}  // namespace idleburn
