// The counters of a node: what each GPU, team and job used, up to a UTC second. Pure arithmetic without clock, files
// or threads, so a test can run a month of it in a second.
//
// All counters are integers and come from the same seconds. So these sums hold exactly, for every phase:
//   jobs of a team = the team;   teams + _unallocated + _unknown + _other = the GPUs;   phases of a GPU = wall time.
// At every full hour the counters are copied ("closed"). Bills read only closed values: any one scrape in the next hour
// sees the exact value at the edge (docs/agent.md, "An exact bill").

#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/gpu_second.h"
#include "agent/host_pressure.h"
#include "base/result.h"
#include "classify/job_signal.h"
#include "owners/owner.h"

namespace idleburn {

// Time is counted in units of 1/840 ms, so that every share of 1 to 8 MIG slices is whole. A year of 16 GPUs needs 49
// bits.
inline constexpr std::int64_t kUnitsPerMs = 840;
using PhaseUnits = std::array<std::int64_t, kAgentPhaseCount>;

// A GPU or MIG instance of the node, with the share of a board that it is.
struct NodeGpuShare {
  std::string uuid;
  std::string name;  // "NVIDIA H100 80GB HBM3"
  int index = -1;    // of the driver; -1: unknown
  std::int64_t slices = 1;
  std::int64_t of_slices = 1;
};

// Counters of one GPU since its birth.
struct GpuCounters {
  NodeGpuShare gpu;
  std::int64_t born = 0;  // UTC second
  PhaseUnits live{};
  PhaseUnits closed{};
  std::array<std::int64_t, kAgentReasonCount> reasons{};
  std::array<std::int64_t, kIdleMemoryCount> idle{};
  std::array<std::int64_t, kDecileCount> deciles{};
  std::int64_t spin = 0;
  std::array<std::int64_t, kEventReasonCount> throttled{};
  std::int64_t energy_counter_mj = 0;
  std::int64_t energy_power_mj = 0;
  std::array<std::int64_t, kLinkFlowCount> link_bytes{};
};

// Counters of a team; bills read `closed`.
struct TeamCounters {
  std::int64_t born = 0;
  PhaseUnits live{};
  PhaseUnits closed{};
};
inline constexpr std::string_view kUnallocatedTeam = "_unallocated";
inline constexpr std::string_view kUnknownTeam = "_unknown";
inline constexpr std::string_view kOtherTeam = "_other";

// Counters of a job, over all its GPUs on the node.
struct JobCounters {
  std::int64_t born = 0;               // UTC second of its first counted time
  std::optional<std::int64_t> ended;   // UTC second; absent: it holds a GPU
  std::optional<std::int64_t> edge;    // the closed edge that `closed` shows; absent: it crossed none
  std::int64_t scrapes_since_end = 0;  // of the live family
  bool told = false;                   // its summary was written
  PhaseUnits live{};
  PhaseUnits closed{};
  std::int64_t idle_held = 0;      // units
  std::int64_t spin = 0;           // units; of GPUs that it holds alone
  std::int64_t busy_us_units = 0;  // mean utilization x time, in units of 1/840 us
  // By JobSignal, in units, since the agent counts them. Each is at most the time of its phases.
  SignalUnits signals{};

  // Whether the live series is still shown: a job that ended is, for three scrapes, at most for ten minutes. If it were
  // dropped at once, readers would lose 5 % of ten-minute jobs.
  [[nodiscard]] bool LiveShown(std::int64_t now) const;
};

// What may happen at a second besides its readings.
struct SecondFlags {
  bool skipped_by_clock = false;  // the wall clock jumped over it: an edge at its end is not published
  PressedSecond pressed = {};     // of the host
};

// How many owners are counted apart.
struct OwnerCaps {
  std::size_t teams = 64;
  std::size_t jobs = 100;  // exposed at one time, on the node
};

class NodeCounters {
 public:
  // `period` is the closing period in seconds, an hour on a real node. `born` is the UTC second from which the node is
  // counted, and the epoch of its closed counters.
  NodeCounters(std::int64_t born, std::int64_t period, OwnerCaps caps = {});

