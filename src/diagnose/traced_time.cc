#include "diagnose/traced_time.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "diagnose/painted_time.h"
#include "profile/kernel_family.h"

namespace idleburn {

std::string_view Name(TimeBy by) {
  constexpr std::array<std::string_view, kTimesBy> kNames = {"kernel", "family", "operator",
                                                             "module", "range",  "python"};
  return kNames[static_cast<std::size_t>(by)];
}

bool TracedTime::Has(TimeBy by) const {
  const TimeTable& table = Table(by);
  return std::any_of(table.rows.begin(), table.rows.end(), [](const TimeRow& row) { return !row.name.empty(); });
}

namespace {

void Add(const TimeRow& from, TimeRow& to) {
  to.count += from.count;
  to.within_ns += from.within_ns;
  to.own_ns += from.own_ns;
}

// Sorts the rows and cuts them to TimeTable::kMost. A row without a name comes after all with one.
TimeTable Sorted(std::vector<TimeRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const TimeRow& a, const TimeRow& b) {
    if (a.name.empty() != b.name.empty()) return b.name.empty();
    return a.own_ns != b.own_ns ? a.own_ns > b.own_ns : a.name < b.name;
  });
  TimeTable table;
  const bool nameless = !rows.empty() && rows.back().name.empty();
  while (rows.size() > TimeTable::kMost) {
    const auto last = rows.end() - (nameless ? 2 : 1);
    Add(*last, table.rest);
    rows.erase(last);
  }
  table.rows = std::move(rows);
  return table;
}

// Sums by the id that names an event in one table.
using TimeSums = std::unordered_map<std::uint32_t, TimeRow>;

// The rows of a table with their names. Ids of the same name become one row: a class of modules has many instances.
template <typename NameOf>
TimeTable Named(const TimeSums& sums, NameOf name_of) {
  std::map<std::string, TimeRow> rows;
  for (const auto& [id, sum] : sums) {
    std::string name = name_of(id);
    TimeRow& row = rows[name];
    row.name = std::move(name);
    row.family = sum.family;
    Add(sum, row);
  }
  std::vector<TimeRow> all;
  for (auto& [name, row] : rows) all.push_back(std::move(row));
  return Sorted(std::move(all));
}

constexpr std::array<std::pair<TimeBy, ScopeKind>, kScopeKinds> kByScope = {{{TimeBy::kOperator, ScopeKind::kOperator},
                                                                             {TimeBy::kModule, ScopeKind::kModule},
                                                                             {TimeBy::kRange, ScopeKind::kRange},
                                                                             {TimeBy::kPython, ScopeKind::kPython}}};

}  // namespace

TracedTime MeasureTracedTime(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches,
                             const LaunchScopes& scopes, const TraceBudget& budget, std::size_t steps) {
  TracedTime time;
  time.window_ns = budget.span.Ns();
  time.busy_ns = budget.busy_ns;
  time.steps = steps;
  time.scopes_left_out = profile.scopes_left_out;
  TimeSums kernels;
  std::array<TimeSums, kScopeKinds> by_scope;
  const StartOrder<DeviceEvent> order(device.events);
  PaintEvents(device, order, budget.span, [&](std::uint32_t row, std::int64_t within_ns, std::int64_t own_ns) {
    const DeviceEvent& e = device.events[row];
    const TimeRow one{"", "", 1, within_ns, own_ns};
    TimeRow& kernel = kernels[e.name];
    if (kernel.count == 0) kernel.family = KernelFamily(profile.names[e.name], e.op, e.copy);
    Add(one, kernel);
    const HostCall* call = launches.IsAmbiguous(e) ? nullptr : launches.Of(e);
    const ScopesAround around = call == nullptr ? ScopesAround{} : scopes.Of(*call);
    for (std::size_t kind = 0; kind < kScopeKinds; ++kind) Add(one, by_scope[kind][around[kind]]);
  });
  auto& tables = time.tables;
  const auto at = [&tables](TimeBy by) -> TimeTable& { return tables[static_cast<std::size_t>(by)]; };
  at(TimeBy::kKernel) = Named(kernels, [&](std::uint32_t id) { return profile.names[id]; });
  std::map<std::string_view, TimeRow> families;
  for (const auto& [id, sum] : kernels) {
    TimeRow& family = families[sum.family];
    family.name = family.family = sum.family;
    Add(sum, family);
  }
  std::vector<TimeRow> rows;
  for (auto& [name, row] : families) rows.push_back(std::move(row));
  at(TimeBy::kFamily) = Sorted(std::move(rows));
  for (const auto& [by, kind] : kByScope) {
    at(by) = Named(by_scope[static_cast<std::size_t>(kind)],
                   [&, kind = kind](std::uint32_t id) { return scopes.Text(kind, id); });
  }
  return time;
}

TracedTime SumOf(std::span<const TracedTime* const> devices) {
  TracedTime sum;
  for (const TracedTime* d : devices) {
    sum.window_ns += d->window_ns;
    sum.busy_ns += d->busy_ns;
    sum.steps += d->steps;
    sum.scopes_left_out += d->scopes_left_out;
  }
  for (std::size_t by = 0; by < kTimesBy; ++by) {
    std::map<std::string, TimeRow> rows;
    TimeRow rest;
    for (const TracedTime* d : devices) {
      Add(d->tables[by].rest, rest);
      for (const TimeRow& row : d->tables[by].rows) {
        TimeRow& to = rows[row.name];
        to.name = row.name;
        to.family = row.family;
        Add(row, to);
      }
    }
    std::vector<TimeRow> all;
    for (auto& [name, row] : rows) all.push_back(std::move(row));
    sum.tables[by] = Sorted(std::move(all));
    Add(rest, sum.tables[by].rest);
  }
  return sum;
}

}  // namespace idleburn
