#include "diagnose/join_host_evidence.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/loader_rules.h"

namespace idleburn {
namespace {

void Append(const std::vector<std::string>& more, std::vector<std::string>& sentences) {
  sentences.insert(sentences.end(), more.begin(), more.end());
}

void Name(const LoaderVerdict& verdict, const HostEvidence& host, bool few_steps, Finding& f) {
  const Cause& row = CauseOf(verdict.cause);
  f.cause = row.id;
  f.title = row.title;
  f.status = few_steps ? Status::kLikely : Status::kConfirmed;
  f.isolate = row.isolate;
  f.refutes = {std::string(row.refuted)};
  Append(verdict.holds, f.evidence);
  for (const std::string& signal : verdict.not_read) f.refutes.push_back("not measured: " + signal);
  // Only what the workers wait for storage goes away with faster storage.
  if (verdict.cause == "storage") f.bound *= host.d_state.value_or(1);
}

void TakeBack(const LoaderVerdict& own, Finding& f) {
  f.cause = CauseOf("unknown").id;
  f.title = "The device waits in the data loader, and the host does not show why";
  f.status = Status::kUnknown;
  f.bound = 0;
  f.isolate = "the loader alone, without the model: its samples a second, and what its workers wait for";
  for (const std::string& sentence : own.against) {
    f.evidence.push_back("speaks against " + std::string(own.cause) + ": " + sentence);
  }
}

}  // namespace

void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding) {
  const std::vector<LoaderVerdict> verdicts = JudgeLoader(host);
  const auto own =
      std::find_if(verdicts.begin(), verdicts.end(), [&](const LoaderVerdict& v) { return v.cause == finding.cause; });
  if (own == verdicts.end()) return;  // no finding of a loader
  if (const LoaderVerdict* named = NamedBy(verdicts)) {
    Name(*named, host, few_steps, finding);
  } else if (!own->against.empty()) {
    TakeBack(*own, finding);
  }
}

}  // namespace idleburn
