#include "audit/document_ids.h"

#include "audit/live_flags.h"
#include "measure/provenance.h"
#include "telemetry/run_ids.h"

namespace idleburn {

RunIds OwnIds() {
  RunFacts facts;
  for (const RunFact& fact : ExperimentFacts(OwnVariable)) facts[fact.key] = fact.value;
  return IdsOf(facts);
}

RunIds IdsOfKept(const HistoryRun& run) {
  RunFacts facts = {{std::string(kRunIdFact), run.id}};
  for (const auto& [name, value] : run.experiments) facts["env." + name] = value;
  return IdsOf(facts);
}

}  // namespace idleburn
