#include "plan/parallel_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

// Whole texts that programs write are tried first, because their words would mean something else one by one. What is
// left is split into words of letters with a degree behind them.

namespace {

// A text, squashed, that names a way of sharding.
struct ShardingWord {
  std::string_view text;
  Sharding sharding;
  bool hybrid = false;
};

constexpr auto kWholeTexts = std::to_array<ShardingWord>({
    {"none", Sharding::kNone},
    {"noshard", Sharding::kNone},
    {"ddp", Sharding::kNone},
    {"0", Sharding::kNone},
    {"no", Sharding::kNone},
    {"off", Sharding::kNone},
    {"false", Sharding::kNone},
    {"zero0", Sharding::kNone},
    {"1", Sharding::kZero1},
    {"zero1", Sharding::kZero1},
    {"stage1", Sharding::kZero1},
    {"zerostage1", Sharding::kZero1},
    {"distributedoptimizer", Sharding::kZero1},
    {"2", Sharding::kZero2},
    {"zero2", Sharding::kZero2},
    {"stage2", Sharding::kZero2},
    {"zerostage2", Sharding::kZero2},
    {"shardgradop", Sharding::kZero2},
    {"3", Sharding::kZero3},
    {"zero3", Sharding::kZero3},
    {"stage3", Sharding::kZero3},
    {"zerostage3", Sharding::kZero3},
    {"fsdp", Sharding::kZero3},
    {"fsdp1", Sharding::kZero3},
    {"fsdp2", Sharding::kZero3},
    {"fullshard", Sharding::kZero3},
    {"true", Sharding::kZero3},
    {"yes", Sharding::kZero3},
    {"on", Sharding::kZero3},
    {"fullshardautowrap", Sharding::kZero3},
    {"gathered", Sharding::kGathered},
    {"hybrid", Sharding::kZero3, true},
    {"hsdp", Sharding::kZero3, true},
    {"hybridshard", Sharding::kZero3, true},
});

// Words that say nothing of memory or of how many GPUs share: number formats of exchanges, schedules that are usual.
constexpr auto kSaysNothing =
    std::to_array<std::string_view>({"async", "bf16", "1f1b", "auto", "wrap", "sp", "sequence", "parallel", "compile",
                                     "float8", "fp8", "and", "tensorwise", "rowwise"});

// A whole text without the library's name, and without "offload", which stands at either end of it.
std::string WithoutOffload(std::string text, bool* offload) {
  constexpr std::string_view kLibrary = "deepspeed";
  if (const std::size_t at = text.find(kLibrary); at != std::string::npos && text != kLibrary) {
    text.erase(at, kLibrary.size());
  }
  for (const std::string_view word : {"cpuoffload", "offload"}) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    *offload = true;
    text.erase(at, word.size());
  }
  return text;
}

// Words that spaces and signs separate; a dash belongs to a word, as in "ZeRO-3".
std::vector<std::string> PartsOfText(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ' ' || c == '_' || c == ',' || c == '+' || c == ';' || c == '/') {
      if (!parts.back().empty()) parts.emplace_back();
    } else if (IsAlnum(c)) {
      parts.back() += Lower(std::string_view(&c, 1));
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

const ShardingWord* WholeText(std::string_view text) {
  const auto* found =
      std::find_if(kWholeTexts.begin(), kWholeTexts.end(), [&](const ShardingWord& word) { return word.text == text; });
  return found == kWholeTexts.end() ? nullptr : &*found;
}

void Take(const ShardingWord& word, ParallelWords& read) {
  read.sharding = word.sharding;
  read.hybrid = read.hybrid || word.hybrid;
}

// Takes one word such as "tp8". False where it is not understood.
bool TakePart(const std::string& part, ParallelWords& read) {
  std::size_t digits = part.size();
  while (digits > 0 && IsDigit(part[digits - 1])) --digits;
  const std::string name = part.substr(0, digits);
  const std::optional<std::int64_t> degree = ParseInteger(std::string_view(part).substr(digits));
  const auto set = [&](std::optional<double>& into) {
    if (!degree || *degree < 1) return false;
    into = static_cast<double>(*degree);
    return true;
  };
  if (name == "tp") return set(read.tensor);
  if (name == "pp") return set(read.pipeline);
  if (name == "cp") return set(read.context);
  if (name == "ep") return set(read.expert);
  if (name == "vp") return set(read.virtual_stages);
  if (name == "ddp" || name == "dp") {
    if (!read.sharding) read.sharding = Sharding::kNone;
    return !degree || set(read.replicas);
  }
  if (name == "fsdp" || name == "hsdp") {
    read.sharding = Sharding::kZero3;
    read.hybrid = read.hybrid || name == "hsdp";
    return !degree || set(read.shards);
  }
  if (name == "interleaved") {
    read.virtual_stages = degree ? static_cast<double>(*degree) : read.virtual_stages.value_or(2);
    return true;
  }
  if (const ShardingWord* whole = WholeText(part)) return Take(*whole, read), true;
  return std::find(kSaysNothing.begin(), kSaysNothing.end(), part) != kSaysNothing.end();
}

}  // namespace

Result<ParallelWords> ReadParallelWords(std::string_view text) {
  ParallelWords read;
  const std::string squashed = WithoutOffload(Squash(text), &read.offload);
  if (squashed.empty()) {
    if (read.offload) read.sharding = Sharding::kZero3;
    return read;
  }
  if (const ShardingWord* whole = WholeText(squashed)) {
    Take(*whole, read);
    return read;
  }
  for (std::string part : PartsOfText(text)) {
    bool offload = false;
    part = WithoutOffload(part, &offload);
    if (part.empty() || part == "cpu") continue;
    if (TakePart(part, read)) continue;
    return FailUsage(
        fmt::format("sharding '{}': '{}' is not known; write none, zero1, zero2, zero3, fsdp, hybrid, or "
                    "degrees like fsdp8 tp2",
                    text.substr(0, 40), part.substr(0, 20)));
  }
  return read;
}

}  // namespace idleburn
