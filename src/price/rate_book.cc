#include "price/rate_book.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "price/resolve.h"
#include "telemetry/device.h"
#include "text/strings.h"

// Decides the rate of each GPU of a run. The order of the sources is that of docs/money.md, "Which price", and is
// written down once, in Finder::RateOf.
//
// Two rules shape the code. A source that applies but gives no price (a contract for a part of the run) stops the
// search: the next source would hide the problem behind a plausible amount. And nothing is guessed: without a source
// the rate has a reason instead of a price.

namespace idleburn {
namespace {

constexpr std::array<std::string_view, 5> kKindNames = {"none", "given", "contract", "owned", "catalogue"};

// Joins the candidates of `from` into `to`, each once, and widens the range so that it covers both.
void AddCandidates(const Rate& from, Rate* to) {
  for (const Rate::Candidate& c : from.candidates) {
    if (std::find(to->candidates.begin(), to->candidates.end(), c) == to->candidates.end()) to->candidates.push_back(c);
  }
  if (from.low) to->low = std::min(to->low.value_or(*from.low), *from.low);
  if (from.high) to->high = std::max(to->high.value_or(*from.high), *from.high);
}

}  // namespace

std::string_view Name(RateKind k) { return kKindNames[static_cast<std::size_t>(k)]; }

// Equal rates share one entry, so their GPU time is summed and priced together. Cards have few rates, so a linear
// search is enough.
void RateCard::Give(DeviceId device, const Rate& rate) {
  if (device >= of_.size()) of_.resize(device + 1, 0);
  const auto known = std::find(rates_.begin(), rates_.end(), rate);
  of_[device] = static_cast<std::size_t>(known - rates_.begin());
  if (known == rates_.end()) rates_.push_back(rate);
}

std::vector<Rate> RateCard::Used(std::span<const DeviceId> devices) const {
  std::vector<bool> used(rates_.size(), false);
  for (const DeviceId device : devices) used[IndexOf(device)] = true;
  std::vector<Rate> rates;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (used[i] || (devices.empty() && i == 0)) rates.push_back(rates_[i]);
  }
  return rates;
}

// A run with several rates has no single amount per GPU-hour. An average would depend on how long each GPU ran, and
// nobody could check it against a price list.
Rate OneRate(std::span<const Rate> rates) {
  if (rates.size() == 1) return rates.front();
  Rate one;
  one.reason = "no_price";
  bool priced = false;
  for (const Rate& rate : rates) {
    one.stale = one.stale || rate.stale;
    if (rate.per_gpu_hour) {
      if (!priced) one.kind = rate.kind;
      if (one.kind != rate.kind) one.kind = RateKind::kNone;
      one.currency = rate.currency;
      one.source += (one.source.empty() ? "" : "; ") + rate.source;
      priced = true;
    } else {
      AddCandidates(rate, &one);
      if (rate.reason != "no_price") one.reason = rate.reason;
    }
  }
  std::stable_sort(one.candidates.begin(), one.candidates.end(),
                   [](const Rate::Candidate& a, const Rate::Candidate& b) { return a.per_gpu_hour < b.per_gpu_hour; });
  if (priced) one.reason = "several_rates";
  return one;
}

