#include "bill/cost_owners.h"

#include <algorithm>
#include <array>
#include <map>

#include "bill/bill_rows.h"
#include "bill/bill_value.h"
#include "bill/store_writer.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The tags that name an owner, in the order in which they count.
constexpr std::array<std::string_view, 5> kTeamTags = {"team", "owner", "cost_center", "CostCenter", "project"};
constexpr std::array<std::string_view, 3> kJobTags = {"job", "job_id", "JobId"};
constexpr std::array<std::string_view, 3> kExperimentTags = {"experiment", "experiment_id", "ExperimentId"};

template <std::size_t kCount>
std::string FirstTag(const KeyValues& values, const std::array<std::string_view, kCount>& keys) {
  for (const std::string_view key : keys) {
    if (const std::string_view value = values.Of(key); !value.empty()) return std::string(value);
  }
  return {};
}

// Rows with an owner that are alike in one column.
struct AlikeRows {
  std::map<std::string, std::int64_t> owners;  // rows by owner
};
using AlikeByValue = std::map<std::string, AlikeRows>;

// The columns that a rule may go by, the closest first.
constexpr std::array<FocusColumn, 2> kRuleColumns = {FocusColumn::kResourceId, FocusColumn::kSubAccountId};

void FindRule(const std::array<AlikeByValue, kRuleColumns.size()>& alike,
              const std::array<std::string, kRuleColumns.size()>& values, UntaggedCost* untagged) {
  untagged->why = "no row of its resource or sub-account has an owner";
  for (std::size_t c = 0; c < kRuleColumns.size(); ++c) {
    const auto found = values[c].empty() ? alike[c].end() : alike[c].find(values[c]);
    if (found == alike[c].end()) continue;
    const std::string column(Facts(kRuleColumns[c]).name);
    if (found->second.owners.size() > 1) {
      untagged->why = "rows of its " + column + " name " + std::to_string(found->second.owners.size()) + " owners";
      return;
    }
    const auto& [owner, rows] = *found->second.owners.begin();
    untagged->rule = {column, values[c], owner};
    untagged->alike = rows;
    untagged->why.clear();
    return;
  }
}

}  // namespace

CostOwner OwnerOfTags(const std::string& tags, const std::string& key) {
  if (tags.empty()) return {};
  const KeyValues values = ParseKeyValues(tags);
  return {key.empty() ? FirstTag(values, kTeamTags) : std::string(values.Of(key)), FirstTag(values, kJobTags),
          FirstTag(values, kExperimentTags)};
}

const std::string& NameOf(const CostOwner& owner, OwnerBy by) {
  if (by == OwnerBy::kJob) return owner.job;
  return by == OwnerBy::kExperiment ? owner.experiment : owner.team;
}

Result<OwnerBy> ParseOwnerBy(const std::string& text) {
  if (text.empty()) return OwnerBy::kTeam;
  const auto* const found = std::find(kOwnerByNames.begin(), kOwnerByNames.end(), text);
  if (found == kOwnerByNames.end()) {
    return FailUsage("bill: --by " + Printable(text) + " is unknown; there are " + ListText(kOwnerByNames));
  }
  return static_cast<OwnerBy>(found - kOwnerByNames.begin());
}

Result<std::vector<TagRule>> ReadTagRules(ByteSource& in) {
  constexpr std::array<std::string_view, 3> kColumns = {"column", "value", "owner"};
  CsvTable table(in);
  TRY(table.ReadHeader());
  TRY(table.Require(kColumns));
  const std::vector<FocusColumn> known = ItemTextColumns();
  std::vector<TagRule> rules;
  while (TRY(table.Next())) {
    const std::optional<FocusColumn> column = FocusColumnNamed(table.Cell("column"));
    if (!column || std::find(known.begin(), known.end(), *column) == known.end()) {
      return table.Bad("column", "is no FOCUS column of names, such as ResourceId or SubAccountId");
    }
    for (const std::string_view name : {"value", "owner"}) {
      if (table.Cell(name).empty()) return table.Bad(name, "is empty; fill it in");
    }
    rules.push_back(
        {std::string(Facts(*column).name), std::string(table.Cell("value")), std::string(table.Cell("owner"))});
  }
  return rules;
}

Result<std::vector<UntaggedCost>> FindUntagged(DuckDbConnection& database, const std::string& owner_tag) {
  std::array<AlikeByValue, kRuleColumns.size()> alike;
  std::vector<UntaggedCost> untagged;
  std::vector<std::array<std::string, kRuleColumns.size()>> values;
  for (const auto& row : TRY(TextRows(
           database,
           "SELECT Tags, rule_owner, ResourceId, SubAccountId, coalesce(ResourceName, ResourceId, ServiceName, "
           "ChargeDescription), count(*), sum(coalesce(EffectiveCost, 0) - coalesce(spare.effective, 0))::HUGEINT FROM "
           "charge JOIN picked ON charge.item = picked.id LEFT JOIN spare ON spare.import = charge.import AND "
           "spare.line = charge.line WHERE mine AND ChargeCategory = 'Usage' AND ChargeClass IS NULL AND "
           "coalesce(CommitmentDiscountStatus, '') <> 'Unused' GROUP BY ALL ORDER BY 3, 4, 5, 1"))) {
    const std::int64_t rows = ParseInteger(row[5]).value_or(0);
    const std::string tagged = OwnerOfTags(row[0], owner_tag).team;
    if (!tagged.empty()) {
      for (std::size_t c = 0; c < kRuleColumns.size(); ++c) {
        if (!row[2 + c].empty()) alike[c][row[2 + c]].owners[tagged] += rows;
      }
    } else if (row[1].empty()) {
      UntaggedCost& cost = untagged.emplace_back();
      cost.resource = row[4];
      cost.rows = rows;
      cost.cost = TRY(SumOfNanos(row[6]));
      values.push_back({row[2], row[3]});
    }
  }
  for (std::size_t i = 0; i < untagged.size(); ++i) FindRule(alike, values[i], &untagged[i]);
  std::stable_sort(untagged.begin(), untagged.end(),
                   [](const UntaggedCost& a, const UntaggedCost& b) { return a.cost > b.cost; });
  return untagged;
}

}  // namespace idleburn
