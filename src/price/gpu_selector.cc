#include "price/gpu_selector.h"

#include <algorithm>
#include <vector>

#include "telemetry/gpu_facts.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr int kAll = 1;
constexpr int kHost = 1000;  // no model has so many words
constexpr int kUuid = 1001;
constexpr std::size_t kShortestUuid = 8;  // "GPU-" and four digits

bool NamesUuid(std::string_view text, std::string_view uuid) {
  return text.size() >= kShortestUuid && StartsWithIgnoreCase(text, "GPU-") && StartsWithIgnoreCase(uuid, text);
}

// "node03" names node03.example.org and node03:9400, but 10 no address.
bool NamesHost(std::string_view text, std::string_view host) {
  if (text.empty() || !StartsWithIgnoreCase(host, text)) return false;
  if (host.size() == text.size()) return true;
  const bool number = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const char next = host[text.size()];
  return next == ':' || (next == '.' && !number);
}

std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words;
  const std::string normal = NormalGpuName(name);
  for (std::size_t at = 0; at < normal.size();) {
    const std::size_t space = std::min(normal.find(' ', at), normal.size());
    words.push_back(normal.substr(at, space - at));
    at = space + 1;
  }
  return words;
}

// The number of words, if all of them are words of `name`.
int WordsIn(const std::vector<std::string>& words, std::string_view name) {
  const std::vector<std::string> there = WordsOf(name);
  const bool in = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(there.begin(), there.end(), word) != there.end();
  });
  return in ? static_cast<int>(words.size()) : 0;
}

}  // namespace

GpuSelector::GpuSelector(std::string_view text) : text_(Trim(text)) {
  if (EqualsIgnoreCase(text_, "all")) text_.clear();
}

int GpuSelector::Closeness(const GpuIdentity& gpu) const {
  if (all()) return kAll;
  if (NamesUuid(text_, gpu.uuid)) return kUuid;
  if (NamesHost(text_, gpu.host)) return kHost;
  const std::vector<std::string> words = WordsOf(text_);
  int named = WordsIn(words, gpu.name);
  if (named == 0) {
    if (const std::optional<GpuFacts> facts = FactsFor(gpu.name)) named = WordsIn(words, facts->gpu);
  }
  return named == 0 ? 0 : kAll + named;
}

}  // namespace idleburn
