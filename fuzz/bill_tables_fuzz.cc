// Any table that goes with a bill: rules for tags, numbers of teams, and the file of a closed month.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "bill/bill_close.h"
#include "bill/cost_owners.h"
#include "fleet/chargeback.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  idleburn::StringSource rules_in(text, "rules.csv");
  if (const auto rules = idleburn::ReadTagRules(rules_in)) {
    for (const idleburn::TagRule& rule : *rules)
      CHECK(!rule.column.empty() && !rule.value.empty() && !rule.owner.empty());
  }
  idleburn::StringSource budgets_in(text, "budgets.csv");
  if (const auto budgets = idleburn::ReadTeamNumbers(budgets_in, "budget")) {
    CHECK(!budgets->empty());
    for (const auto& [team, nano] : *budgets) CHECK(!team.empty() && nano > 0);
  }
  // A close is read only if every byte is as it was written.
  if (const auto closed = idleburn::ParseSnapshot(text, "2026-10.csv")) {
    CHECK(text.find(closed->sha256) != std::string::npos);
    std::string other = text;
    other.front() = static_cast<char>(other.front() ^ 1);
    CHECK(!idleburn::ParseSnapshot(other, "2026-10.csv"));
  }
  return 0;
}
