#pragma once

#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "bill/bill_report.h"
#include "bill/bill_store.h"

// Who pays for a charge: the tags of its row, rules for rows without them, and the rules that would tag the rest.
namespace idleburn {

// The owner that tags name. `key` is the tag of the team; empty: team, owner, cost_center or project.
CostOwner OwnerOfTags(const std::string& tags, const std::string& key);

// The name of an owner: its team, job or experiment. Empty: not told.
const std::string& NameOf(const CostOwner& owner, OwnerBy by);
// Reads --by. Empty is team.
Result<OwnerBy> ParseOwnerBy(const std::string& text);

// Rows without an owner whose column has this value belong to `owner`.
struct TagRule {
  std::string column;  // of FOCUS: "ResourceId"
  std::string value;
  std::string owner;
};

// Reads rules: a table with the columns column, value and owner. Fails on a column that charges do not repeat.
Result<std::vector<TagRule>> ReadTagRules(ByteSource& in);

// Usage of one resource without an owner.
struct UntaggedCost {
  std::string resource;  // its name, or its id
  std::int64_t rows = 0;
  Money cost;  // EffectiveCost
  // The rule that would tag it: all rows with an owner that share its resource, or else its sub-account, name one owner
  // alone. Its owner is empty if there is no such rule; `why` then says why not.
  TagRule rule;
  std::int64_t alike = 0;  // those rows
  std::string why;
};

// What of the selected rows (bill/bill_rows.h) has no owner, the dearest first.
Result<std::vector<UntaggedCost>> FindUntagged(DuckDbConnection& database, const std::string& owner_tag);

}  // namespace idleburn
