#include "top/top_processes.h"

#include <algorithm>
#include <tuple>

#include "measure/proc_files.h"
#include "text/command_line.h"

namespace idleburn {
namespace {

void Hold(TopProcess& process, const HeldGpu& gpu, const GpuHolder& holder) {
  const bool first = process.gpus.empty();
  process.gpus.push_back(gpu.place);
  if (first) {
    process.memory = holder.memory;
  } else if (process.memory && holder.memory) {
    *process.memory += *holder.memory;
  } else {
    process.memory.reset();
  }
  if (gpu.holders->size() > 1) {
    process.shares = true;
  } else if (gpu.per_hour) {
    process.per_hour = Add(process.per_hour, *gpu.per_hour).value_or(process.per_hour);
  }
}

}  // namespace

TopProcesses ProcessesOn(const std::vector<HeldGpu>& gpus) {
  std::map<std::pair<std::int64_t, std::optional<std::int64_t>>, TopProcess> found;
  for (const HeldGpu& gpu : gpus) {
    for (const GpuHolder& holder : *gpu.holders) {
      TopProcess& process = found[{holder.pid, holder.start_ticks}];
      process.pid = holder.pid;
      process.start_ticks = holder.start_ticks;
      Hold(process, gpu, holder);
    }
  }
  TopProcesses processes;
  std::size_t unseen = 0;
  for (auto& [key, process] : found) {
    unseen += process.start_ticks ? 0U : 1U;
    processes.list.push_back(std::move(process));
  }
  processes.foreign = 2 * unseen > processes.list.size();
  std::stable_sort(processes.list.begin(), processes.list.end(), [](const TopProcess& a, const TopProcess& b) {
    return std::tie(a.gpus.front(), a.pid) < std::tie(b.gpus.front(), b.pid);
  });
  return processes;
}

std::string ProcessNames::UserOf(std::uint32_t id) {
  const auto known = users_.find(id);
  if (known != users_.end()) return known->second;
  return users_[id] = UserName(id).value_or(std::to_string(id));
}

void ProcessNames::Fill(TopProcesses& processes) {
  std::map<std::pair<std::int64_t, std::int64_t>, Known> now;
  for (TopProcess& process : processes.list) {
    if (!process.start_ticks || processes.foreign) continue;
    const std::pair key(process.pid, *process.start_ticks);
    std::optional<Known> who;
    if (const auto before = known_.find(key); before != known_.end()) who = before->second;
    if (const auto identity = IdentityOf(proc_, process.pid, *process.start_ticks)) {
      if (!who) who.emplace(Known{"unknown", {}});
      if (identity->user) who->user = UserOf(*identity->user);
      // One that is ending has a name and no arguments any more.
      const bool named = !identity->command.empty();
      if (named) who->command = ShownCommand(identity->command);
      if (who->command.empty()) who->command = "[" + identity->name + "]";
    }
    if (!who) continue;
    process.user = who->user;
    process.command = who->command;
    now.emplace(key, *who);
  }
  known_ = std::move(now);
}

}  // namespace idleburn
