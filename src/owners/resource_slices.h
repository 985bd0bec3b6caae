#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "owners/pod_resources.h"

namespace idleburn {

// The UUID of every device that the node's ResourceSlices describe. The kubelet names a device of dynamic resource
// allocation only by driver, pool and name.
using SliceUuids = std::map<DraDevice, std::string>;

// Reads a list of ResourceSlices in JSON, as `kubectl get resourceslices -o json` writes it, of resource.k8s.io/v1 and
// its betas. Only the highest generation of a pool counts, and only if all its slices are there: resourceSliceCount of
// them. Devices without a UUID are left out. Fails if the text is no such list. `text` is consumed.
Result<SliceUuids> ParseResourceSlices(std::string text);

}  // namespace idleburn
