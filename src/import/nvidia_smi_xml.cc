#include "import/nvidia_smi_xml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "import/link_facts.h"
#include "import/stamp.h"
#include "import/units.h"
#include "telemetry/counter_choice.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {
namespace {

// Where a signal is found below <gpu> (and, if of an instance's scope, below <mig_device>), best source first:
// v13 reports an average and an instant draw, v12 and older one of them, unnamed.
struct Source {
  Signal signal;
  std::string_view path;
};
constexpr std::array<Source, 20> kSources = {{
    {Signal::kUtilization, "utilization/gpu_util"},
    {Signal::kMemoryUtilization, "utilization/memory_util"},
    {Signal::kEncoderUtilization, "utilization/encoder_util"},
    {Signal::kDecoderUtilization, "utilization/decoder_util"},
    {Signal::kPower, "gpu_power_readings/average_power_draw"},
    {Signal::kPower, "gpu_power_readings/power_draw"},
    {Signal::kPower, "gpu_power_readings/instant_power_draw"},
    {Signal::kPower, "power_readings/power_draw"},
    {Signal::kPowerLimit, "gpu_power_readings/current_power_limit"},
    {Signal::kPowerLimit, "power_readings/enforced_power_limit"},
    {Signal::kPowerLimit, "power_readings/power_limit"},
    {Signal::kPowerDefaultLimit, "gpu_power_readings/default_power_limit"},
    {Signal::kPowerDefaultLimit, "power_readings/default_power_limit"},
    {Signal::kSmClock, "clocks/sm_clock"},
    {Signal::kMaxSmClock, "max_clocks/sm_clock"},
    {Signal::kMemoryUsed, "fb_memory_usage/used"},
    {Signal::kMemoryTotal, "fb_memory_usage/total"},
    {Signal::kTemperature, "temperature/gpu_temp"},
    {Signal::kPcieRx, "pci/rx_util"},
    {Signal::kPcieTx, "pci/tx_util"},
}};

struct LinkSource {
  LinkPart part;
  std::string_view path;
};
constexpr std::array<LinkSource, 4> kLink = {{
    {LinkPart::kGeneration, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {LinkPart::kMostGeneration, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    {LinkPart::kWidth, "pci/pci_gpu_link_info/link_widths/current_link_width"},
    {LinkPart::kMostWidth, "pci/pci_gpu_link_info/link_widths/max_link_width"},
}};

// Elements of the event reasons (from v12 of the documents on, and before); that of each is named after them and it.
constexpr std::array<std::string_view, 2> kReasonElements = {"clocks_event_reason", "clocks_throttle_reason"};

// Leaves that say who a GPU is or introduce its records.
constexpr std::array<std::string_view, 5> kIdentity = {"uuid", "product_name", "pci/pci_bus_id", "processes",
                                                       "mig_devices"};

// Multiprocessors of one compute slice (MIG user guide of NVIDIA, tables of profiles). A report names no profile.
struct SliceSize {
  std::string_view product;
  std::int64_t multiprocessors;
};
constexpr std::array<SliceSize, 8> kSliceSizes = {{
    {"A100", 14},
    {"A800", 14},
    {"A30", 14},
    {"H100", 16},
    {"H800", 16},
    {"H200", 16},
    {"GH200", 16},
    {"B200", 18},
}};

// One GPU instance of a board, out of its compute instances.
struct Instance {
  const Leaves* leaves = nullptr;  // of the first compute instance; memory is the same in all
  std::int64_t multiprocessors = 0;
};

// Whole MiB; nothing when there is not one.
std::optional<std::int64_t> Mebibytes(std::string_view text) {
  const std::int64_t whole = ReadQuantity(text, Unit::kByte, "MiB").value.value_or(0) >> 20;
  return whole > 0 ? std::optional(whole) : std::nullopt;
}

// "3g.71gb" out of what the report does say: slices by multiprocessors, and memory in eighths of the board's,
// as NVIDIA names profiles. Where a slice of the product is not known the memory decides: an eighth a slice of seven,
// on smaller boards as much as the slice is of the board.
MigInstance DescribeInstance(std::string_view id, const Instance& instance, const SmiGpu& gpu) {
  MigInstance mig{std::string(id), "", 1};
  const std::string_view product = gpu.leaves.Get("product_name");
  const std::optional<std::int64_t> board = Mebibytes(gpu.leaves.Get("fb_memory_usage/total"));
  const std::optional<std::int64_t> own = Mebibytes(instance.leaves->Get("fb_memory_usage/total"));
  const std::int64_t eighths = board && own ? std::clamp<std::int64_t>((*own * 16 / *board + 1) / 2, 1, 8) : 0;
  const std::int64_t most = BoardSlices(product);
  std::int64_t slices = most == 7 ? eighths : eighths * most / 8;
  for (const SliceSize& size : kSliceSizes) {
    const bool known = product.find(size.product) != std::string_view::npos && instance.multiprocessors > 0;
    if (known) slices = instance.multiprocessors / size.multiprocessors;
  }
  mig.slices = static_cast<int>(std::clamp<std::int64_t>(slices, 1, most));
  if (eighths > 0) {
    const std::int64_t board_gb = (*board + 1023) / 1024;
    mig.profile = std::to_string(mig.slices) + "g." + std::to_string((board_gb * eighths + 4) / 8) + "gb";
  }
  return mig;
}

// From so much on some process holds memory, as in the audit (docs/readings.md).
constexpr std::int64_t kHeldMemory = std::int64_t{100} << 20;

std::string CounterName(std::string_view path) { return "nvidia_smi_xml." + std::string(path); }

// A process that holds a compute context: C, C+G, M+C.
bool Computes(const Leaves& process) { return process.Get("type").find('C') != std::string_view::npos; }

class Mapper {
 public:
  Mapper(const ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : out_(out), file_(in.name()), clock_(options, out.quality, in.name()) {}

  void Map(const SmiDocument& document) {
    place_ = {&file_, document.line};
    const Instant time = TimeOf(document);
    samples_.clear();
    // An index is a position only if the report lists every GPU of its host.
    const bool all =
        ParseInteger(document.leaves.Get("attached_gpus")) == static_cast<std::int64_t>(document.gpus.size());
    int index = 0;
    for (const SmiGpu& gpu : document.gpus) {
      if (!std::exchange(counted_, true)) CountUnknown(gpu.leaves);
      MapGpu(gpu, time, all ? std::optional(index) : std::nullopt);
      ++index;
    }
    if (!samples_.empty()) out_.sink.OnSamples(samples_);
  }

 private:
  Instant TimeOf(const SmiDocument& document) {
    if (const std::optional<CivilTime> stamp = ParseCtime(document.leaves.Get("timestamp"))) {
      last_ = clock_.At(*stamp, false, document.line);
    } else {
      out_.quality.Count(QualityId::kNoTimestamp, place_);
    }
    return last_;
  }

  void MapGpu(const SmiGpu& gpu, Instant time, std::optional<int> index) {
    DeviceKey key;
    key.uuid = NameIn(gpu.leaves.Get("uuid"));
    key.bus_id = NameIn(!gpu.id.empty() ? std::string_view(gpu.id) : gpu.leaves.Get("pci/pci_bus_id"));
    key.index = index;
    key.name = NameIn(gpu.leaves.Get("product_name"));
    Sample& board = Begin(key, time);
    Read(gpu.leaves, Scope::kBoard, board);
    Read(gpu.leaves, Scope::kInstance, board);
    ReadReasons(gpu.leaves, board);
    CountProcesses(gpu, "", board);
    if (linked_.insert(board.device).second) {
      for (const LinkSource& link : kLink) TellLink(board.device, link.part, gpu.leaves.Get(link.path), out_);
    }

    std::map<std::string_view, Instance> instances;
    for (const Leaves& device : gpu.mig_devices) {
      const std::string_view id = device.Get("gpu_instance_id");
      if (!ParseInteger(id)) {
        out_.quality.Count(QualityId::kBadRow, place_);
        continue;
      }
      Instance& instance = instances[id];
      if (instance.leaves == nullptr) instance.leaves = &device;
      instance.multiprocessors += ParseInteger(device.Get("device_attributes/shared/multiprocessor_count")).value_or(0);
    }
    for (const auto& [id, instance] : instances) {
      key.mig = DescribeInstance(id, instance, gpu);
      Sample& sample = Begin(key, time);
      Read(*instance.leaves, Scope::kInstance, sample);
      CountProcesses(gpu, id, sample);
      // Reports give no activity of an instance: that is unobserved, not idle.
      if (!sample.Has(Signal::kUtilization)) sample.SetUnavailable(Signal::kUtilization, Unobserved::kUnsupported);
    }
  }

  Sample& Begin(const DeviceKey& key, Instant time) {
    Sample& sample = samples_.emplace_back();
    sample.time = time;
    sample.device = EnterDevice(key, out_, place_);
    return sample;
  }

  void Name(const Sample& sample, Signal signal, std::string_view path) {
    out_.devices.NameCounter(sample.device, signal, CounterName(path));
  }

  // The first of several elements for a signal that has a value tells it in the whole log.
  bool IsChosen(DeviceId device, const Source& source) {
    const Source* chosen = chosen_.emplace(std::pair(device, source.signal), &source).first->second;
    return chosen == &source || IsSameCounter(CounterName(chosen->path), CounterName(source.path));
  }

  void Read(const Leaves& leaves, Scope scope, Sample& sample) {
    std::array<Quantity, kSignalCount> missing;
    std::uint32_t asked = 0;
    for (const Source& source : kSources) {
      const std::optional<std::string_view> text = leaves.Find(source.path);
      if (!text || Info(source.signal).scope != scope || sample.Has(source.signal)) continue;
      const Unit unit = Info(source.signal).unit;
      const Quantity quantity = ReadQuantity(*text, unit, "");
      if (quantity.value && IsChosen(sample.device, source)) {
        sample.Set(source.signal, *quantity.value);
        Name(sample, source.signal, source.path);
      } else if (quantity.value) {
        out_.quality.CountNamed(QualityId::kLateCounter, source.path, place_);
      } else if ((asked & Bit(source.signal)) == 0) {
        asked |= Bit(source.signal);
        missing[Index(source.signal)] = quantity;
      }
    }
    for (const SignalInfo& info : kSignals) {
      if ((asked & Bit(info.id)) == 0 || sample.Has(info.id)) continue;
      sample.SetUnavailable(info.id, missing[Index(info.id)].why);
      out_.quality.Count(missing[Index(info.id)].issue, place_);
    }
  }

  void ReadReasons(const Leaves& leaves, Sample& sample) {
    for (const std::string_view element : kReasonElements) {
      const std::string group = std::string(element) + "s";
      std::int64_t mask = 0;
      bool any = false;
      for (std::size_t bit = 0; bit < kEventReasonCount; ++bit) {
        const std::string name(kEventReasonTable[bit].nvidia_smi);
        const std::string_view text = leaves.Get(group + "/" + std::string(element) + "_" + name);
        any = any || text == "Active" || text == "Not Active";
        mask |= std::int64_t{text == "Active" ? 1 : 0} << bit;
      }
      if (any) {
        sample.Set(Signal::kEventReasons, mask);
        Name(sample, Signal::kEventReasons, group);
        return;
      }
      if (const std::optional<std::string_view> text = leaves.Find(group)) {
        sample.SetUnavailable(Signal::kEventReasons, WhyUnavailable(*text).value_or(Unobserved::kSentinel));
        out_.quality.Count(QualityId::kUnavailableValue, place_);
        return;
      }
    }
  }

  // Of the whole board, or of the GPU instance of that id. An empty <processes> says that there are none; a report
  // without one says nothing, nor does an empty one where memory is held: from a container the processes of others are
  // not seen.
  void CountProcesses(const SmiGpu& gpu, std::string_view instance, Sample& sample) {
    const std::optional<std::string_view> text = gpu.leaves.Find("processes");
    if (gpu.processes.empty() && !text) return;
    if (gpu.processes.empty() && !text->empty() && *text != "None") {
      sample.SetUnavailable(Signal::kProcesses, WhyUnavailable(*text).value_or(Unobserved::kSentinel));
      out_.quality.Count(QualityId::kUnavailableValue, place_);
      return;
    }
    // Where the driver's own share is told apart, what is used is of processes.
    const bool net = gpu.leaves.Find("fb_memory_usage/reserved").has_value();
    if (gpu.processes.empty() && net && sample.Has(Signal::kMemoryUsed) &&
        sample.Get(Signal::kMemoryUsed) >= kHeldMemory) {
      sample.SetUnavailable(Signal::kProcesses, Unobserved::kGap);
      return;
    }
    sample.Set(Signal::kProcesses,
               std::count_if(gpu.processes.begin(), gpu.processes.end(), [&](const Leaves& process) {
                 return Computes(process) && (instance.empty() || process.Get("gpu_instance_id") == instance);
               }));
    for (const Leaves& process : gpu.processes) out_.devices.NoteProcess(sample.device, process.Get("process_name"));
    Name(sample, Signal::kProcesses, "processes");
  }

  // Elements that are not used: counted for the first GPU of an input, since the rest repeats them.
  void CountUnknown(const Leaves& leaves) {
    for (const auto& [path, text] : leaves.all()) {
      const std::string_view name = path;
      const auto is = [&](const Source& source) { return source.path == name; };
      const auto in_group = [&](std::string_view element) { return name.substr(0, element.size()) == element; };
      const auto is_link = [&](const LinkSource& link) { return link.path == name; };
      const bool used = std::any_of(kSources.begin(), kSources.end(), is) ||
                        std::any_of(kLink.begin(), kLink.end(), is_link) ||
                        std::any_of(kReasonElements.begin(), kReasonElements.end(), in_group) ||
                        std::find(kIdentity.begin(), kIdentity.end(), name) != kIdentity.end();
      if (!used) out_.quality.CountNamed(QualityId::kUnknownColumn, name, place_);
    }
  }

  ImportTarget& out_;
  std::string file_;
  StampClock clock_;
  Place place_;
  Instant last_;
  std::vector<Sample> samples_;
  std::map<std::pair<DeviceId, Signal>, const Source*> chosen_;
  std::set<DeviceId> linked_;  // whose link was told
  bool counted_ = false;
};

}  // namespace

bool SniffNvidiaSmiXml(std::string_view head) {
  constexpr std::size_t kBefore = 1024;  // lines of nohup, ssh or the driver may come first
  const std::string_view before = head.substr(0, head.find('<'));
  return before.size() < std::min(kBefore, head.size()) && Trim(before.substr(before.rfind('\n') + 1)).empty() &&
         head.find("<nvidia_smi_log") != std::string_view::npos;
}

Result<void> ImportNvidiaSmiXml(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  SmiXmlReader reader(in, out.quality);
  Mapper mapper(in, options, out);
  SmiDocument document;
  while (true) {
    const bool more = TRY(reader.Next(&document));
    if (!more) return {};
    mapper.Map(document);
  }
}

}  // namespace idleburn
