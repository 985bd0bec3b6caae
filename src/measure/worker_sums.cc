#include "measure/worker_sums.h"

#include <algorithm>
#include <set>
#include <utility>

namespace idleburn {

void WorkerSums::Update(std::span<const ProcessReading> processes) {
  std::map<pid_t, std::size_t> commands;
  for (const ProcessReading& p : processes) commands[p.pid] = p.command;
  const auto forked = [&](const ProcessReading& p) {
    const auto parent = commands.find(p.parent);
    return p.command != 0 && parent != commands.end() && parent->second == p.command;
  };
  std::set<pid_t> with_workers;
  for (const ProcessReading& p : processes) {
    if (forked(p)) with_workers.insert(p.parent);
  }
  std::map<pid_t, ProcessReading> workers;
  for (const ProcessReading& p : processes) {
    if (!forked(p) || with_workers.count(p.pid) != 0) continue;
    workers[p.pid] = p;
    const auto before = workers_.find(p.pid);
    // Another process may have got the number.
    if (before == workers_.end() || p.at <= before->second.at || p.cpu < before->second.cpu) continue;
    times_.alive += (p.at - before->second.at).count();
    times_.cpu += p.cpu - before->second.cpu;
    times_.wait += std::max<std::int64_t>(0, p.wait - before->second.wait);
    times_.blocked += std::max<std::int64_t>(0, p.blocked - before->second.blocked);
  }
  workers_ = std::move(workers);
}

}  // namespace idleburn