namespace {

// Nodes or models that a sentence names before it counts the rest.
constexpr std::size_t kNamed = 8;

// A physical GPU of the run, with all it is known by. A MIG instance has no price of its own, so boards are priced.
struct PricedBoard {
  DeviceId id;
  GpuIdentity identity;
};

// "a100, b200 and 12 more": a cluster has too many names for one error message.
std::string Enumerated(const std::set<std::string>& names) {
  if (names.size() <= kNamed) return ListText(names);
  const std::vector<std::string> shown(names.begin(), std::next(names.begin(), kNamed));
  return ListText(shown) + " and " + std::to_string(names.size() - kNamed) + " more";
}

// What the run has, for a user who misspelled it.
std::string WhatThereIs(const std::vector<PricedBoard>& boards) {
  std::set<std::string> hosts;
  std::set<std::string> models;
  std::set<std::string> uuids;
  const auto put = [](std::string_view text, std::set<std::string>* into) {
    if (!text.empty()) into->emplace(text);
  };
  for (const PricedBoard& board : boards) {
    put(board.identity.host, &hosts);
    put(board.identity.name, &models);
    put(board.identity.uuid, &uuids);
  }
  std::string text;
  const auto add = [&](const char* what, const std::set<std::string>& names) {
    if (!names.empty()) text += (text.empty() ? "" : "; ") + std::string(what) + " " + Enumerated(names);
  };
  add("models", models);
  add("hosts", hosts);
  add("UUIDs", uuids);
  return text.empty() ? "GPUs without a name, host or UUID" : text;
}

// Finds the rates of one run. It is stateful: contracts have room for a number of GPUs, so the order of the calls
// matters.
class Finder {
 public:
  Finder(const RateBook& book, const std::optional<RunSpan>& span) : book_(book), span_(span) {
    left_.reserve(book.contracts.size());
    for (const Contract& contract : book.contracts) left_.push_back(contract.gpus.value_or(INT64_MAX));
    used_.resize(book.contracts.size());
  }

  // The order of the sources: stated price, contract, owned hardware, catalogue. The first one that applies decides.
  Result<Rate> RateOf(const GpuIdentity& gpu) {
    const RateBook::Stated* stated = TRY(StatedFor(gpu));
    if (stated != nullptr) return stated->rate;
    if (const std::optional<Rate> agreed = ContractFor(gpu)) return *agreed;
    return book_.owned ? *book_.owned : Listed(std::string(gpu.name));
  }

  // Remarks on contracts that pay for more GPUs than the run has, had no room for all of them, or cover a part of the
  // run.
  void Remark(RateCard* card) const {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Contract& contract = book_.contracts[i];
      if (partly_.count(i) > 0) {
        card->Remark(Describe(contract) + " covers " +
                     (span_ ? "only a part of this run; audit the parts before and after separately, or give --price"
                            : "a span of time, but this run has no dates; give --price"));
      }
      if (full_.count(i) > 0) {
        card->Remark(Describe(contract) + " covers fewer GPUs than it applies to; the others are priced without it");
      }
      if (used_[i] > 0 && contract.committed && left_[i] > 0) card->Remark(Unused(contract, used_[i], left_[i]));
    }
  }

 private:
  // The catalogue's rate. It is looked up once per model: a cluster has many GPUs of one.
  Result<Rate> Listed(const std::string& name) {
    if (const auto known = listed_.find(name); known != listed_.end()) return known->second;
    PriceRequest request;
    request.instance = book_.instance;
    request.region = book_.region;
    request.market = book_.market;
    if (!name.empty()) request.gpu_names = {name};
    request.now = book_.now;
    Result<Rate> rate = RateOfListed(book_.catalogue, request);
    if (rate) listed_.emplace(name, *rate);
    return rate;
  }

  // The stated price that names the GPU most closely; null without one. Two that name it equally closely are an
  // error, unless they agree on the price.
  Result<const RateBook::Stated*> StatedFor(const GpuIdentity& gpu) const {
    const RateBook::Stated* best = nullptr;
    const RateBook::Stated* rival = nullptr;
    int closest = 0;
    for (const RateBook::Stated& stated : book_.stated) {
      const int closeness = stated.gpus.Closeness(gpu);
      if (closeness == 0 || closeness < closest) continue;
      rival = closeness == closest ? best : nullptr;
      best = &stated;
      closest = closeness;
    }
    if (rival != nullptr && rival->rate.per_gpu_hour != best->rate.per_gpu_hour) {
      return FailUsage("--price: " + rival->text + " and " + best->text + " both name " + std::string(gpu.name) +
                       "; use a more specific name in one of them");
    }
    return best;
  }

