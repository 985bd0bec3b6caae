#pragma once

#include "diagnose/findings.h"
#include "recommend/advice.h"

namespace idleburn::testing {

// The last two steps of an audit: causes, then advice.
inline Advice AdviceOn(const Scene& scene, const RecoveredShares& shares = {}) {
  return Advise(scene, Diagnose(scene), shares);
}

}  // namespace idleburn::testing
