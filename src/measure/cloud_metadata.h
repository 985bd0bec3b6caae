#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"
#include "measure/instance_type.h"

namespace idleburn {

struct CloudQuestion {
  std::string provider;                         // the only one to ask; empty, or one without such a service: all
  std::string base = "http://169.254.169.254";  // link-local: the question does not leave the host
  Nanos patience{800'000'000};                  // for all that is asked
};

// Asks the cloud's metadata service what this virtual machine is, with region and market: that of Amazon (version 2, by
// token), Google, Azure and Oracle, all at once. Fails, with one line, where none answers as that cloud does.
Result<InstanceType> AskCloud(const CloudQuestion& question);

}  // namespace idleburn
