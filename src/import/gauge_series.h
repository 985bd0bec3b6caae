#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/device.h"

// The metrics of exporters that an audit of a fleet asks an engine for, by the table in import/metric_table.h.
namespace idleburn {

// The name of a metric and what the audit of a fleet does with it.
struct GaugeName {
  std::string name;
  bool utilization = false;  // it tells how busy a GPU was
};
// How busy GPUs were, and what an audit needs beside that: power, memory used, the GPU's name, the Slurm job. Every
// spelling is a row.
std::vector<GaugeName> FleetGauges();

// The GPU and the owner that the labels of a series name.
struct GaugeSeries {
  DeviceKey gpu;
  std::string owner;     // "job 48211", "pod ml/train-0"; empty: none
  bool reading = false;  // its values tell how busy that GPU was
};
GaugeSeries GaugeSeriesOf(const std::string& name, const std::vector<std::pair<std::string, std::string>>& labels);

}  // namespace idleburn
