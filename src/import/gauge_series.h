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

// A gauge that tells how busy a GPU is at a moment.
struct UtilizationGauge {
  std::string name;
  std::string counter;        // CounterName: "dcgm.DCGM_FI_DEV_GPU_UTIL"
  int kind = 0;               // 0: utilization, 1: activity of the graphics engine, 2: of the SMs
  int to_percent = 1;         // its value x this is in percent
  bool names_pods = false;    // its label `pod` is the workload's
  bool gpu_is_model = false;  // its label `gpu` is a product name and no index
};
// The best kind first, in the order of the table.
std::vector<UtilizationGauge> UtilizationGauges();

// Labels of a GPU's series by what they tell, in every spelling.
struct GaugeLabels {
  std::vector<std::string> uuid;
  std::vector<std::string> place;  // host, index, bus id
  std::vector<std::string> model;
  std::vector<std::string> instance;  // a MIG instance
  std::vector<std::string> job;       // of a batch system
};
GaugeLabels KnownGaugeLabels();

}  // namespace idleburn