  // How much of a run the term of a contract covers.
  enum class Cover { kNone, kPart, kWhole };
  // How much of the run the term of a contract covers. A run without dates may lie anywhere, so a contract with a
  // term covers it only partly.
  [[nodiscard]] Cover CoverOf(const Contract& contract) const {
    if (!contract.from && !contract.until) return Cover::kWhole;
    if (!span_) return Cover::kPart;
    const bool starts = !contract.from || span_->start >= *contract.from;
    const bool ends = !contract.until || span_->end <= *contract.until;
    if (starts && ends) return Cover::kWhole;
    const bool apart =
        (contract.from && span_->end <= *contract.from) || (contract.until && span_->start >= *contract.until);
    return apart ? Cover::kNone : Cover::kPart;
  }

  // Positions of the contracts that name a GPU and hold at some time of the run, closest first, then in order of the
  // file.
  [[nodiscard]] std::vector<std::size_t> ContractsOn(const GpuIdentity& gpu) const {
    std::vector<std::pair<int, std::size_t>> found;  // negative closeness, so that the closest sorts first
    for (std::size_t i = 0; i < book_.contracts.size(); ++i) {
      int closest = 0;
      for (const GpuSelector& gpus : book_.contracts[i].applies_to) closest = std::max(closest, gpus.Closeness(gpu));
      if (closest > 0 && CoverOf(book_.contracts[i]) != Cover::kNone) found.emplace_back(-closest, i);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::size_t> positions;
    for (const auto& [closeness, position] : found) positions.push_back(position);
    return positions;
  }

  // Takes room from the first contract that has some. Covering only a part of the run gives a rate without a price,
  // so that the next source cannot hide the problem.
  std::optional<Rate> ContractFor(const GpuIdentity& gpu) {
    for (const std::size_t i : ContractsOn(gpu)) {
      const Contract& contract = book_.contracts[i];
      if (left_[i] == 0) {
        full_.insert(i);
        continue;
      }
      --left_[i];
      if (CoverOf(contract) == Cover::kPart) {
        partly_.insert(i);
        Rate none;
        none.reason = "partly_under_contract";
        return none;
      }
      ++used_[i];
      Rate rate;
      rate.kind = RateKind::kContract;
      rate.currency = contract.currency;
      rate.per_gpu_hour = contract.per_gpu_hour;
      rate.source = Describe(contract);
      return rate;
    }
    return std::nullopt;
  }

  // What a commitment pays for GPUs that this run does not have. It is in no figure, because other runs may use
  // those.
  static std::string Unused(const Contract& contract, std::int64_t used, std::int64_t left) {
    const Result<Money> cost = Scale(*contract.committed, left, *contract.gpus);
    return "contract " + contract.name + " pays for " + std::to_string(*contract.gpus) + " GPUs, and this run has " +
           std::to_string(used) + ": the other " + std::to_string(left) + " cost " +
           (cost ? FormatExact(*cost) : std::string("more")) + " " + contract.currency +
           " an hour, and no figure here includes that";
  }

  const RateBook& book_;
  const std::optional<RunSpan>& span_;
  std::vector<std::int64_t> left_;  // room of each contract
  std::vector<std::int64_t> used_;  // GPUs that it prices
  std::set<std::size_t> partly_;
  std::set<std::size_t> full_;
  std::map<std::string, Rate> listed_;  // by model
};

// Finds stated prices that fit no GPU of the run, usually because of a misspelled name. Without this check a typing
// error would silently price a GPU by the catalogue.
Result<void> CheckStated(const RateBook& book, const std::vector<PricedBoard>& boards, RateCard* card) {
  for (const RateBook::Stated& stated : book.stated) {
    const bool meant = stated.gpus.all() || std::any_of(boards.begin(), boards.end(), [&](const PricedBoard& board) {
                         return stated.gpus.Closeness(board.identity) > 0;
                       });
    if (meant) continue;
    const std::string why = "--price " + stated.text + ": no GPU of this run is called " + stated.gpus.text() +
                            "; it has " + WhatThereIs(boards);
    if (book.must_apply) return FailUsage(why);
    card->Remark(why);
  }
  return {};
}

// A sentence if a catalogue price is that of another GPU than the run has; else empty. Of a range, all offers must be.
std::string OtherProduct(const RateBook& book, const Rate& rate, const GpuIdentity& gpu) {
  std::vector<std::string> keys;
  if (rate.kind == RateKind::kCatalogue) keys = {rate.key};
  if (rate.kind == RateKind::kNone) {
    for (const Rate::Candidate& candidate : rate.candidates) keys.push_back(candidate.key);
  }
  const CatalogueRow* first = nullptr;
  for (const std::string& key : keys) {
    const CatalogueRow* row = book.catalogue.Find(key);
    if (row == nullptr || !IsOtherProduct(*row, gpu.name)) return {};
    if (first == nullptr) first = row;
  }
  if (first == nullptr) return {};
  return KeyOf(*first) + " is the price of another GPU: it sells " + first->gpu + ", and this run has " +
         std::string(gpu.name);
}

// The boards of these devices, each once. They stand in the order in which people look for GPUs (host, index), because
// the first ones get the room of a contract. The result must not depend on the order of the readings. A board that was
// not read itself takes name and UUID from its instance.
std::vector<PricedBoard> PricedBoards(const RateBook& book, const DeviceTable& devices,
                                      std::span<const DeviceId> gpus) {
  std::map<DeviceId, PricedBoard> boards;
  for (const DeviceId gpu : gpus) {
    const DeviceId id = devices[gpu].board.value_or(gpu);
    const Device& board = devices[id];
    const Device& device = devices[gpu];
    boards.emplace(
        id, PricedBoard{id,
                        {board.uuid.empty() ? device.uuid : board.uuid, board.host.empty() ? book.host : board.host,
                         board.name.empty() ? device.name : board.name}});
  }
  std::vector<PricedBoard> list;
  for (const auto& [id, board] : boards) list.push_back(board);
  std::sort(list.begin(), list.end(),
            [&](const PricedBoard& a, const PricedBoard& b) { return StandsBefore(a.id, b.id, devices); });
  return list;
}

}  // namespace

