#pragma once

#include <string>

#include "support/program.h"
#include "support/service.h"

namespace idleburn::testing {

// A VictoriaMetrics on a free port of this machine, filled from a file, until the test ends.
class Victoria {
 public:
  // Starts it with its data in `folder` and imports a file of JSON lines. The test fails if either does.
  Victoria(const TempFolder& folder, const std::string& name, const std::string& import_file);
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  int port_;
  std::string url_;
  Service service_;
};

}  // namespace idleburn::testing
