#include <nlohmann/json.hpp>

#include "report/charge_json.h"
#include "report/fleet_charges.h"
#include "report/fleet_json.h"
#include "report/fleet_statements_output.h"
#include "report/json_values.h"
#include "text/json.h"
#include "text/time_zone.h"

// The documents of `idleburn fleet statements`. K is the amount as printed, so a column of K adds up; K_exact is exact.
namespace idleburn {
namespace {

using Json = nlohmann::ordered_json;

// What both documents say of the period and its rules.
void PutRules(Json& json, const FleetStatements& all) {
  json["period"] = {{"start", FormatUnixTime(all.from)}, {"end", FormatUnixTime(all.to)}};
  json["status"] = StatusOf(all);
  json["provisional"] = DoubtsJson<Json>(all.provisional);
  json["currency"] = all.currency;
  json["price_source"] = Printable(all.rate_source);
  json["basis"] = Name(all.basis);
  json["share"] = Name(all.policy);
}

Json PartsJson(const std::vector<StatementPart>& parts, const FleetStatements& all, bool jobs, bool shared) {
  Json rows = Json::array();
  for (const StatementPart& part : parts) {
    Json row = {{"name", Printable(part.name)}, {"gpu_hours", GpuHoursJson<Json>(part.time)}};
    PutMoney(row, "direct", part.direct, all.currency);
    PutWaste(row, part.cost, all.currency);
    if (shared) PutMoney(row, "shared", part.shared, all.currency);
    if (jobs) {
      row["user"] = TextOrNull<Json>(part.user);
      row["experiment"] = TextOrNull<Json>(part.experiment);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json NamesJson(const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (const std::string& name : names) rows.push_back(Printable(name));
  return rows;
}

}  // namespace

std::string StatementsJson(const FleetStatements& statements) {
  const ShownCharges shown = ShownChargesOf(statements.charge, statements.currency);
  const std::string& currency = statements.currency;
  Json json = BeginDocument<Json>("idleburn.statements/1", statements.ids);
  PutRules(json, statements);
  PutMoney(json, "gpu_cost", statements.gpu_cost, currency);
  PutShown(json, "total", shown.total, statements.charge.total, currency);
  json["teams"] = Json::array();
  json["buckets"] = Json::array();
  for (std::size_t i = 0; i < statements.teams.size(); ++i) {
    const FleetStatement& team = statements.teams[i];
    Json row = {{"team", Printable(team.charge.name)}};
    if (!team.charge.bucket) row["statement_id"] = StatementId(statements, team);
    if (!team.charge.bucket) row["file"] = TextOrNull<Json>(StatementFileOf(statements, team));
    row["gpu_hours"] = GpuHoursJson<Json>(team.time);
    PutCharge(row, shown.rows[i], team.charge, currency);
    json[team.charge.bucket ? "buckets" : "teams"].push_back(std::move(row));
  }
  json["unallocated_gpu_hours"] = GpuHoursJson<Json>(statements.unallocated);
  json["shared_costs"] = Json::array();
  for (std::size_t line = 0; line < statements.lines.size(); ++line) {
    Json row = {{"name", Printable(statements.lines[line].name)}};
    PutMoney(row, "amount", statements.lines[line].amount, currency);
    PutShown(row, "not_charged", shown.left[line], statements.charge.left[line], currency);
    json["shared_costs"].push_back(std::move(row));
  }
  json["teams_without_weight"] = NamesJson(statements.charge.unweighted);
  json["weights_without_team"] = NamesJson(statements.charge.unmatched);
  json["data_quality"] = DoubtsJson<Json>(statements.doubts);
  return JsonDocument(json);
}

std::string TeamStatementJson(const TeamStatement& statement) {
  const FleetStatements& all = statement.all;
  const FleetStatement& team = statement.team;
  const ShownCharges charges = ShownChargesOf(all.charge, all.currency);
  const ShownCharge& shown = charges.rows[static_cast<std::size_t>(&team - all.teams.data())];
  Json json = BeginDocument<Json>("idleburn.statement/1", {});
  json["statement_id"] = StatementId(all, team);
  json["team"] = Printable(team.charge.name);
  PutRules(json, all);
  json["gpu_hours"] = GpuHoursJson<Json>(team.time);
  PutCharge(json, shown, team.charge, all.currency);
  PutWaste(json, team.cost, all.currency);
  json["shared_costs"] = Json::array();
  for (std::size_t line = 0; line < all.lines.size(); ++line) {
    Json row = {{"name", Printable(all.lines[line].name)}};
    PutShown(row, "amount", shown.of_lines[line], team.charge.of_lines[line], all.currency);
    json["shared_costs"].push_back(std::move(row));
  }
  json["jobs"] = PartsJson(team.jobs, all, true, false);
  json["users"] = PartsJson(team.users, all, false, false);
  json["experiments"] = PartsJson(team.experiments, all, false, all.policy == SharePolicy::kExperiments);
  return JsonDocument(json);
}

}  // namespace idleburn
