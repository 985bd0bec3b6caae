#include "diagnose/peer_wait.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace idleburn {
namespace {

struct Call {
  std::int64_t position = 0;  // the sequence number of the group, else the ordinal among the calls of one kind
  Interval at;
};

// Process group, operation, and whether its calls carry sequence numbers.
using Kind = std::tuple<std::string_view, std::string_view, bool>;
using RankCalls = std::map<Kind, std::vector<Call>>;

// Sends and receives are between two ranks; the kernel of that name serves them and all-to-all alike.
bool IsPairwise(std::string_view operation) {
  return operation == "send" || operation == "recv" || operation.find("SendRecv") != std::string_view::npos;
}

RankCalls CallsOf(const Profile& profile) {
  const ProfiledDevice& device = profile.devices.front();
  std::vector<Collective> all = device.collectives;
  if (all.empty()) {  // no names of collectives: the kernels' own
    for (std::size_t i = 0; i < device.events.size(); ++i) {
      const DeviceEvent& e = device.events[i];
      if (e.op == DeviceOp::kComm) all.push_back({i, kNoName, e.name, std::nullopt, -1});
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const Collective& a, const Collective& b) {
    return device.events[a.event].start_ns < device.events[b.event].start_ns;
  });
  RankCalls calls;
  for (const Collective& c : all) {
    const std::string_view operation = profile.names[c.operation];
    if (IsPairwise(operation)) continue;
    const DeviceEvent& e = device.events[c.event];
    std::vector<Call>& kind = calls[{profile.names[c.group], operation, c.sequence.has_value()}];
    kind.push_back({c.sequence.value_or(static_cast<std::int64_t>(kind.size())), {e.start_ns, e.end_ns}});
  }
  return calls;
}

// Ordinals mean the same call on two ranks only if both saw as many.
bool Alike(const Kind& kind, const std::vector<Call>& a, const std::vector<Call>& b) {
  return std::get<2>(kind) || a.size() == b.size();
}

// The shortest duration of each call over the ranks that have it, and how many have it.
struct Shortest {
  std::int64_t ns = 0;
  int ranks = 0;
};
using ShortestCalls = std::map<std::pair<Kind, std::int64_t>, Shortest>;

ShortestCalls ShortestOf(const std::vector<RankCalls>& ranks) {
  std::map<Kind, const std::vector<Call>*> example;
  std::set<Kind> unlike;
  for (const RankCalls& rank : ranks) {
    for (const auto& [kind, calls] : rank) {
      const auto [at, is_first] = example.try_emplace(kind, &calls);
      if (!is_first && !Alike(kind, *at->second, calls)) unlike.insert(kind);
    }
  }
  ShortestCalls shortest;
  for (const RankCalls& rank : ranks) {
    for (const auto& [kind, calls] : rank) {
      if (unlike.contains(kind)) continue;
      for (const Call& call : calls) {
        const auto [at, is_first] = shortest.try_emplace({kind, call.position}, Shortest{call.at.Ns(), 0});
        at->second.ns = std::min(at->second.ns, call.at.Ns());
        ++at->second.ranks;
      }
    }
  }
  return shortest;
}

PeerWait WaitOf(const RankCalls& rank, const ShortestCalls& shortest) {
  PeerWait wait;
  IntervalUnion waiting;
  for (const auto& [kind, calls] : rank) {
    for (const Call& call : calls) {
      const auto found = shortest.find({kind, call.position});
      if (found == shortest.end() || found->second.ranks < 2) {
        ++wait.unmatched;
        continue;
      }
      ++wait.matched;
      wait.own_ns += call.at.Ns();
      wait.transfer_ns += found->second.ns;
      waiting.Add({call.at.start, call.at.end - found->second.ns});
    }
  }
  wait.waiting = waiting.Take();
  return wait;
}

bool OneJob(std::span<const Profile> profiles) {
  std::set<std::int64_t> ranks;
  for (const Profile& p : profiles) {
    if (!p.rank || p.devices.size() != 1 || p.world_size != profiles.front().world_size) return false;
    ranks.insert(*p.rank);
  }
  return profiles.size() >= 2 && ranks.size() == profiles.size();
}

}  // namespace

std::vector<std::optional<PeerWait>> JoinRanks(std::span<const Profile> profiles) {
  std::vector<std::optional<PeerWait>> joined(profiles.size());
  if (!OneJob(profiles)) return joined;
  std::vector<RankCalls> calls;
  for (const Profile& p : profiles) calls.push_back(CallsOf(p));
  const ShortestCalls shortest = ShortestOf(calls);
  std::vector<PeerWait> waits;
  for (const RankCalls& rank : calls) waits.push_back(WaitOf(rank, shortest));
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
