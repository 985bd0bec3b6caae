#include "owners/gres_text.h"

#include <algorithm>

#include "measure/proc_files.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostIndexes = 1024;
constexpr std::size_t kMostNodes = 100'000;

// Removes the part before the next comma that stands outside brackets.
std::string_view TakePart(std::string_view* list) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < list->size(); ++end) {
    const char c = (*list)[end];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) break;
  }
  const std::string_view part = list->substr(0, end);
  list->remove_prefix(std::min(list->size(), end + 1));
  return part;
}

// "2" and "1K", a multiple of 1024.
std::optional<std::int64_t> ParseGresCount(std::string_view word) {
  const bool kilo = word.ends_with('K');
  if (kilo) word.remove_suffix(1);
  const auto count = NumberOf(word);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (!count || *count > kMost) return std::nullopt;
  return kilo ? *count * 1024 : *count;
}

// "1/4,0/4": shares used and total of each device, in the order of devices.
bool ReadFractions(std::string_view text, GresUse* use) {
  std::int64_t device = 0;
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t slash = part.find('/');
    if (slash == std::string_view::npos) return false;
    const auto used = NumberOf(part.substr(0, slash));
    const auto total = NumberOf(part.substr(slash + 1));
    if (!used || !total || *used > *total || device >= static_cast<std::int64_t>(kMostIndexes)) return false;
    if (*used > 0) {
      use->devices.push_back(device);
      use->shares.push_back(*used);
    }
    ++device;
  }
  return true;
}

// What stands in the brackets behind a count.
bool ReadPlaces(std::string_view text, GresUse* use) {
  if (text.starts_with("IDX:")) {
    text.remove_prefix(4);
    if (text == "N/A" || text.empty()) return use->count == 0;
    auto devices = ParseIndexList(text);
    if (!devices) return false;
    use->devices = *std::move(devices);
    return use->name != "gpu" || use->devices.size() == static_cast<std::size_t>(use->count);
  }
  // "S:0-1" names sockets and "CNT:2" a count: neither is a device.
  if (text.starts_with("S:") || text.starts_with("CNT:")) return true;
  return ReadFractions(text, use);
}

std::optional<GresUse> ParseOneGres(std::string_view part) {
  std::vector<std::string_view> places;
  while (part.ends_with(')')) {
    const std::size_t open = part.rfind('(');
    if (open == std::string_view::npos) return std::nullopt;
    places.push_back(part.substr(open + 1, part.size() - open - 2));
    part = part.substr(0, open);
  }
  const std::size_t first = part.find(':');
  const std::size_t last = part.rfind(':');
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  GresUse use;
  use.name = part.substr(0, first);
  const auto count = ParseGresCount(part.substr(last + 1));
  if (!count) return std::nullopt;
  use.count = *count;
  for (const std::string_view place : places) {
    if (!ReadPlaces(place, &use)) return std::nullopt;
  }
  return use;
}

// Whether `node` is `prefix`, a number of the range `first` to `last` with its leading zeros, and `suffix`.
std::optional<std::size_t> PlaceInRange(std::string_view node, std::string_view prefix, std::string_view suffix,
                                        std::string_view first, std::int64_t low, std::int64_t high) {
  if (!node.starts_with(prefix) || !node.substr(prefix.size()).ends_with(suffix)) return std::nullopt;
  const std::string_view digits = node.substr(prefix.size(), node.size() - prefix.size() - suffix.size());
  const auto number = NumberOf(digits);
  if (!number || *number < low || *number > high) return std::nullopt;
  const std::size_t width = std::max(first.size(), std::to_string(*number).size());
  return digits.size() == width ? std::optional(static_cast<std::size_t>(*number - low)) : std::nullopt;
}

// Adds the nodes of one part, "gpu[01-03,07]" or "gpu9", to *place. False if it has another form.
bool AddNodes(std::string_view part, std::string_view node, NodePlace* place) {
  const std::size_t open = part.find('[');
  if (open == std::string_view::npos) {
    if (part.empty() || part.find(']') != std::string_view::npos) return false;
    if (part == node && !place->position) place->position = place->nodes;
    ++place->nodes;
    return true;
  }
  const std::size_t close = part.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string_view prefix = part.substr(0, open);
  const std::string_view suffix = part.substr(close + 1);
  if (suffix.find('[') != std::string_view::npos) return false;  // nodes in several dimensions
  for (const std::string_view range : Split(part.substr(open + 1, close - open - 1), ',')) {
    const std::string_view first = range.substr(0, range.find('-'));
    const std::string_view last = range.find('-') == std::string_view::npos ? first : range.substr(first.size() + 1);
    const auto low = NumberOf(first);
    const auto high = NumberOf(last);
    if (!low || !high || *high < *low || *high - *low >= static_cast<std::int64_t>(kMostNodes)) return false;
    const auto at = PlaceInRange(node, prefix, suffix, first, *low, *high);
    if (at && !place->position) place->position = place->nodes + *at;
    place->nodes += static_cast<std::size_t>(*high - *low + 1);
    if (place->nodes > kMostNodes) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::int64_t>> ParseIndexList(std::string_view text) {
  std::vector<std::int64_t> list;
  for (const std::string_view range : Split(text, ',')) {
    const std::size_t dash = range.find('-');
    const auto low = NumberOf(range.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : NumberOf(range.substr(dash + 1));
    if (!low || !high || *high < *low || *high - *low >= static_cast<std::int64_t>(kMostIndexes)) return std::nullopt;
    if (!list.empty() && *low <= list.back()) return std::nullopt;
    for (std::int64_t i = *low; i <= *high; ++i) list.push_back(i);
    if (list.size() > kMostIndexes) return std::nullopt;
  }
  return list;
}

std::optional<std::vector<GresUse>> ParseGres(std::string_view text) {
  std::vector<GresUse> uses;
  if (text == "(null)" || text == "N/A") return uses;
  while (!text.empty()) {
    auto use = ParseOneGres(TakePart(&text));
    if (!use) return std::nullopt;
    uses.push_back(*std::move(use));
  }
  return uses;
}

std::optional<NodePlace> FindNode(std::string_view list, std::string_view node) {
  NodePlace place;
  while (!list.empty()) {
    if (!AddNodes(TakePart(&list), node, &place) || place.nodes > kMostNodes) return std::nullopt;
  }
  return place;
}

}  // namespace idleburn
