#include "plan/gpu_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Words beside a GPU's name that tell no models apart: vendors, kinds of memory, machines that hold them.
constexpr std::array<std::string_view, 28> kNoise = {
    "nvidia", "amd", "tesla", "instinct", "geforce", "quadro", "gpu",    "gpus",   "tensor", "core",
    "dgx",    "hgx", "oam",   "hbm2",     "hbm2e",   "hbm3",   "hbm3e",  "gddr6",  "gddr6x", "gddr7",
    "gb",     "ram", "vram",  "memory",   "nvl72",   "nvl36",  "server", "edition"};
constexpr std::array<std::string_view, 6> kMezzanine = {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6"};

bool IsNoise(std::string_view word) { return std::find(kNoise.begin(), kNoise.end(), word) != kNoise.end(); }

std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (IsAlnum(c) || c == '.') {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The number before one of the units: "80gb" has 80; 0 if it is none.
double MemoryIn(const std::string& word) {
  for (const std::string_view unit : {"gib", "gb", "g"}) {
    if (word.size() <= unit.size() || !word.ends_with(unit)) continue;
    return static_cast<double>(ParseInteger(word.substr(0, word.size() - unit.size())).value_or(0));
  }
  return 0;
}

// Takes "8x", "8 x" or "8*" from the front.
double TakeCount(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const std::optional<std::int64_t> count = ParseInteger(text.substr(0, end));
  const std::string_view rest = Trim(text.substr(end));
  if (!count || *count < 1 || rest.size() < 2 || (rest[0] != 'x' && rest[0] != 'X' && rest[0] != '*')) return 0;
  text = Trim(rest.substr(1));
  return static_cast<double>(*count);
}

// Takes "x8" or " x 8" from the end.
double TakeCountBehind(std::string_view& text) {
  std::size_t start = text.size();
  while (start > 0 && IsDigit(text[start - 1])) --start;
  const std::optional<std::int64_t> count = ParseInteger(text.substr(start));
  const std::string_view rest = Trim(text.substr(0, start));
  if (!count || *count < 1 || rest.size() < 3) return 0;
  const char last = rest.back();
  const char before = rest[rest.size() - 2];
  const bool times = (last == 'x' || last == 'X' || last == '*') && (before == ' ' || before == ')' || IsDigit(before));
  if (!times) return 0;
  text = Trim(rest.substr(0, rest.size() - 1));
  return static_cast<double>(*count);
}

}  // namespace

GpuWords GpuWordsOf(std::string_view name) {
  GpuWords said;
  const std::vector<std::string> words = WordsOf(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool apart = i + 1 < words.size() && (words[i + 1] == "gb" || words[i + 1] == "gib");  // "80 GB"
    const double memory = MemoryIn(apart ? words[i] + "gb" : words[i]);
    if (memory > 0) {
      said.memory_gb = memory;
    } else if (std::find(kMezzanine.begin(), kMezzanine.end(), words[i]) != kMezzanine.end()) {
      said.form = "sxm";
    } else if (words[i] == "pcie" || words[i] == "nvl") {
      said.form = words[i];
    } else if (!IsNoise(words[i])) {
      said.family += words[i];
    }
  }
  if (said.family.size() > 3 && said.family.starts_with("rtx")) said.family.erase(0, 3);  // "3090"
  return said;
}

CountedGpu CountedGpuOf(std::string_view text) {
  CountedGpu counted;
  std::string_view rest = Trim(text);
  for (double count = TakeCount(rest); count > 0; count = TakeCount(rest))
    counted.count = std::max(1.0, counted.count) * count;
  if (counted.count == 0) counted.count = TakeCountBehind(rest);
  counted.gpu = rest;
  return counted;
}

}  // namespace idleburn
