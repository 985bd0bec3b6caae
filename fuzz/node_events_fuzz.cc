#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "plan/spot_trace.h"
#include "text/line_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  idleburn::StringSource in{std::string(reinterpret_cast<const char*>(data), size)};
  const auto events = idleburn::ReadNodeEvents(in);
  if (!events) return 0;
  for (const idleburn::InterruptionHistory& history : events->histories) {
    const idleburn::UptimeFacts facts = idleburn::FactsOf(history);
    CHECK(facts.up_fraction >= 0 && facts.up_fraction <= 1 + 1e-9);
    const auto trace = idleburn::SpotTrace::EndToEnd(history);
    CHECK(!trace || facts.losses > 0);
    if (!trace) continue;
    CHECK(trace->losses() == static_cast<std::size_t>(facts.losses));
    for (const idleburn::Hours up : trace->Lengths().up) CHECK(up.count() > -1e-6);
  }
  return 0;
}
