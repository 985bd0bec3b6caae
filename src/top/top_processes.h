#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/money.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// One process, on all the GPUs it holds.
struct TopProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> start_ticks;
  std::vector<std::size_t> gpus;       // places in the view
  std::optional<std::int64_t> memory;  // bytes on all of them; absent if the driver does not say it of one
  Money per_hour;                      // of the GPUs it holds alone
  bool shares = false;                 // holds others together with somebody
  std::string user = "unknown";
  std::string command = "unknown";  // on one line, secrets taken out
};

// A GPU as far as its processes go.
struct HeldGpu {
  std::size_t place = 0;  // in the view
  const std::vector<GpuHolder>* holders = nullptr;
  std::optional<Money> per_hour;
};

struct TopProcesses {
  // In order of the first GPU, then of the pid.
  std::vector<TopProcess> list;
  // Most of those that the driver names are not seen here: its pids are of another namespace than ours, and one that is
  // seen has that number by chance. Nobody is named then.
  bool foreign = false;
};
// Who holds which of `gpus`. The price of a GPU is that of its one holder. Where there are several, nothing measures
// whose time it was, and it is nobody's.
TopProcesses ProcessesOn(const std::vector<HeldGpu>& gpus);

// Finds out who processes are, by the /proc of this machine. May wait: not for the sampler's thread.
class ProcessNames {
 public:
  explicit ProcessNames(std::string proc = "/proc") : proc_(std::move(proc)) {}
  // Fills in user and command. Of one that has ended meanwhile they are what they last were.
  void Fill(TopProcesses& processes);

 private:
  struct Known {
    std::string user;
    std::string command;
  };
  std::string UserOf(std::uint32_t id);

  std::string proc_;
  std::map<std::pair<std::int64_t, std::int64_t>, Known> known_;  // by pid and start
  std::map<std::uint32_t, std::string> users_;
};

}  // namespace idleburn