  // Adds a GPU from the next second on, or finds the one with this UUID. Returns its place.
  std::size_t Enter(const NodeGpuShare& gpu);
  // Who holds what from `at_ms` (Unix milliseconds) on, until the next call. What lies before is owned as before.
  // Times must not go back; an older one counts as the last.
  void Hold(std::int64_t at_ms, const Holdings& holdings);
  // Counts one second of all GPUs, in the order of Enter; GPUs without an entry count as gap. Seconds go up by one.
  void Add(std::span<const GpuSecond> gpus, SecondFlags flags = {});
  // Counts seconds [next(), to) in which nothing was measured.
  void AddWithout(std::int64_t to, std::size_t reason, SecondFlags flags = {});
  // The families of jobs were scraped once more.
  void OnScrape();

  [[nodiscard]] std::int64_t next() const { return next_; }  // first second that is not counted yet
  [[nodiscard]] std::int64_t epoch() const { return epoch_; }
  [[nodiscard]] std::int64_t period() const { return period_; }
  [[nodiscard]] std::optional<std::int64_t> closed_at() const { return closed_at_; }  // the newest published edge
  [[nodiscard]] const std::vector<GpuCounters>& gpus() const { return gpus_; }
  [[nodiscard]] const std::map<std::string, TeamCounters>& teams() const { return teams_; }
  [[nodiscard]] const std::map<Owner, JobCounters>& jobs() const { return jobs_; }
  // Owners that did not fit their cap, and holdings that named no GPU of this node.
  [[nodiscard]] std::int64_t capped() const { return capped_; }
  // Jobs that ended and whose summary was not written yet. Marks them as told.
  std::vector<std::pair<Owner, JobCounters>> TakeEnded();

  // The whole state as bytes, and back. FromBytes fails on bytes of another version or period.
  [[nodiscard]] std::string ToBytes() const;
  static Result<NodeCounters> FromBytes(const std::string& bytes, std::int64_t period, OwnerCaps caps = {});

 private:
  // A part of a GPU that an owner has. Without an owner: allocated, owner unknown.
  struct Part {
    std::optional<Owner> owner;
    std::int64_t part = 1;
    std::int64_t parts = 1;
    friend bool operator==(const Part&, const Part&) = default;
  };
  using Parts = std::vector<Part>;  // empty: not allocated
  // From this millisecond on these hold the GPUs, by place.
  struct Change {
    std::int64_t at_ms = 0;
    std::vector<Parts> parts;
  };
  // A stretch of idle time of a GPU that one job holds alone. Until it is long enough it may be a pause.
  struct IdleRun {
    std::optional<Owner> owner;  // absent: no stretch
    std::int64_t ms = 0;
    SignalUnits as_stretch{};  // what its time counts as, if it gets long enough
    SignalUnits as_pause{};    // and if not
  };
  // A piece of a GPU's second, for one constant set of holders.
  struct Piece {
    std::int64_t ms = 0;
    PhaseUnits units{};
    PressedSecond pressed;  // of the host, if no other job was on the node
  };
  void Count(std::size_t place, const GpuSecond& second, const SecondFlags& flags);
  void CountOwners(std::size_t place, const GpuSecond& second, const PhaseUnits& units, const SecondFlags& flags);
  JobCounters* Give(const Parts& parts, const GpuSecond& second, const PhaseUnits& units);
  JobCounters& GiveTo(const Part& part, const GpuSecond& second, const PhaseUnits& units);
  [[nodiscard]] static SignalUnits LowSignals(const GpuSecond& second, const Piece& piece);
  void CountSignals(const Owner& owner, const GpuSecond& second, const Piece& piece, IdleRun* run, JobCounters* job);
  [[nodiscard]] static bool HasOneJob(const Change& change);
  TeamCounters& TeamOf(std::string name);
  JobCounters& JobOf(const Owner& owner);
  void EndSecond(SecondFlags flags);
  void CloseEdge();
  void DropOldJobs();
  [[nodiscard]] std::set<Owner> Holders() const;

  std::int64_t period_;
  OwnerCaps caps_;
  std::int64_t epoch_;
  std::int64_t next_;
  std::optional<std::int64_t> closed_at_;
  std::vector<GpuCounters> gpus_;
  std::map<std::string, TeamCounters> teams_;
  std::map<Owner, JobCounters> jobs_;
  std::vector<Change> changes_;     // the first holds at next_; later ones follow in order of time
  std::vector<IdleRun> idle_runs_;  // by place; not in the bytes: a restart ends them
  std::int64_t capped_ = 0;
};

}  // namespace idleburn
