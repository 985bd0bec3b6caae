#include "telemetry/gpu_facts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/result.h"
#include "text/csv.h"
#include "text/number.h"

namespace idleburn {

namespace embedded {
extern const std::string_view gpus_csv;
}  // namespace embedded

namespace {

// A number of the table in a smaller unit; absent for an empty cell.
std::optional<std::int64_t> Scaled(std::string_view cell, std::int64_t factor) {
  if (cell.empty()) return std::nullopt;
  const std::optional<std::int64_t> value = ParseInteger(cell);
  CHECK(value);
  return *value * factor;
}

// Names are separated by '|', because some contain commas.
std::vector<std::string> SplitNames(std::string_view cell) {
  std::vector<std::string> names;
  while (!cell.empty()) {
    const std::size_t bar = std::min(cell.find('|'), cell.size());
    names.emplace_back(cell.substr(0, bar));
    cell.remove_prefix(std::min(bar + 1, cell.size()));
  }
  return names;
}

// The table is part of the program, so a mistake in it is a programming error and not an input error.
std::vector<GpuFacts> ReadFacts() {
  StringSource in{std::string(embedded::gpus_csv), "data/gpus.csv"};
  CsvTable table(in);
  constexpr std::array<std::string_view, 11> kColumns = {"gpu",       "names",       "power_limit_w", "max_sm_mhz",
                                                         "memory_gb", "half_tflops", "fp8_tflops",    "nvlink_gb_s",
                                                         "nvlinks",   "memory_gb_s", "source"};
  CHECK(table.ReadHeader() && table.Require(kColumns));
  std::vector<GpuFacts> all;
  while (true) {
    const Result<bool> more = table.Next();
    CHECK(more);
    if (!*more) return all;
    GpuFacts facts;
    facts.gpu = table.Cell("gpu");
    facts.names = SplitNames(table.Cell("names"));
    facts.power_limit_mw = Scaled(table.Cell("power_limit_w"), 1000);
    facts.max_sm_khz = Scaled(table.Cell("max_sm_mhz"), 1000);
    facts.memory_gb = Scaled(table.Cell("memory_gb"), 1);
    facts.half_tflops = Scaled(table.Cell("half_tflops"), 1);
    facts.fp8_tflops = Scaled(table.Cell("fp8_tflops"), 1);
    facts.nvlink_bytes_per_s = Scaled(table.Cell("nvlink_gb_s"), 1'000'000'000);
    facts.nvlinks = Scaled(table.Cell("nvlinks"), 1);
    facts.memory_bytes_per_s = Scaled(table.Cell("memory_gb_s"), 1'000'000'000);
    facts.source = table.Cell("source");
    all.push_back(std::move(facts));
  }
}

}  // namespace

std::string NormalGpuName(std::string_view name) {
  std::string text;
  for (const char c : Trim(name)) {
    const bool separator = c == ' ' || c == '-' || c == '_' || c == '\t';
    if (separator && (text.empty() || text.back() == ' ')) continue;
    text += separator ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  // An instance has the facts of its board.
  text = text.substr(0, text.find(" mig "));
  for (const std::string_view vendor : {"nvidia ", "amd ", "tesla ", "instinct "}) {
    if (text.compare(0, vendor.size(), vendor) == 0) text.erase(0, vendor.size());
  }
  return text;
}

std::span<const GpuFacts> AllGpuFacts() {
  static const std::vector<GpuFacts> all = ReadFacts();
  return all;
}

// Compares normal forms of whole names, because a part of a name fits several models.
std::optional<GpuFacts> FactsFor(std::string_view name) {
  const std::string wanted = NormalGpuName(name);
  for (const GpuFacts& facts : AllGpuFacts()) {
    const auto same = [&](const std::string& spelling) { return NormalGpuName(spelling) == wanted; };
    if (same(facts.gpu) || std::any_of(facts.names.begin(), facts.names.end(), same)) return facts;
  }
  return std::nullopt;
}

namespace {

bool IsAmdGpu(const std::string& name) {
  return name.starts_with("mi") || name.starts_with("radeon") || name.starts_with("gfx");
}

bool IsGeForce(const std::string& name) {
  return name.find("geforce") != std::string::npos || name.starts_with("rtx 20") || name.starts_with("rtx 30") ||
         name.starts_with("rtx 40") || name.starts_with("rtx 50") || name.starts_with("gtx ");
}

}  // namespace

bool CanReplace(std::string_view gpu, const GpuFacts& other) {
  const std::string own = NormalGpuName(gpu);
  const std::string theirs = NormalGpuName(other.gpu);
  return IsAmdGpu(own) == IsAmdGpu(theirs) && (IsGeForce(own) || !IsGeForce(theirs));
}

namespace {

// Compute slices of boards. Source: NVIDIA Multi-Instance GPU User Guide, "Supported GPUs" (number of instances) and
// "Supported MIG profiles".
struct MigBoard {
  std::string_view model;  // one or more words of the name
  int slices;
};
constexpr auto kMigBoards = std::to_array<MigBoard>({
    {"A30", 4},
    {"A100", 7},
    {"A100X", 7},
    {"A800", 7},
    {"H20", 7},
    {"H100", 7},
    {"H200", 7},
    {"H800", 7},
    {"GH200", 7},
    {"B100", 7},
    {"B200", 7},
    {"B300", 7},
    {"GB200", 7},
    {"GB300", 7},
    {"RTX PRO 6000 Blackwell", 4},
    {"RTX PRO 5000 Blackwell", 2},
    {"RTX PRO 4500 Blackwell", 2},
    {"Thor", 2},
});

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// A character as it is compared: exporters write "H100-SXM5-80GB" and "NVIDIA_A30" for names with blanks.
char Plain(char c) {
  return c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Whether `words` occur in the name as whole words, so that "A100" does not match "A1000".
bool HasWords(std::string_view name, std::string_view words) {
  const auto same = [](char a, char b) { return Plain(a) == Plain(b); };
  for (auto from = name.begin();; ++from) {
    from = std::search(from, name.end(), words.begin(), words.end(), same);
    if (from == name.end()) return false;
    const auto to = from + static_cast<std::ptrdiff_t>(words.size());
    if ((from == name.begin() || !IsWordPart(*(from - 1))) && (to == name.end() || !IsWordPart(*to))) return true;
  }
}

}  // namespace

std::optional<int> MigSlices(std::string_view gpu_name) {
  if (HasWords(gpu_name, "Laptop")) return std::nullopt;  // same names, but without MIG
  for (const MigBoard& board : kMigBoards) {
    if (HasWords(gpu_name, board.model)) return board.slices;
  }
  return std::nullopt;
}

}  // namespace idleburn
