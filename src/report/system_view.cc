#include "report/system_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "report/display.h"
#include "text/figures.h"
#include "text/number.h"

// Describes the machine behind a report. A price or a speed means little without the machine, and a GPU on a narrow
// PCIe link looks slow for no reason that its own counters show. Facts come from the recording; a log of another tool
// has none, and a line says so.
//
// JSON writes every item of the tables in report/system_view.h. Text joins those that people ask for into a few lines.

namespace idleburn {
namespace {

// Joins the facts that are known into one line, separated by ", ".
class Phrase {
 public:
  explicit Phrase(const AuditReport& report) : report_(report) {}
  // Adds a fact, if it is known. "{}" in `words` stands for its value.
  Phrase& Add(std::string_view fact, std::string_view words) {
    const std::optional<std::string> value = SystemFact(report_, fact);
    return value ? Put(fmt::format(fmt::runtime(words), *value)) : *this;
  }
  // Adds a fact in bytes as GB, 10^9 bytes.
  Phrase& AddBytes(std::string_view fact, std::string_view words) {
    const std::optional<std::string> value = SystemFact(report_, fact);
    const std::optional<std::int64_t> bytes = value ? ParseInteger(*value) : std::nullopt;
    return bytes ? Put(fmt::format(fmt::runtime(words), BinaryBytes(static_cast<double>(*bytes)))) : *this;
  }
  // Adds a part as it is.
  Phrase& Put(std::string_view part) {
    text_ += (text_.empty() ? "" : ", ") + std::string(part);
    return *this;
  }
  // Appends "NAME: ...", unless no fact was known.
  void Finish(std::string_view name, std::vector<std::string>* lines) const {
    if (!text_.empty()) lines->push_back(fmt::format("{}: {}.", name, text_));
  }

 private:
  const AuditReport& report_;
  std::string text_;
};

// "VBIOS 96.00, PCIe gen 5 x8 of gen 5 x16, 18 NVLinks up". A link below its best width is a frequent reason for slow
// copies, so both are named. Empty if nothing is known.
std::string GpuFactWords(const AuditReport& report, DeviceId device) {
  const auto fact = [&](std::string_view end) { return GpuFact(report, device, end).value_or(""); };
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  if (const std::string vbios = fact(".vbios"); !vbios.empty()) add("VBIOS " + vbios);
  if (const std::string width = fact(".pcie_width"); !width.empty()) {
    const auto link = [](const std::string& generation, const std::string& lanes) {
      return (generation.empty() ? "" : " gen " + generation) + (lanes.empty() ? "" : " x" + lanes);
    };
    const std::string most = link(fact(".pcie_most_generation"), fact(".pcie_most_width"));
    add("PCIe" + link(fact(".pcie_generation"), width) + (most.empty() ? "" : " of" + most));
  }
  if (const std::string links = fact(".nvlinks"); !links.empty() && links != "0") add(links + " NVLinks up");
  return words;
}

// One line for all GPUs with the same words: "GPU 0, GPU 1: NVIDIA H100 80GB HBM3, ...".
void AddGpuLines(const AuditReport& report, std::vector<std::string>* lines) {
  std::vector<std::pair<std::string, std::string>> groups;  // words, GPUs
  for (const CostReport::DeviceCost& d : report.cost.devices) {
    const std::string more = GpuFactWords(report, d.device);
    std::string words = (*report.devices)[d.device].name;
    if (!more.empty()) words += (words.empty() ? "" : ", ") + more;
    if (words.empty()) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == words; });
    if (same == groups.end()) {
      groups.emplace_back(words, DeviceLabel(report, d.device));
    } else {
      same->second += ", " + DeviceLabel(report, d.device);
    }
  }
  for (const auto& [words, gpus] : groups) lines->push_back(fmt::format("{}: {}.", gpus, words));
}

}  // namespace

std::optional<std::string> SystemFact(const AuditReport& report, std::string_view fact) {
  const auto found =
      std::find_if(report.system.begin(), report.system.end(), [&](const RunFact& f) { return f.key == fact; });
  return found == report.system.end() ? std::nullopt : std::optional(found->value);
}

// Facts of a GPU are stored under its UUID, since indices change between boots.
std::optional<std::string> GpuFact(const AuditReport& report, DeviceId device, std::string_view end) {
  return SystemFact(report, "gpu." + (*report.devices)[device].uuid + std::string(end));
}

// From the GPU outwards: driver, host, container, storage. Limits of the container are what the job really had.
std::vector<std::string> SystemLines(const AuditReport& report) {
  std::vector<std::string> lines;
  AddGpuLines(report, &lines);
  Phrase(report)
      .Add("driver", "{}")
      .Add("cuda", "CUDA {} at most")
      .Add("gpu.topology", "GPUs {}")
      .Finish("Driver", &lines);
  Phrase(report)
      .Add("system.cpu", "{}")
      .Add("system.cpu_sockets", "sockets {}")
      .Add("system.cpu_cores", "cores {}")
      .Add("system.cpu_threads", "threads {}")
      .Add("system.numa_nodes", "NUMA nodes {}")
      .AddBytes("system.memory_bytes", "memory {}")
      .Add("system.kernel", "Linux {}")
      .Finish("Host", &lines);
  Phrase(report)
      .Add("system.container", "{}")
      .Add("system.cgroup_cpus", "CPU quota {}")
      .AddBytes("system.cgroup_memory_bytes", "memory limit {}")
      .Finish("Container", &lines);
  Phrase(report)
      .Add("system.disks", "disks {}")
      .Add("system.cwd_mount", "the command's folder on {}")
      .Add("system.data_mounts", "files read on {}")
      .Finish("Storage", &lines);
  if (report.system.empty()) {
    lines.emplace_back("No host data in these files; idleburn run and idleburn record measure the host.");
  }
  return lines;
}

}  // namespace idleburn
