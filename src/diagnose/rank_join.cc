#include "diagnose/rank_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "diagnose/trace_budget.h"
#include "profile/range_terms.h"

namespace idleburn {
namespace {

// What calls must share to be one collective: process group, operation, and whether they carry sequence numbers.
using Kind = std::tuple<std::string, std::string, bool>;
using Kinds = std::map<Kind, std::uint32_t>;

// A collective on one rank.
struct Call {
  std::uint32_t kind = 0;
  std::uint32_t rank = 0;     // index of the profile
  std::int64_t position = 0;  // sequence number of the group, else ordinal of the rank's calls of this kind
  Interval at;
};

// The operation by which ranks match, in one spelling. Sends and receives involve two ranks, which must be known. NCCL
// uses the kernel SendRecv for them and for all-to-all; without its host range nothing tells which. Empty: unknown.
std::string MatchedBy(const Profile& profile, const Collective& c) {
  const std::string& name = profile.names[c.operation];
  const std::string_view known = CollectiveOf(name);
  if (known != "send" && known != "recv" && known != "send_recv") return known.empty() ? name : std::string(known);
  if (c.from < 0 || c.to < 0) return "";
  return fmt::format("{} to {}", c.from, c.to);
}

// The collectives of a rank in the order of their start. A communication kernel that the file does not describe stands
// for itself, by its name.
std::vector<Collective> InOrder(const ProfiledDevice& device) {
  std::vector<Collective> all = device.collectives;
  std::vector<bool> described(device.events.size());
  for (const Collective& c : all) described[c.event] = true;
  for (std::size_t i = 0; i < device.events.size(); ++i) {
    const DeviceEvent& e = device.events[i];
    if (e.op == DeviceOp::kComm && !described[i]) all.push_back({i, kNoName, e.name, std::nullopt, -1});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Collective& a, const Collective& b) {
    return device.events[a.event].start_ns < device.events[b.event].start_ns;
  });
  return all;
}

// Adds the collectives of one rank.
void AddCalls(const Profile& profile, std::uint32_t rank, Kinds& kinds, std::vector<Call>& calls, PeerWait& wait) {
  const ProfiledDevice& device = profile.devices.front();
  std::vector<std::int64_t> seen;  // by kind
  for (const Collective& c : InOrder(device)) {
    const DeviceEvent& e = device.events[c.event];
    std::string by = MatchedBy(profile, c);
    if (by.empty()) {
      ++wait.unmatched;
      wait.unmatched_ns += e.end_ns - e.start_ns;
      continue;
    }
    const Kind kind{profile.names[c.group], std::move(by), c.sequence.has_value()};
    const std::uint32_t id = kinds.try_emplace(kind, static_cast<std::uint32_t>(kinds.size())).first->second;
    seen.resize(std::max<std::size_t>(seen.size(), id + 1));
    const std::int64_t ordinal = seen[id]++;
    calls.push_back({id, rank, c.sequence.value_or(ordinal), {e.start_ns, e.end_ns}});
  }
}

// The calls before the first one that `differs`.
template <typename Differs>
std::span<const Call> Leading(std::span<const Call> calls, Differs differs) {
  const auto end = std::find_if(calls.begin(), calls.end(), differs);
  return calls.first(static_cast<std::size_t>(end - calls.begin()));
}

// Compares one call on several ranks. The shortest duration is the transfer, or an upper bound of it if every rank
// waited a little. Longer ones waited for the rank of the shortest, which came last.
void AddWaits(std::span<const Call> same, std::vector<PeerWait>& waits, std::vector<IntervalUnion>& waiting) {
  const auto shorter = [](const Call& a, const Call& b) { return a.at.Ns() < b.at.Ns(); };
  const Call& last = *std::min_element(same.begin(), same.end(), shorter);
  const std::int64_t shortest = last.at.Ns();
  std::int64_t second = INT64_MAX;
  std::int64_t all_waited = 0;
  for (const Call& call : same) {
    PeerWait& wait = waits[call.rank];
    ++wait.matched;
    wait.own_ns += call.at.Ns();
    wait.transfer_ns += shortest;
    all_waited += call.at.Ns() - shortest;
    if (&call != &last) second = std::min(second, call.at.Ns());
    waiting[call.rank].Add({call.at.start, call.at.end - shortest});
  }
  PeerWait& late = waits[last.rank];
  ++late.last_in;
  late.caused_ns += all_waited;
  late.alone_ns += second - shortest;
}

// Matches the calls of one kind, sorted by position and rank. Ordinals identify a call only if all ranks saw
// the same number of calls.
void AddKind(std::span<const Call> kind, bool numbered, std::vector<PeerWait>& waits,
             std::vector<IntervalUnion>& waiting) {
  std::vector<std::span<const Call>> groups;
  for (auto rest = kind; !rest.empty(); rest = rest.subspan(groups.back().size())) {
    groups.push_back(Leading(rest, [&](const Call& call) { return call.position != rest.front().position; }));
  }
  const bool alike = numbered || groups.front().size() == groups.back().size();
  for (const std::span<const Call>& same : groups) {
    if (alike && same.front().rank != same.back().rank) {
      AddWaits(same, waits, waiting);
      continue;
    }
    for (const Call& call : same) {
      ++waits[call.rank].unmatched;
      waits[call.rank].unmatched_ns += call.at.Ns();
    }
  }
}

// Matches the collectives of all ranks. Sorting by kind, position and rank puts the same call of all ranks side
// by side.
std::vector<PeerWait> MatchCollectives(std::span<const Profile> profiles) {
  Kinds kinds;
  std::vector<Call> calls;
  std::vector<PeerWait> waits(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    AddCalls(profiles[i], static_cast<std::uint32_t>(i), kinds, calls, waits[i]);
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.kind, a.position, a.rank) < std::tie(b.kind, b.position, b.rank);
  });
  std::vector<bool> numbered(kinds.size());
  for (const auto& [kind, id] : kinds) numbered[id] = std::get<2>(kind);
  std::vector<IntervalUnion> waiting(profiles.size());
  for (std::span<const Call> rest = calls; !rest.empty();) {
    const std::uint32_t kind = rest.front().kind;
    const std::span<const Call> some = Leading(rest, [kind](const Call& call) { return call.kind != kind; });
    AddKind(some, numbered[kind], waits, waiting);
    rest = rest.subspan(some.size());
  }
  for (std::size_t i = 0; i < waits.size(); ++i) waits[i].waiting = waiting[i].Take();
  return waits;
}

