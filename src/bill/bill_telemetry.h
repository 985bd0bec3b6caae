#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "bill/bill_report.h"
#include "classify/thresholds.h"
#include "fleet/fleet_ledger.h"
#include "import/importer.h"

// What GPUs did, by node and hour, beside which a bill is laid. From the fleet's ledger of closed hours, or from logs
// and recordings that are classified hour by hour with the rules of an audit.
namespace idleburn {

// GPU-milliseconds of a node by use: the first parts of UsePart.
inline constexpr std::size_t kSeenParts = 5;
using SeenMs = std::array<std::int64_t, kSeenParts>;  // used, idle_held, idle, unallocated, unobserved

// The part of it that one owner held.
struct SeenOwner {
  int owner = 0;  // BillTelemetry::OwnerAt
  SeenMs ms{};
};

// What a node's GPUs did between two moments, Unix seconds.
struct SeenSpan {
  std::int64_t from = 0;
  std::int64_t to = 0;
  SeenMs ms{};
};

class BillTelemetry {
 public:
  // Adds the hours of a fleet's ledger. Owners take as much memory again, so they are read only if wanted.
  Result<void> AddLedger(const std::string& path, bool owners);
  // Adds logs and recordings. GPUs belong to the node that the input names; `options.hosts` names it for others.
  Result<void> AddInputs(const std::vector<std::string>& inputs, const ImportOptions& options,
                         const Thresholds& thresholds);
  // Names a resource of the bill for a node: a CSV with the columns resource and node.
  Result<void> ReadNames(const std::string& path);
  // Sorts what was added. Call it once, before the rest.
  void Finish();

  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  // The time from the first hour that anything was seen to the last. Unix seconds.
  [[nodiscard]] std::int64_t from() const { return from_; }
  [[nodiscard]] std::int64_t to() const { return to_; }

  // The node of a resource, by its id, its name or the last part of its id; -1 if there is none.
  [[nodiscard]] int NodeOf(std::string_view resource_id, std::string_view resource_name) const;
  // What the node did in [from, to). Absent if nothing was seen of it.
  [[nodiscard]] std::optional<SeenMs> Seen(int node, std::int64_t from, std::int64_t to) const;
  // The owners of the node's time in [from, to). A ledger knows them by job; logs and recordings know none.
  [[nodiscard]] std::vector<SeenOwner> OwnersIn(int node, std::int64_t from, std::int64_t to) const;
  [[nodiscard]] const CostOwner& OwnerAt(int owner) const { return owners_[static_cast<std::size_t>(owner)]; }
  [[nodiscard]] const std::vector<SeenSpan>& SpansOf(int node) const {
    return nodes_[static_cast<std::size_t>(node)].spans;
  }
  [[nodiscard]] const std::string& NameOf(int node) const { return nodes_[static_cast<std::size_t>(node)].name; }
  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  // Devices whose input names no machine.
  [[nodiscard]] std::int64_t nameless() const { return nameless_; }

  void Add(const std::string& node, const SeenSpan& span);

 private:
  struct OwnedSpan {
    SeenSpan span;
    int owner = 0;
  };
  struct Node {
    std::string name;
    std::vector<SeenSpan> spans = {};   // Finish sorts them and joins those of several GPUs
    std::vector<OwnedSpan> owned = {};  // parts of `spans`
    std::int64_t longest = 0;           // seconds
  };
  Node& At(const std::string& node);

  std::vector<Node> nodes_;
  std::vector<CostOwner> owners_;
  std::map<std::string, int, std::less<>> index_;          // by name in lower case
  std::map<std::string, std::string, std::less<>> names_;  // of a resource: its node, lower case
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
  std::int64_t nameless_ = 0;
};

// Opens a fleet's ledger of closed hours. Fails if there is none: nothing is created.
Result<FleetLedger> OpenLedger(const std::string& path);

}  // namespace idleburn
