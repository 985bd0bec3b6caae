#include "telemetry/run_window.h"

#include "text/number.h"

namespace idleburn {

void RunWindow::Take(const RunFact& fact) {
  std::optional<Instant>* const end_of = fact.key == kStartFact ? &start : fact.key == kEndFact ? &end : nullptr;
  if (end_of == nullptr) return;
  if (const std::optional<std::int64_t> ns = ParseInteger(fact.value)) *end_of = Instant::FromNanos(*ns);
}

}  // namespace idleburn