// Whether the profiles were recorded at one time, as far as the clocks of their hosts agree.
bool AtOneTime(std::span<const Profile> profiles) {
  constexpr std::int64_t kClocksApart = 10 * 60 * kNanosPerSecond;
  std::int64_t last_start = INT64_MIN;
  std::int64_t first_end = INT64_MAX;
  for (const Profile& p : profiles) {
    if (!p.wall_base_ns) return true;  // unknown, so nothing contradicts it
    const Interval span = EventSpan(p.devices.front());
    last_start = std::max(last_start, span.start + *p.wall_base_ns);
    first_end = std::min(first_end, span.end + *p.wall_base_ns);
  }
  return last_start - kClocksApart <= first_end;
}

// The size of the job in words.
std::string JobSize(const Profile& p) {
  return p.world_size ? fmt::format("{} ranks", *p.world_size) : std::string("unknown size");
}

}  // namespace

// The first contradiction is the reason. Its words continue a sentence of the report.
std::string WhyApart(std::span<const Profile> profiles) {
  std::map<std::int64_t, const Profile*> ranks;
  for (const Profile& p : profiles) {
    const Profile& first = profiles.front();
    if (!p.rank) return p.file + " does not give its rank";
    const auto [other, is_new] = ranks.try_emplace(*p.rank, &p);
    if (!is_new) return fmt::format("two files have rank {}: {} and {}", *p.rank, other->second->file, p.file);
    if (p.devices.size() != 1) return fmt::format("{} holds {} GPUs, not one", p.file, p.devices.size());
    if (p.world_size != first.world_size) {
      return fmt::format("{} is from a job of {}, {} from one of {}", first.file, JobSize(first), p.file, JobSize(p));
    }
  }
  return AtOneTime(profiles) ? "" : "they were recorded more than ten minutes apart";
}

