#include "fleet/ledger_rebuild.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <unordered_map>

#include "os/folder.h"

namespace idleburn {
namespace {

// The spans of every node. All cells of a node's span begin and end with it.
Result<NodeSpans> SpansOf(FleetLedger& ledger) {
  NodeSpans spans;
  TRY(ledger.ForEach(CellKind::kGpu, 0, kLedgerEnd, [&](const LedgerCell& cell) {
    auto& of_node = spans[cell.name->node];
    if (of_node.empty() || of_node.back() != std::pair(cell.from, cell.to)) of_node.emplace_back(cell.from, cell.to);
  }));
  for (auto& [node, of_node] : spans) {
    std::sort(of_node.begin(), of_node.end());
    of_node.erase(std::unique(of_node.begin(), of_node.end()), of_node.end());
  }
  return spans;
}

// Adds to a ledger what another one knows beside it.
class Keeping {
 public:
  Keeping(FleetLedger& from, FleetLedger& to, const PullRequest& request, RebuildOutcome* outcome)
      : from_(from), to_(to), request_(request), outcome_(*outcome) {}

  Result<void> Run() {
    fresh_ = TRY(SpansOf(to_));
    const std::vector<std::string> months = from_.Months();
    for (const std::string& name : months) {
      MonthFile* const old = TRY(from_.Month(name));
      MonthFile* const month = TRY(to_.Month(name));
      TRY(month->Together([&] { return KeepCells(*old, month); }));
    }
    return KeepStates();
  }

 private:
  Result<void> KeepCells(MonthFile& old, MonthFile* month) {
    for (std::size_t k = 0; k < kCellKindCount; ++k) {
      const auto kind = static_cast<CellKind>(k);
      const std::vector<CellName>* const names = TRY(old.Names(kind));
      const auto keep_block = [&](CellBlock& block) -> Result<void> {
        const NamedCells cells = Kept(block, *names);
        if (kind == CellKind::kGpu) Count(block, cells);
        return cells.empty() ? Result<void>() : month->AddCells(kind, block.from, block.to, cells);
      };
      TRY(old.ForEachBlock(kind, {0, kLedgerEnd, 0, 0}, keep_block));
    }
    return {};
  }

  // The cells of nodes that the new ledger has no time of in this span.
  [[nodiscard]] NamedCells Kept(const CellBlock& block, const std::vector<CellName>& names) const {
    NamedCells cells;
    std::unordered_map<std::string, bool> known;  // by node: whether the new ledger has time of it
    for (const CellRow& row : block.rows) {
      if (row.id < 0 || static_cast<std::size_t>(row.id) >= names.size()) continue;
      const CellName& name = names[static_cast<std::size_t>(row.id)];
      const auto [node, unseen] = known.try_emplace(name.node, false);
      if (unseen) node->second = Overlaps(name.node, block.from, block.to);
      if (!node->second) cells.emplace_back(name, row.time);
    }
    return cells;
  }

  [[nodiscard]] bool Overlaps(const std::string& node, std::int64_t from, std::int64_t to) const {
    const auto spans = fresh_.find(node);
    if (spans == fresh_.end()) return false;
    const auto after = std::lower_bound(spans->second.begin(), spans->second.end(), std::pair(to, std::int64_t{0}));
    return after != spans->second.begin() && std::prev(after)->second > from;
  }

  void Count(const CellBlock& block, const NamedCells& cells) {
    if (cells.empty() || block.from >= request_.last || block.to <= request_.first) return;
    for (const auto& [name, time] : cells) outcome_.kept_ms += time.TotalMs();
    outcome_.kept_from = outcome_.kept_to == 0 ? block.from : std::min(outcome_.kept_from, block.from);
    outcome_.kept_to = std::max(outcome_.kept_to, block.to);
  }

  // Reaches before the window stay as they were. A node that the engine did not move as far stands where it stood.
  Result<void> KeepStates() {
    const std::vector<LedgerReach> reaches = TRY(from_.Reaches());
    for (const LedgerReach& reach : reaches) {
      const std::map<std::string, std::int64_t> firsts = TRY(from_.FirstEdges(reach.begin));
      std::map<std::string, NodeMark> marks = TRY(from_.Marks(reach.begin));
      if (reach.begin < request_.first) {
        TRY(to_.MoveReach(reach.begin, request_.first));
        TRY(KeepMarks(reach.begin, firsts, &marks));
      }
      if (reach.end) continue;
      const std::map<std::string, NodeMark> now = TRY(to_.Marks(request_.first));
      std::erase_if(marks, [&](const auto& mark) {
        const auto moved = now.find(mark.first);
        return moved != now.end() && moved->second.edge >= mark.second.edge;
      });
      TRY(KeepMarks(request_.first, firsts, &marks));
    }
    return {};
  }

  Result<void> KeepMarks(std::int64_t begin, const std::map<std::string, std::int64_t>& firsts,
                         std::map<std::string, NodeMark>* marks) {
    for (auto& [node, mark] : *marks) {
      if (const auto first = firsts.find(node); first != firsts.end()) mark.first = first->second;
      MonthFile* const month = TRY(to_.Month(MonthOf(mark.edge)));
      TRY(month->SetMark(begin, node, mark));
    }
    return {};
  }

  FleetLedger& from_;
  FleetLedger& to_;
  const PullRequest& request_;
  RebuildOutcome& outcome_;
  NodeSpans fresh_;
};

Result<RebuildOutcome> FillNew(Engine& engine, const std::string& path, const std::string& fresh, Nanos patience,
                               PullRequest request) {
  FleetLedger old = TRY(FleetLedger::Open(path, patience));
  FleetLedger ledger = TRY(FleetLedger::Open(fresh, patience));
  const NodeSpans known = TRY(SpansOf(old));
  request.known = &known;
  RebuildOutcome outcome;
  outcome.pull = TRY(PullHours(engine, ledger, request));
  TRY(Keeping(old, ledger, request, &outcome).Run());
  return outcome;
}

}  // namespace

Result<RebuildOutcome> RebuildLedger(Engine& engine, const std::string& path, Nanos patience,
                                     const PullRequest& request) {
  const FolderLock lock = TRY(FleetLedger::LockToReplace(path, patience));
  const std::string fresh = BesideFolder(path, ".rebuild");
  std::error_code ignored;
  std::filesystem::remove_all(fresh, ignored);
  Result<RebuildOutcome> outcome = FillNew(engine, path, fresh, patience, request);
  if (outcome && renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
    outcome = Fail(path + ": the rebuilt ledger cannot take its place: " + std::strerror(errno));
  }
  std::filesystem::remove_all(fresh, ignored);
  return outcome;
}

}  // namespace idleburn
