#include "import/dcgmi_dmon.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "import/metric_readings.h"
#include "import/metric_table.h"
#include "import/reading_writer.h"
#include "import/stamp.h"
#include "text/escape.h"
#include "text/line_reader.h"
#include "text/number.h"

namespace idleburn {
namespace {

// Short names of fields (DcgmFieldGetById(...)->valueFormat->shortName) and what exporters call them.
struct ShortName {
  std::string_view column;
  std::string_view metric;
};
constexpr ShortName kShortNames[] = {
    {"SMCLK", "DCGM_FI_DEV_SM_CLOCK"},
    {"SMMAX", "DCGM_FI_DEV_MAX_SM_CLOCK"},
    {"DVCCTR", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"},
    {"TMPTR", "DCGM_FI_DEV_GPU_TEMP"},
    {"POWER", "DCGM_FI_DEV_POWER_USAGE"},
    {"POWINST", "DCGM_FI_DEV_POWER_USAGE_INSTANT"},
    {"PMDEF", "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF"},
    {"EPLMT", "DCGM_FI_DEV_ENFORCED_POWER_LIMIT"},
    {"TOTEC", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"},
    {"GPUTL", "DCGM_FI_DEV_GPU_UTIL"},
    {"MCUTL", "DCGM_FI_DEV_MEM_COPY_UTIL"},
    {"FBTTL", "DCGM_FI_DEV_FB_TOTAL"},
    {"FBFRE", "DCGM_FI_DEV_FB_FREE"},
    {"FBUSD", "DCGM_FI_DEV_FB_USED"},
    {"GRACT", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"},
    {"SMACT", "DCGM_FI_PROF_SM_ACTIVE"},
    {"TENSO", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"},
    {"DRAMA", "DCGM_FI_PROF_DRAM_ACTIVE"},
    {"PCITX", "DCGM_FI_PROF_PCIE_TX_BYTES"},
    {"PCIRX", "DCGM_FI_PROF_PCIE_RX_BYTES"},
    {"NVLTX", "DCGM_FI_PROF_NVLINK_TX_BYTES"},
    {"NVLRX", "DCGM_FI_PROF_NVLINK_RX_BYTES"},
};

const Metric* MetricOf(std::string_view column) {
  const auto* const found = std::find_if(std::begin(kShortNames), std::end(kShortNames),
                                         [column](const ShortName& row) { return row.column == column; });
  return found == std::end(kShortNames) ? nullptr : FindMetric(found->metric);
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line = Trim(line);
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// The names of the columns, if that is a header: "#Entity  GPUTL  POWER", older "# Entity  GPUTL  POWER".
std::vector<std::string_view> Header(std::string_view line) {
  std::vector<std::string_view> words = Words(line);
  if (words.size() > 1 && words[0] == "#" && words[1] == "Entity") words.erase(words.begin());
  if (words.empty() || (words[0] != "#Entity" && words[0] != "Entity") || Trim(line).front() != '#') return {};
  words.erase(words.begin());
  return words;
}

class DcgmiDmon {
 public:
  DcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out)
      : lines_(in), options_(options), out_(out), writer_(out), readings_(out, writer_) {}

  Result<void> Run() {
    if (!options_.start || !options_.period) {
      return Fail(lines_.name() +
                  ": dcgmi dmon prints no times; say --start TIME of the first row and --period TIME "
                  "between two rows of a GPU, such as --start 2026-07-03T22:22:01Z --period 1s");
    }
    std::string_view line;
    while (true) {
      const bool more = TRY(lines_.Next(&line));
      if (!more) break;
      ReadLine(line);
    }
    readings_.Finish();
    if (any_) return {};
    return Fail(lines_.name() + ": no row of a GPU has a known field; record dcgmi dmon -e 203,155,252,1002");
  }

 private:
  [[nodiscard]] Place Here() const { return {&lines_.name(), lines_.number()}; }

  void ReadLine(std::string_view line) {
    if (Trim(line).empty()) return;
    if (const std::vector<std::string_view> names = Header(line); !names.empty()) return SetColumns(names);
    const std::vector<std::string_view> words = Words(line);
    if (words[0] == "ID" || words[0] == "Id") return;  // of the units, which the fields fix
    const std::optional<std::int64_t> id = words.size() > 1 ? ParseInteger(words[1]) : std::nullopt;
    const bool entity = id && *id >= 0 && *id <= kMostIds;
    if (entity && words[0] != "GPU") {  // an instance of unknown size, a switch, a CPU
      return out_.quality.CountNamed(QualityId::kUnknownColumn, "rows of " + Printable(words[0]), Here());
    }
    if (!entity || words.size() != columns_.size() + 2) {
      return out_.quality.Count(lines_.terminated() ? QualityId::kBadRow : QualityId::kTornRow, Here());
    }
    // Digits of a number that is cut off would make another one.
    if (!lines_.terminated()) return out_.quality.Count(QualityId::kTornRow, Here());
    ReadRow(static_cast<int>(*id), words);
  }

  void SetColumns(const std::vector<std::string_view>& names) {
    columns_.clear();
    for (const std::string_view name : names) {
      columns_.push_back(MetricOf(name));
      if (columns_.back() == nullptr && unknown_.insert(std::string(name)).second) {
        out_.quality.CountNamed(QualityId::kUnknownColumn, Printable(name), Here());
      }
    }
  }

  void ReadRow(int id, const std::vector<std::string_view>& words) {
    if (!sweep_.insert(id).second) {
      sweep_ = {id};
      ++sweeps_;
    }
    std::int64_t since = 0;
    if (__builtin_mul_overflow(sweeps_, options_.period->count(), &since) || since > kLongest) {
      return out_.quality.Count(QualityId::kBadRow, Here());
    }
    DeviceKey key;
    key.index = id;
    const DeviceId device = EnterDevice(key, out_, Here());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == nullptr) continue;
      any_ = true;
      readings_.Add(*columns_[i], device, 0, *options_.start + Nanos(since), words[i + 2], Here());
    }
  }

  static constexpr std::int64_t kMostIds = 4096;
  static constexpr std::int64_t kLongest = 20 * 366 * 24 * kNanosPerHour;

  LineReader lines_;
  const ImportOptions& options_;
  ImportTarget& out_;
  ReadingWriter writer_;
  MetricReadings readings_;
  std::vector<const Metric*> columns_;  // behind the entity; null: not known
  std::set<std::string> unknown_;
  std::set<int> sweep_;  // GPUs that the present sweep has named
  std::int64_t sweeps_ = 0;
  bool any_ = false;
};

}  // namespace

bool SniffDcgmiDmon(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (!Header(head.substr(0, end)).empty()) return true;
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

Result<void> ImportDcgmiDmon(ByteSource& in, const ImportOptions& options, ImportTarget& out) {
  return DcgmiDmon(in, options, out).Run();
}

}  // namespace idleburn
