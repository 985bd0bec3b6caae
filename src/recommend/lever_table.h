// The levers that advice can recommend, and what a run shows for or against each. A lever is advised if a cause
// names it, the run shows what it needs (IsShown), and nothing speaks against it (WhyNot).

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "diagnose/cause_table.h"
#include "diagnose/scene.h"
#include "recommend/advice.h"

namespace idleburn {

// Something that can be changed to save GPU time or to lower its price. All texts are literals. A lever of time is
// advised only if a cause in diagnose/cause_table.cc names it.
struct Lever {
  std::string_view id;
  std::string_view title;
  Axis axis;
  Pool pool;
  // What must be seen before it is advised: see IsShown.
  std::string_view evidence;
  std::string_view refuted;  // what speaks against it
  std::string_view how;      // the flag or line of code
  std::string_view verify;   // how to confirm that it worked
};

// All levers.
std::span<const Lever> Levers();
// The lever with this id, which must exist.
const Lever& LeverById(std::string_view id);

// What this run shows against a lever, as a sentence; empty if nothing. Such a reason overrides any cause that would
// advise the lever. Wrong advice costs more trust than missing advice.
std::string WhyNot(const Scene& scene, std::string_view lever);

// Whether the run shows what a lever needs (Lever::evidence) when this cause names it. For most levers the
// cause is enough. For the others this checks what no cause tells.
bool IsShown(const Scene& scene, std::string_view lever, std::string_view cause);

// How to apply a lever: its own text, plus what this run shows about its use. Example: an idle notebook is
// stopped through the culling settings of its server.
std::string HowTo(const Scene& scene, const Lever& lever);
// Why a lever that needs NVIDIA's hardware or software cannot apply; empty if it can.
std::string AgainstOtherVendors(const Scene& scene);
// Whether a material share of the run is spin-wait: the GPUs look busy, and faster ones would wait longer.
bool WaitsWhileBusy(const Scene& scene);
// Whether matrix products are known to use the tensor cores.
bool UsesTensorCores(const DeviceResult& d);

}  // namespace idleburn
