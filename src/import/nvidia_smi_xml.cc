#include <expat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "import/device_facts.h"
#include "import/formats.h"
#include "import/printed_values.h"
#include "import/tool_readers.h"
#include "telemetry/counter_choice.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {

// `nvidia-smi -q -x` in two steps: SmiXmlReader parses documents with expat, XmlMapper turns them into samples. Only
// this file uses expat.

namespace {

constexpr std::size_t kXmlBlock = 1 << 16;
// Limits of a document. They lie far above any report, and keep a damaged or hostile file from filling the memory.
constexpr std::int64_t kMaxDocument = 16 << 20;  // a document of 16 GPUs is about 1 MiB
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxPath = 256;
constexpr std::size_t kMaxText = 64 << 10;  // of one value; command lines are the longest
constexpr std::size_t kMaxEntries = 200'000;

// Long lists that say nothing about the present.
constexpr std::array<std::string_view, 2> kSkipped = {"supported_clocks", "accounted_processes"};

// The text without blanks and line ends at both ends. Trim of text/number.h keeps '\n'.
std::string_view TrimAll(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Builds a document from expat's events. It keeps every value by its path instead of asking for known elements, so
// that a new schema needs no new code here, and unknown elements can be counted.
class Builder {
 public:
  Builder(XML_Parser parser, SmiDocument* document)
      : parser_(parser), document_(document), record_(&document->leaves) {}

  // What is wrong with the document beyond its syntax. Empty if nothing is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // Length of the document in bytes, once its root is closed.
  [[nodiscard]] std::int64_t end() const { return end_; }

  // Opens an element.
  void Start(std::string_view name, const char** attributes) {
    if (frames_.empty() && name != "nvidia_smi_log") return Refuse("its root is not <nvidia_smi_log>");
    if (frames_.size() >= kMaxDepth) return Refuse("elements are nested too deeply");
    frames_.push_back({path_.size(), record_, base_});
    leaf_ = true;
    text_.clear();
    if (skip_ == 0 && std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end()) skip_ = frames_.size();
    // Paths leave out the root.
    if (skip_ != 0 || frames_.size() == 1) return;
    if (!path_.empty()) path_ += '/';
    path_ += name;
    if (++entries_ > kMaxEntries) return Refuse("it holds too many values");
    OpenRecord(name, attributes);
  }

  // Closes an element, and keeps its text if it has no children. At the root's end the parser is suspended, because
  // another document may follow.
  void End() {
    if (!refusal_.empty()) return;  // expat still closes an empty element after it was stopped
    const Frame frame = frames_.back();
    frames_.pop_back();
    // Only elements without children have a value, and only within a record.
    const bool value = leaf_ && skip_ == 0 && base_ < path_.size() && path_.size() - base_ <= kMaxPath;
    if (value) record_->Add(path_.substr(base_), TrimAll(text_));
    leaf_ = false;
    text_.clear();
    if (skip_ > frames_.size()) skip_ = 0;
    path_.resize(frame.path);
    record_ = frame.record;
    base_ = frame.base;
    if (!frames_.empty()) return;
    end_ = XML_GetCurrentByteIndex(parser_) + XML_GetCurrentByteCount(parser_);
    XML_StopParser(parser_, XML_TRUE);
  }

  // Adds text of the innermost element. expat may deliver one text in pieces.
  void Text(std::string_view text) {
    if (!leaf_ || skip_ != 0 || !refusal_.empty()) return;
    if (text_.size() + text.size() > kMaxText) return Refuse("a value is longer than 64 KiB");
    text_ += text;
  }

  // Keeps the schema's version from the DTD's name.
  void Doctype(const char* system_id) {
    // nvsmi_device_v12.dtd
    const std::string_view dtd = system_id == nullptr ? "" : system_id;
    const std::size_t v = dtd.rfind("_v");
    if (v == std::string_view::npos || dtd.size() > kMaxPath) return;
    document_->dtd = dtd.substr(v + 1, dtd.find('.', v) - v - 1);
  }

  // Stops the parser. The first reason counts.
  void Refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
    XML_StopParser(parser_, XML_FALSE);
  }

 private:
  // What to return to when an element closes.
  struct Frame {
    std::size_t path;
    Leaves* record;
    std::size_t base;
  };

  // <gpu>, <process_info> and <mig_device> begin a record of their own, whose paths start below it.
  void OpenRecord(std::string_view name, const char** attributes) {
    if (record_ == &document_->leaves) {
      if (name != "gpu" || frames_.size() != 2) return;
      SmiGpu& gpu = document_->gpus.emplace_back();
      for (const char** a = attributes; *a != nullptr; a += 2) {
        if (std::strcmp(a[0], "id") == 0) gpu.id = std::string_view(a[1]).substr(0, kMaxPath);
      }
      record_ = &gpu.leaves;
    } else if (SmiGpu& gpu = document_->gpus.back(); record_ == &gpu.leaves && name == "process_info") {
      record_ = &gpu.processes.emplace_back();
    } else if (record_ == &gpu.leaves && name == "mig_device") {
      record_ = &gpu.mig_devices.emplace_back();
    } else {
      return;
    }
    base_ = path_.size() + 1;
  }

  XML_Parser parser_;
  SmiDocument* document_;
  std::vector<Frame> frames_;
  std::string path_;  // open elements below the root
  Leaves* record_;
  std::size_t base_ = 0;  // start of the path within the record
  std::size_t skip_ = 0;  // depth of the list being skipped, or 0
  std::size_t entries_ = 0;
  bool leaf_ = false;  // the innermost open element has no children so far
  std::string text_;
  std::string refusal_;
  std::int64_t end_ = 0;
};

// expat's callbacks, each forwarded to the Builder behind the user data.
Builder& Of(void* data) { return *static_cast<Builder*>(data); }
void OnStart(void* data, const XML_Char* name, const XML_Char** attributes) { Of(data).Start(name, attributes); }
void OnEnd(void* data, const XML_Char* /*name*/) { Of(data).End(); }
void OnText(void* data, const XML_Char* text, int length) {
  Of(data).Text(std::string_view(text, static_cast<std::size_t>(length)));
}
void OnDoctype(void* data, const XML_Char* /*name*/, const XML_Char* system_id, const XML_Char* /*public_id*/,
               int /*has_internal_subset*/) {
  Of(data).Doctype(system_id);
}
// A report declares no entities. A file that does may expand without end.
void OnEntity(void* data, const XML_Char* /*name*/, int /*is_parameter*/, const XML_Char* /*value*/, int /*length*/,
              const XML_Char* /*base*/, const XML_Char* /*system_id*/, const XML_Char* /*public_id*/,
              const XML_Char* /*notation*/) {
  Of(data).Refuse("it declares entities");
}

}  // namespace

