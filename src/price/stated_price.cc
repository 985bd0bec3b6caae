#include "price/stated_price.h"

#include <algorithm>
#include <vector>

#include "telemetry/gpu_facts.h"
#include "text/number.h"
#include "text/strings.h"

// Reads --price and finds the GPUs that a price is for. A price for some GPUs goes before a price for all, so both can
// be given in one command. GpuSelector::Closeness is a number so that "more closely" is a comparison, whatever kinds of
// names are mixed.

namespace idleburn {

namespace {

// Values of Closeness. A model's name gives 1 + its number of matching words, so "A100 80GB" goes before "A100".
constexpr int kAll = 1;
constexpr int kHost = 1000;  // no model has so many words
constexpr int kUuid = 1001;
constexpr std::size_t kShortestUuid = 8;  // "GPU-" and four digits

// At least "GPU-" and four digits: fewer would fit GPUs by accident.
bool NamesUuid(std::string_view text, std::string_view uuid) {
  return text.size() >= kShortestUuid && StartsWithIgnoreCase(text, "GPU-") && StartsWithIgnoreCase(uuid, text);
}

// "node03" names node03.example.org and node03:9400. "10" names no address that begins so.
bool NamesHost(std::string_view text, std::string_view host) {
  if (text.empty() || !StartsWithIgnoreCase(host, text)) return false;
  if (host.size() == text.size()) return true;
  const bool number = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const char next = host[text.size()];
  return next == ':' || (next == '.' && !number);
}

// The words of a model's name in normal form: "NVIDIA A100-SXM4-80GB" and "a100 80gb" then share words.
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

// The number of words if all of them are words of `name`, else 0.
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
  // The driver's name first, then the catalogue's: people copy either.
  int named = WordsIn(words, gpu.name);
  if (named == 0) {
    if (const std::optional<GpuFacts> facts = FactsFor(gpu.name)) named = WordsIn(words, facts->gpu);
  }
  return named == 0 ? 0 : kAll + named;
}

namespace {

// "2,50" or "1,000" as many people write numbers. It reads as two prices for all GPUs, so the error explains the
// comma.
bool IsNumberWithComma(const StatedPrice& first, const StatedPrice& second) {
  return first.gpus.all() && AllDigits(first.text) && AllDigits(second.text);
}

}  // namespace

Result<std::vector<StatedPrice>> ParseStatedPrices(std::string_view text) {
  std::vector<StatedPrice> prices;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = Trim(text.substr(0, comma));
    const std::size_t equals = item.rfind('=');
    const bool named = equals != std::string_view::npos;
    StatedPrice price{GpuSelector(named ? item.substr(0, equals) : std::string_view()),
                      std::string(Trim(named ? item.substr(equals + 1) : item)), std::string(item)};
    if (price.price.empty() || (named && Trim(item.substr(0, equals)).empty())) {
      return FailUsage("--price: '" + std::string(item.substr(0, 60)) +
                       "' is not a price; write 2.49, or A100=1.29 for some of the GPUs");
    }
    const bool again = std::any_of(prices.begin(), prices.end(), [&](const StatedPrice& other) {
      return EqualsIgnoreCase(other.gpus.text(), price.gpus.text());
    });
    if (again && IsNumberWithComma(prices.back(), price)) {
      const std::string& first = prices.back().text;
      const bool thousands = price.text.size() == 3;
      return FailUsage("--price: '" + first + "," + price.text +
                       "' is two prices for all GPUs, because a comma separates prices; write a decimal point, " +
                       first + "." + price.text +
                       (thousands ? ", or no comma in thousands, " + first + price.text : ""));
    }
    if (again) {
      return FailUsage("--price: two prices for " + (price.gpus.all() ? "all GPUs" : price.gpus.text()) +
                       "; give one, and name the GPUs of the others, like A100=1.29");
    }
    prices.push_back(std::move(price));
    if (comma >= text.size()) return prices;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace idleburn
