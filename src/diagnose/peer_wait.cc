#include "diagnose/peer_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "diagnose/trace_budget.h"

namespace idleburn {
namespace {

// What calls must share to be one collective: process group, operation, and whether they carry sequence numbers.
using Kind = std::tuple<std::string_view, std::string_view, bool>;
using Kinds = std::map<Kind, std::uint32_t>;

// A collective on one rank.
struct Call {
  std::uint32_t kind = 0;
  std::uint32_t rank = 0;     // index of the profile
  std::int64_t position = 0;  // sequence number of the group, else ordinal of the rank's calls of this kind
  Interval at;
};

// Sends and receives involve two ranks. NCCL uses the kernel of that name for them and for all-to-all.
bool IsPairwise(std::string_view operation) {
  return operation == "send" || operation == "recv" || operation.find("SendRecv") != std::string_view::npos;
}

// Adds the collectives of one rank in the order of their start.
void AddCalls(const Profile& profile, std::uint32_t rank, Kinds& kinds, std::vector<Call>& calls) {
  const ProfiledDevice& device = profile.devices.front();
  std::vector<Collective> all = device.collectives;
  if (all.empty()) {  // without named collectives, use the kernels themselves
    for (std::size_t i = 0; i < device.events.size(); ++i) {
      const DeviceEvent& e = device.events[i];
      if (e.op == DeviceOp::kComm) all.push_back({i, kNoName, e.name, std::nullopt, -1});
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const Collective& a, const Collective& b) {
    return device.events[a.event].start_ns < device.events[b.event].start_ns;
  });
  std::vector<std::int64_t> seen;  // by kind
  for (const Collective& c : all) {
    const std::string_view operation = profile.names[c.operation];
    if (IsPairwise(operation)) continue;
    const Kind kind{profile.names[c.group], operation, c.sequence.has_value()};
    const std::uint32_t id = kinds.try_emplace(kind, static_cast<std::uint32_t>(kinds.size())).first->second;
    seen.resize(std::max<std::size_t>(seen.size(), id + 1));
    const std::int64_t ordinal = seen[id]++;
    const DeviceEvent& e = device.events[c.event];
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
// waited a little. Longer ones waited.
void AddWaits(std::span<const Call> same, std::vector<PeerWait>& waits, std::vector<IntervalUnion>& waiting) {
  std::int64_t shortest = same.front().at.Ns();
  for (const Call& call : same) shortest = std::min(shortest, call.at.Ns());
  for (const Call& call : same) {
    PeerWait& wait = waits[call.rank];
    ++wait.matched;
    wait.own_ns += call.at.Ns();
    wait.transfer_ns += shortest;
    waiting[call.rank].Add({call.at.start, call.at.end - shortest});
  }
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
    } else {
      for (const Call& call : same) ++waits[call.rank].unmatched;
    }
  }
}

// Matches the collectives of all ranks. Sorting by kind, position and rank puts the same call of all ranks side
// by side.
std::vector<PeerWait> MatchCollectives(std::span<const Profile> profiles) {
  Kinds kinds;
  std::vector<Call> calls;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    AddCalls(profiles[i], static_cast<std::uint32_t>(i), kinds, calls);
  }
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
    return std::tie(a.kind, a.position, a.rank) < std::tie(b.kind, b.position, b.rank);
  });
  std::vector<bool> numbered(kinds.size());
  for (const auto& [kind, id] : kinds) numbered[id] = std::get<2>(kind);
  std::vector<PeerWait> waits(profiles.size());
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
  return p.world_size ? fmt::format("{} ranks", *p.world_size) : std::string("a size that is not said");
}

}  // namespace

// The first contradiction is the reason. Its words continue a sentence of the report.
std::string WhyApart(std::span<const Profile> profiles) {
  std::map<std::int64_t, const Profile*> ranks;
  for (const Profile& p : profiles) {
    const Profile& first = profiles.front();
    if (!p.rank) return p.file + " does not say its rank";
    const auto [other, is_new] = ranks.try_emplace(*p.rank, &p);
    if (!is_new) return fmt::format("rank {} is given twice: {} and {}", *p.rank, other->second->file, p.file);
    if (p.devices.size() != 1) return fmt::format("{} holds {} GPUs, not one", p.file, p.devices.size());
    if (p.world_size != first.world_size) {
      return fmt::format("{} is of a job of {}, {} of {}", first.file, JobSize(first), p.file, JobSize(p));
    }
  }
  return AtOneTime(profiles) ? "" : "they were recorded more than ten minutes apart";
}

std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles) {
  std::vector<std::optional<PeerWait>> joined(profiles.size());
  if (profiles.size() < 2 || !WhyApart(profiles).empty()) return joined;
  std::vector<PeerWait> waits = MatchCollectives(profiles);
  const auto waited = [](const PeerWait& w) { return w.own_ns - w.transfer_ns; };
  std::size_t last = profiles.size();
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].matched > 0 && (last == profiles.size() || waited(waits[i]) < waited(waits[last]))) last = i;
  }
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].matched == 0) continue;
    joined[i] = std::move(waits[i]);
    joined[i]->ranks = static_cast<std::int64_t>(profiles.size());
    joined[i]->all_ranks = profiles.front().world_size == joined[i]->ranks;
    joined[i]->last_rank = *profiles[last].rank;
  }
  return joined;
}

}  // namespace idleburn