// Finds documents in the input and parses each with expat. One parser is reset between documents.
class SmiXmlReader::Impl {
 public:
  Impl(ByteSource& in, DataQuality& quality) : in_(in), quality_(quality), parser_(XML_ParserCreate(nullptr)) {
    buffer_.reserve(2 * kXmlBlock);
  }
  ~Impl() { XML_ParserFree(parser_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<bool> Next(SmiDocument* document) {
    while (true) {
      const Result<bool> found = FindDocument();
      if (!found) return found;
      if (!*found) break;
      *document = SmiDocument();
      document->line = line_;
      const Result<bool> whole = Parse(document);
      if (!whole || *whole) {
        any_ = true;
        return whole;
      }
    }
    if (any_) return false;
    if (first_error_.empty()) first_error_ = in_.name() + ": holds no <nvidia_smi_log> document";
    return Fail(first_error_ + "; expected the output of nvidia-smi -q -x");
  }

 private:
  // Reads more into the buffer. False at the end of the input.
  Result<bool> Fill() {
    const std::size_t old = buffer_.size();
    buffer_.resize(old + kXmlBlock);
    const Result<std::size_t> got = in_.Read(std::span(buffer_).subspan(old));
    buffer_.resize(old + (got ? *got : 0));
    if (!got) return tl::unexpected<Error>(got.error());
    return *got > 0;
  }

  // Removes bytes from the front of the buffer and counts their lines.
  void Drop(std::size_t n) {
    const auto stop = buffer_.begin() + static_cast<std::ptrdiff_t>(n);
    line_ += std::count(buffer_.begin(), stop, '\n');
    buffer_.erase(buffer_.begin(), stop);
  }

  // Moves to the beginning of the next document. False at the end. Text between documents (a message of the driver,
  // the rest of a broken document) is counted once per stretch. After a broken document, the next "<?xml" is
  // searched, because its remaining elements look like beginnings.
  Result<bool> FindDocument() {
    const std::string_view mark = broken_ ? "<?xml" : "<";
    bool junk = broken_;  // counted with the document
    while (true) {
      const std::string_view have(buffer_.data(), buffer_.size());
      const std::size_t at = have.find(mark);
      // A mark may be split between two reads, so its possible beginning is kept.
      const std::size_t keep = std::min(have.size(), mark.size() - 1);
      const std::size_t before = at != std::string_view::npos ? at : have.size() - keep;
      if (!junk && !TrimAll(have.substr(0, before)).empty()) {
        junk = true;
        quality_.Count(QualityId::kBadRow, {&in_.name(), line_});
      }
      Drop(before);
      if (at != std::string_view::npos) {
        broken_ = false;
        return true;
      }
      const Result<bool> more = Fill();
      if (!more || !*more) return more;
    }
  }

  // Parses the document at the front of the buffer. False if it is broken, which was counted. An error if it is
  // refused.
  Result<bool> Parse(SmiDocument* document) {
    XML_ParserReset(parser_, nullptr);
    Builder builder(parser_, document);
    XML_SetUserData(parser_, &builder);
    XML_SetElementHandler(parser_, OnStart, OnEnd);
    XML_SetCharacterDataHandler(parser_, OnText);
    XML_SetStartDoctypeDeclHandler(parser_, OnDoctype);
    XML_SetEntityDeclHandler(parser_, OnEntity);
    std::int64_t fed = 0;
    while (true) {
      const XML_Status status = XML_Parse(parser_, buffer_.data(), static_cast<int>(buffer_.size()), XML_FALSE);
      if (!builder.refusal().empty())
        return Fail(Where(document->line) + ": the document is refused: " + builder.refusal());
      // The document ended within the buffer; what follows it stays for the next.
      if (status == XML_STATUS_SUSPENDED) {
        Drop(static_cast<std::size_t>(builder.end() - fed));
        return true;
      }
      if (status == XML_STATUS_ERROR) {
        const std::int64_t progress = fed == 0 ? 1 : 0;  // never look at the same beginning twice
        BreakOff(std::max<std::int64_t>(XML_GetCurrentByteIndex(parser_) - fed, progress));
        return false;
      }
      fed += static_cast<std::int64_t>(buffer_.size());
      if (fed > kMaxDocument) return Fail(Where(document->line) + ": the document is longer than 16 MiB");
      Drop(buffer_.size());
      const Result<bool> more = Fill();
      if (!more) return more;
      if (!*more) {
        quality_.Count(QualityId::kTornRow, {&in_.name(), document->line});
        Note(Where(document->line) + ": the document is cut off");
        return false;
      }
    }
  }

  // Skips to where the document stopped being XML.
  void BreakOff(std::int64_t at) {
    Drop(std::min(static_cast<std::size_t>(at), buffer_.size()));
    Note(Where(line_) + ": not XML: " + XML_ErrorString(XML_GetErrorCode(parser_)));
    quality_.Count(QualityId::kBadRow, {&in_.name(), line_});
    broken_ = true;
  }

  // Keeps the first error, for an input that has no readable document at all.
  void Note(std::string error) {
    if (first_error_.empty()) first_error_ = std::move(error);
  }
  [[nodiscard]] std::string Where(std::int64_t line) const { return in_.name() + ":" + std::to_string(line); }

  ByteSource& in_;
  DataQuality& quality_;
  XML_Parser parser_;
  std::vector<char> buffer_;  // read and not yet parsed
  std::int64_t line_ = 1;     // line of the first byte in the buffer
  bool broken_ = false;       // the last document was not XML: search for "<?xml"
  bool any_ = false;
  std::string first_error_;
};

SmiXmlReader::SmiXmlReader(ByteSource& in, DataQuality& quality) : impl_(std::make_unique<Impl>(in, quality)) {}
SmiXmlReader::~SmiXmlReader() = default;
Result<bool> SmiXmlReader::Next(SmiDocument* document) { return impl_->Next(document); }

namespace {

// Where a signal is found below <gpu>, best source first. Instance signals are also found below <mig_device>. v13
// reports an average and an instant draw; v12 and older report one of them, unnamed.
struct XmlField {
  Signal signal;
  std::string_view path;
};
constexpr std::array<XmlField, 20> kXmlFields = {{
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

// Where parts of the PCIe link are found.
struct LinkSource {
  LinkPart part;
  std::string_view path;
};
constexpr std::array<LinkSource, 4> kLinkSources = {{
    {LinkPart::kGeneration, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {LinkPart::kMostGeneration, "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    {LinkPart::kWidth, "pci/pci_gpu_link_info/link_widths/current_link_width"},
    {LinkPart::kMostWidth, "pci/pci_gpu_link_info/link_widths/max_link_width"},
}};

// Elements of the event reasons, since v12 and before. Each reason's element is named "<element>_<reason>".
constexpr std::array<std::string_view, 2> kReasonElements = {"clocks_event_reason", "clocks_throttle_reason"};

// Leaves that identify a GPU or introduce its records.
constexpr std::array<std::string_view, 5> kIdentity = {"uuid", "product_name", "pci/pci_bus_id", "processes",
                                                       "mig_devices"};

// Multiprocessors of one compute slice (NVIDIA's MIG user guide, tables of profiles). A report names no profile.
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

// One GPU instance of a board, summed over its compute instances.
struct Instance {
  const Leaves* leaves = nullptr;  // of the first compute instance; all have the same memory
  std::int64_t multiprocessors = 0;
};

// Whole MiB. Absent if there is less than one.
std::optional<std::int64_t> Mebibytes(std::string_view text) {
  const std::int64_t whole = ReadQuantity(text, Unit::kByte, "MiB").value.value_or(0) >> 20;
  return whole > 0 ? std::optional(whole) : std::nullopt;
}

// Derives a profile such as "3g.71gb" from what the report has: slices from multiprocessors, and memory in eighths of
// the board's memory, as NVIDIA names profiles. If the slice size of the product is unknown, memory decides: on boards
// with seven slices an eighth is a slice, on smaller boards in proportion.
MigInstance DescribeInstance(std::string_view id, const Instance& instance, const SmiGpu& gpu) {
  MigInstance mig{std::string(id), "", 1};
  const std::string_view product = gpu.leaves.Get("product_name");
  const std::optional<std::int64_t> board = Mebibytes(gpu.leaves.Get("fb_memory_usage/total"));
  const std::optional<std::int64_t> own = Mebibytes(instance.leaves->Get("fb_memory_usage/total"));
  // Rounded to the nearest eighth, since some memory is reserved.
  const std::int64_t eighths = board && own ? std::clamp<std::int64_t>((*own * 16 / *board + 1) / 2, 1, 8) : 0;
  const std::int64_t most = BoardSlices(product);
  std::int64_t slices = most == 7 ? eighths : eighths * most / 8;
  // The last row that fits counts: "GH200" contains "H200", and both have slices of 16.
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

// From this much memory in use, some process holds it (docs/trusted-readings.md).
constexpr std::int64_t kHeldMemory = std::int64_t{100} << 20;

// The counter's name in reports: "nvidia_smi_xml.utilization/gpu_util".
std::string XmlCounterName(std::string_view path) { return "nvidia_smi_xml." + std::string(path); }

// A process with a compute context: C, C+G, M+C.
bool Computes(const Leaves& process) { return process.Get("type").find('C') != std::string_view::npos; }

// Turns documents into samples: one for each board and one for each GPU instance of MIG.
class XmlMapper {
 public:
  XmlMapper(const ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : out_(out), file_(in.name()), clock_(options, out.quality, in.name()) {}

  // Delivers the samples of one document.
  void Map(const SmiDocument& document) {
    place_ = {&file_, document.line};
    const Instant time = ReadTime(document);
    samples_.clear();
    // A position is an index only if the report lists every GPU of its host.
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
  // A document without a time has the time of the one before it.
  Instant ReadTime(const SmiDocument& document) {
    if (const std::optional<CivilTime> stamp = ParseCtime(document.leaves.Get("timestamp"))) {
      last_ = clock_.At(*stamp, false, document.line);
    } else {
      out_.quality.Count(QualityId::kNoTimestamp, place_);
    }
    return last_;
  }

  // Adds one sample for the board and one for each GPU instance. Compute instances of one GPU instance are summed
  // into it.
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
    // The link is told once per board.
    if (linked_.insert(board.device).second) {
      for (const LinkSource& link : kLinkSources) TellLink(board.device, link.part, gpu.leaves.Get(link.path), out_);
    }

    // Compute instances are listed one by one, each with the id of its GPU instance.
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
      // Reports have no activity of an instance. That is no data, not idle time.
      if (!sample.Has(Signal::kUtilization)) sample.SetUnavailable(Signal::kUtilization, Unobserved::kUnsupported);
    }
  }

  // Starts the sample of a device. Valid until the next call.
  Sample& Begin(const DeviceKey& key, Instant time) {
    Sample& sample = samples_.emplace_back();
    sample.time = time;
    sample.device = EnterDevice(key, out_, place_);
    return sample;
  }

  // Names the element that tells a signal, for reports.
  void Name(const Sample& sample, Signal signal, std::string_view path) {
    out_.devices.NameCounter(sample.device, signal, XmlCounterName(path));
  }

  // Whether this element tells the signal. The first element with a value tells it in the whole log, because two
  // counters of one signal must not mix. Elements that drivers renamed count as one.
  bool IsChosen(DeviceId device, const XmlField& field) {
    const XmlField* chosen = chosen_.emplace(std::pair(device, field.signal), &field).first->second;
    return chosen == &field || IsSameCounter(XmlCounterName(chosen->path), XmlCounterName(field.path));
  }

  // Reads the signals of one scope. A signal without a value counts the first element that should have had it.
  void Read(const Leaves& leaves, Scope scope, Sample& sample) {
    std::array<Quantity, kSignalCount> missing;
    std::uint32_t asked = 0;
    for (const XmlField& field : kXmlFields) {
      const std::optional<std::string_view> text = leaves.Find(field.path);
      if (!text || Info(field.signal).scope != scope || sample.Has(field.signal)) continue;
      const Unit unit = Info(field.signal).unit;
      const Quantity quantity = ReadQuantity(*text, unit, "");
      if (quantity.value && IsChosen(sample.device, field)) {
        sample.Set(field.signal, *quantity.value);
        Name(sample, field.signal, field.path);
        // Another element told the signal before. This one would mix two counters.
      } else if (quantity.value) {
        out_.quality.CountNamed(QualityId::kLateCounter, field.path, place_);
      } else if ((asked & Bit(field.signal)) == 0) {
        asked |= Bit(field.signal);
        missing[Index(field.signal)] = quantity;
      }
    }
    // Only a signal that no element told is missing.
    for (const SignalInfo& info : kSignals) {
      if ((asked & Bit(info.id)) == 0 || sample.Has(info.id)) continue;
      sample.SetUnavailable(info.id, missing[Index(info.id)].why);
      out_.quality.Count(missing[Index(info.id)].issue, place_);
    }
  }

  // Builds the mask of event reasons from one element per reason. The first group with a value counts:
  // "clocks_event_reasons" since v12, "clocks_throttle_reasons" before.
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
      // The group itself holds "N/A" if the GPU has no reasons.
      if (const std::optional<std::string_view> text = leaves.Find(group)) {
        sample.SetUnavailable(Signal::kEventReasons, WhyUnavailable(*text).value_or(Unobserved::kSentinel));
        out_.quality.Count(QualityId::kUnavailableValue, place_);
        return;
      }
    }
  }

  // Counts compute processes of the board, or of the GPU instance with that id. An empty <processes> means none. A
  // report without <processes> says nothing. Neither does an empty one while memory is in use, because a container does
  // not see the processes of others.
  void CountProcesses(const SmiGpu& gpu, std::string_view instance, Sample& sample) {
    const std::optional<std::string_view> text = gpu.leaves.Find("processes");
    if (gpu.processes.empty() && !text) return;
    if (gpu.processes.empty() && !text->empty() && *text != "None") {
      sample.SetUnavailable(Signal::kProcesses, WhyUnavailable(*text).value_or(Unobserved::kSentinel));
      out_.quality.Count(QualityId::kUnavailableValue, place_);
      return;
    }
    // If the driver's share is reported apart, used memory belongs to processes.
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

  // Counts elements that are not used, for the first GPU of an input. The others repeat them.
  void CountUnknown(const Leaves& leaves) {
    for (const auto& [path, text] : leaves.all()) {
      const std::string_view name = path;
      const auto is = [&](const XmlField& field) { return field.path == name; };
      const auto in_group = [&](std::string_view element) { return name.substr(0, element.size()) == element; };
      const auto is_link = [&](const LinkSource& link) { return link.path == name; };
      const bool used = std::any_of(kXmlFields.begin(), kXmlFields.end(), is) ||
                        std::any_of(kLinkSources.begin(), kLinkSources.end(), is_link) ||
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
  std::map<std::pair<DeviceId, Signal>, const XmlField*> chosen_;
  std::set<DeviceId> linked_;  // devices whose link was told
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
  XmlMapper mapper(in, options, out);
  SmiDocument document;
  while (true) {
    const bool more = TRY(reader.Next(&document));
    if (!more) return {};
    mapper.Map(document);
  }
}

}  // namespace idleburn
