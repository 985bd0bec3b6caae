#include "doctor/doctor_agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "doctor/doctor_checks.h"
#include "expose/scrape_server.h"
#include "owners/node_gpu.h"
#include "owners/owner_poll.h"
#include "text/strings.h"

// The node's side of the agent. Every verdict comes from the code that the agent runs: the same questions to the
// schedulers, the same server. A check that looked for files instead would pass where the answer is refused.

namespace idleburn {
namespace {

std::vector<NodeGpu> GpusOf(const DeviceTable& devices) {
  std::vector<NodeGpu> gpus;
  for (DeviceId id = 0; id < devices.size(); ++id) {
    const Device& device = devices[id];
    gpus.push_back(NodeGpuFrom(device, device.board ? devices[*device.board].uuid : ""));
  }
  return gpus;
}

// Process 1 belongs to root. Whoever may read its environment may read everyone's.
bool SeesOthersEnvironments() {
  const int fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

CheckVerdict NotAgent() { return {CheckStatus::kSkipped, "not tested; run idleburn doctor --agent", {}}; }

}  // namespace

AgentReadings LookAtAgent(const DeviceTable& devices, Instant now, const std::string& state_folder) {
  AgentReadings readings;
  if (Result<OwnerPoll> poll = OwnerPoll::Make(OwnerOptions{})) {
    readings.sources = poll->Sources();
    const Holdings holdings = poll->Poll(now, GpusOf(devices), {});
    readings.faults = holdings.errors;
    readings.owned = holdings.held.size();
  } else {
    readings.faults.push_back(poll.error().message);
  }
  readings.sees_environments = SeesOthersEnvironments();
  readings.state_folder = state_folder;
  if (!state_folder.empty()) readings.state = ProbeFolder(state_folder);
  const ServerOptions usual;
  readings.address = usual.listen;
  const auto server = ScrapeServer::Start(
      usual, [] { return std::make_shared<const Exposed>(); }, [] {});
  if (!server) readings.address_fault = server.error().message;
  return readings;
}

CheckVerdict JudgeAgentOwners(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.agent) return NotAgent();
  const AgentReadings& agent = *readings.agent;
  if (!agent.faults.empty()) {
    return {CheckStatus::kWarning, ListText(agent.faults, "; "),
            "until this source answers, the GPUs that only it knows count for the owner _unknown"};
  }
  const std::string evidence =
      "asked: " + ListText(agent.sources) + "; GPUs with an owner now: " + std::to_string(agent.owned);
  for (const std::string& source : agent.sources) {
    if (source != "processes") return {CheckStatus::kOk, evidence, {}};
  }
  return {CheckStatus::kWarning, evidence + "; no scheduler was found",
          "without Slurm, Kubernetes or --job-files, only a GPU with a process has an owner"};
}

CheckVerdict JudgeAgentProcesses(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.agent) return NotAgent();
  if (readings.agent->sees_environments) return {CheckStatus::kOk, "/proc/1/environ can be read", {}};
  return {CheckStatus::kWarning, "/proc/1/environ cannot be read: experiments of other users stay unknown",
          "add AmbientCapabilities=CAP_SYS_PTRACE to the unit; jobs and users are known without it"};
}

CheckVerdict JudgeAgentState(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.agent) return NotAgent();
  const AgentReadings& agent = *readings.agent;
  constexpr const char* kFix =
      "name a folder that this user can write with --state-dir; without one, counts start "
      "from zero at every restart";
  if (agent.state_folder.empty())
    return {CheckStatus::kFailure, "neither STATE_DIRECTORY, XDG_DATA_HOME nor HOME names a folder", kFix};
  if (!agent.state.fault.empty()) {
    return {CheckStatus::kFailure,
            agent.state_folder + ": cannot create a file in " + agent.state.existing + ": " + agent.state.fault, kFix};
  }
  constexpr std::int64_t kStateBytes = std::int64_t{1} << 20;
  if (agent.state.free_bytes < kStateBytes)
    return {CheckStatus::kFailure, agent.state_folder + ": less than 1 MiB free", kFix};
  return {CheckStatus::kOk, agent.state_folder + ": counts can be kept", {}};
}

CheckVerdict JudgeAgentAddress(const DoctorReadings& readings, const CheckInfo& /*check*/) {
  if (!readings.agent) return NotAgent();
  const AgentReadings& agent = *readings.agent;
  if (agent.address_fault.empty()) return {CheckStatus::kOk, agent.address + " is free", {}};
  return {CheckStatus::kWarning, agent.address_fault,
          "an agent that runs already is fine; else choose another with --web.listen-address"};
}

}  // namespace idleburn