Result<RateCard> RatesOf(const RateBook& book, const DeviceTable& devices, std::span<const DeviceId> gpus,
                         const std::optional<RunSpan>& span) {
  Finder finder(book, span);
  const std::vector<PricedBoard> boards = PricedBoards(book, devices, gpus);
  if (boards.empty()) {
    Rate any = TRY(finder.RateOf({}));
    return RateCard(std::move(any));
  }
  RateCard card;
  TRY(CheckStated(book, boards, &card));
  std::map<DeviceId, Rate> rates;
  std::set<std::string> others;
  std::set<std::string> foreign;  // keys that price a GPU they do not sell
  for (const PricedBoard& board : boards) {
    Rate rate = TRY(finder.RateOf(board.identity));
    if (std::string other = OtherProduct(book, rate, board.identity); !other.empty()) {
      others.insert(std::move(other));
      foreign.insert(rate.key);
    }
    rates.emplace(board.id, std::move(rate));
  }
  for (const PricedBoard& board : boards) {
    Rate& rate = rates.at(board.id);
    // A key may price GPUs that it sells and others that it does not. Cheaper offers of its product are no advice for
    // any of them, because the rates would differ only in that list and be printed as two prices.
    if (foreign.count(rate.key) > 0) rate.candidates.clear();  // a cheaper hour of that GPU is no offer for these
    card.Give(board.id, rate);
  }
  for (const DeviceId gpu : gpus) {
    if (devices[gpu].board) card.Give(gpu, rates.at(*devices[gpu].board));
  }
  for (const std::string& other : others) card.Remark(other);
  finder.Remark(&card);
  return card;
}

}  // namespace idleburn
