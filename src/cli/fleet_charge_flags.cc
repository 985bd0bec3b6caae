#include "cli/fleet_charge_flags.h"

#include <set>

#include "os/folder.h"
#include "os/input_file.h"
#include "report/fleet_charges.h"
#include "report/fleet_statements_output.h"
#include "terminal/output.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// NAME=AMOUNT of a flag. A name may hold "=", an amount cannot.
Result<std::pair<std::string, Money>> ReadNamedAmount(const std::string& flag, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return FailUsage("fleet: " + flag + " " + Printable(text) + " is not NAME=AMOUNT, such as support=1200.00");
  }
  const Result<Money> amount = Money::Parse(std::string_view(text).substr(equals + 1));
  if (!amount || *amount < Money()) {
    return FailUsage("fleet: " + flag + " " + Printable(text) + ": the amount must be a number of 0 or more");
  }
  return std::pair(text.substr(0, equals), *amount);
}

}  // namespace

void FleetChargeFlags::AddTo(CommandFlags& flags) {
  flags.Add("--basis", "BASIS", "statements: teams pay for GPUs while allocated or busy (default allocated)").text =
      &basis_;
  flags
      .Add("--share", "POLICY",
           "statements: split shared cost: none, uniform, proportional, custom, experiments (default none)")
      .text = &share_;
  flags.Add("--share-weights", "FILE", "statements: CSV of team,weight for --share custom").text = &weights_;
  flags.Add("--shared-cost", "NAME=AMOUNT", "statements: cost beside the GPUs, such as support=1200.00").list =
      &shared_;
  flags.Add("--unused-commitment", "TEAM=AMOUNT", "statements: the unused part of a commitment; TEAM owns it").list =
      &commitments_;
}

bool FleetChargeFlags::given() const {
  return !basis_.empty() || !share_.empty() || !weights_.empty() || !shared_.empty() || !commitments_.empty();
}

Result<ChargeRequest> FleetChargeFlags::Read() const {
  ChargeRequest request;
  if (!basis_.empty() && basis_ != "allocated" && basis_ != "busy") {
    return FailUsage("fleet: --basis " + Printable(basis_) + " is unknown; there are allocated and busy");
  }
  if (basis_ == "busy") request.basis = ChargeBasis::kBusy;
  TRY(ReadShareFlags("fleet", share_, weights_, &request.policy, &request.weights));
  std::set<std::string> names;
  for (const std::string& text : shared_) {
    const auto [name, amount] = TRY(ReadNamedAmount("--shared-cost", text));
    if (!names.insert(name).second) return FailUsage("fleet: --shared-cost " + Printable(name) + " is given twice");
    request.shared.push_back({name, amount});
  }
  for (const std::string& text : commitments_) {
    const auto [owner, amount] = TRY(ReadNamedAmount("--unused-commitment", text));
    if (owner.front() == '_') {
      return FailUsage("fleet: --unused-commitment " + Printable(text) + ": a bucket cannot own a commitment");
    }
    request.commitments.push_back({owner, amount});
  }
  return request;
}

Result<void> ReadShareFlags(const std::string& command, const std::string& share, const std::string& weights,
                            SharePolicy* policy, std::map<std::string, std::int64_t>* of_teams) {
  if (!share.empty()) *policy = TRY(ParseSharePolicy(share));
  if ((*policy == SharePolicy::kCustom) == weights.empty()) {
    return FailUsage(command + ": --share custom and --share-weights FILE need each other");
  }
  if (weights.empty()) return {};
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(weights));
  *of_teams = TRY(ReadShareWeights(*in));
  return {};
}

Result<void> WriteIntoFolder(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  TRY(MakeNamedFolder(folder));
  for (const auto& [name, text] : files) TRY(WriteOutput(folder + "/" + name, text));
  return {};
}

Result<int> WriteStatements(FleetStatements statements, ReportFormat format, const std::string& folder,
                            const Paper& paper) {
  if (folder.empty() || folder == "-") {
    TRY(WriteOutput(folder, Written(kStatementsWriters, format, statements, paper)));
    return 0;
  }
  Paper whole = paper;
  whole.full = true;
  statements.file_ending = FileEndingOf(format);
  std::vector<std::pair<std::string, std::string>> files;
  for (const FleetStatement& team : statements.teams) {
    const std::string file = StatementFileOf(statements, team);
    if (!file.empty()) files.emplace_back(file, Written(kTeamStatementWriters, format, {statements, team}, whole));
  }
  files.emplace_back("summary" + statements.file_ending, Written(kStatementsWriters, format, statements, whole));
  TRY(WriteIntoFolder(folder, files));
  return 0;
}

}  // namespace idleburn
