#include "price/stated_price.h"

#include <algorithm>

#include "text/number.h"

namespace idleburn {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "2,50", as many countries write it, or "1,000", as others do: two whole numbers for the same GPUs.
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
                       "' is no price; write 2.49, or A100=1.29 for some of the GPUs");
    }
    const bool again = std::any_of(prices.begin(), prices.end(), [&](const StatedPrice& other) {
      return EqualsIgnoreCase(other.gpus.text(), price.gpus.text());
    });
    if (again && IsNumberWithComma(prices.back(), price)) {
      const std::string& first = prices.back().text;
      const bool thousands = price.text.size() == 3;
      return FailUsage("--price: '" + first + "," + price.text + "' is two prices for all GPUs, as a comma separates " +
                       "prices; write a decimal point, " + first + "." + price.text +
                       (thousands ? ", or of thousands no comma, " + first + price.text : ""));
    }
    if (again) {
      return FailUsage("--price: two prices for " + (price.gpus.all() ? "all GPUs" : price.gpus.text()) +
                       "; give one, and before others the GPUs they are for, like A100=1.29");
    }
    prices.push_back(std::move(price));
    if (comma >= text.size()) return prices;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace idleburn