std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles) {
  std::vector<std::optional<PeerWait>> joined(profiles.size());
  if (profiles.size() < 2 || !WhyApart(profiles).empty()) return joined;
  std::vector<PeerWait> waits = MatchCollectives(profiles);
  std::size_t last = 0;
  for (std::size_t i = 1; i < waits.size(); ++i) {
    if (waits[i].caused_ns > waits[last].caused_ns) last = i;
  }
  const PeerWait late = waits[last];
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].matched == 0) continue;
    joined[i] = std::move(waits[i]);
    joined[i]->ranks = static_cast<std::int64_t>(profiles.size());
    joined[i]->all_ranks = profiles.front().world_size == joined[i]->ranks;
    joined[i]->last_rank = *profiles[last].rank;
    joined[i]->late_in = late.last_in;
    joined[i]->late_caused_ns = late.caused_ns;
    joined[i]->late_alone_ns = late.alone_ns;
  }
  return joined;
}

namespace {

// What of a message crosses each link, as a multiple of it: the documents of nccl-tests.
double BusFactor(std::string_view operation, double ranks) {
  if (operation == "all_reduce") return 2 * (ranks - 1) / ranks;
  const bool shared = operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all";
  return shared ? (ranks - 1) / ranks : 1;
}

struct PeerLink {
  std::string_view model;
  double gb_per_s;
};
// Data sheets: half of the two-way rate that they state. NVLink 2 to 5, Infinity Fabric. The first row that matches
// counts. PCIe boards of the same names have fewer links or none, and their names say PCIe.
constexpr auto kPeerLinks = std::to_array<PeerLink>({{"PCIE", 0},
                                                     {"PCIe", 0},
                                                     {"V100", 150},
                                                     {"A100", 300},
                                                     {"A800", 200},
                                                     {"H800", 200},
                                                     {"H100", 450},
                                                     {"H200", 450},
                                                     {"GH200", 450},
                                                     {"B200", 900},
                                                     {"B300", 900},
                                                     {"MI300X", 448},
                                                     {"MI325X", 448}});

}  // namespace

std::vector<CollectiveSpeed> MeasureCollectives(const Profile& profile, const ProfiledDevice& device) {
  std::map<std::pair<std::string_view, std::int64_t>, CollectiveSpeed> rows;
  for (const Collective& c : device.collectives) {
    const std::string_view operation = CollectiveOf(profile.names[c.operation]);
    if (operation.empty() || c.bytes <= 0 || c.ranks < 2) continue;
    const auto size = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(c.bytes)));
    CollectiveSpeed& row = rows[{operation, size}];
    row.operation = operation;
    row.from_bytes = size;
    ++row.count;
    row.bytes += c.bytes;
    row.ns += device.events[c.event].end_ns - device.events[c.event].start_ns;
    row.bus_gb_per_s += static_cast<double>(c.bytes) * BusFactor(operation, c.ranks);  // bytes; divided below
  }
  std::vector<CollectiveSpeed> speeds;
  for (auto& [key, row] : rows) {
    if (row.ns == 0) continue;
    row.bus_gb_per_s /= static_cast<double>(row.ns);
    speeds.push_back(row);
  }
  return speeds;
}

std::optional<double> PeerLinkGBs(std::string_view model) {
  for (const PeerLink& link : kPeerLinks) {
    if (model.find(link.model) == std::string_view::npos) continue;
    return link.gb_per_s > 0 ? std::optional(link.gb_per_s) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace idleburn
