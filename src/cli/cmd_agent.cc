#include <array>
#include <cstdlib>
#include <utility>

#include "agent/agent.h"
#include "audit/keep_run.h"
#include "audit/machine_facts.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "history/users_history.h"
#include "owners/owner_poll.h"
#include "price/find_rate.h"

// `idleburn agent`: the daemon of a node. It measures as `record` does and counts instead of recording.

namespace idleburn {
namespace {

// The flags as they were written.
struct AgentRequest {
  LiveFlags live;
  ServerOptions server;
  std::string state;
  std::string textfile;
  std::string labels;
  std::vector<std::string> job_files;
  std::string gres_order;
  std::string pod_resources;
  std::string resource_slices;
  std::vector<std::string> experiment_keys;
  std::string cluster;
  std::string period = "1h";
  std::string time;
  std::string node;
};

// "idleburn:/run/idleburn/jobs", or a bare folder of idleburn's own form.
Result<JobFolder> JobFolderFrom(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, JobFileForm>, 3> kForms = {
      {{"idleburn:", JobFileForm::kIdleburn}, {"dcgm:", JobFileForm::kDcgm}, {"jobstats:", JobFileForm::kJobstats}}};
  for (const auto& [prefix, form] : kForms) {
    if (text.rfind(prefix, 0) == 0) return JobFolder{text.substr(prefix.size()), form};
  }
  if (!text.empty() && text.front() == '/') return JobFolder{text, JobFileForm::kIdleburn};
  return FailUsage("agent: --job-files " + text + " must be a folder, or idleburn:, dcgm: or jobstats: and a folder");
}

Result<OwnerOptions> OwnerOptionsFrom(const AgentRequest& request) {
  OwnerOptions options;
  for (const std::string& folder : request.job_files) options.job_folders.push_back(TRY(JobFolderFrom(folder)));
  if (!request.labels.empty()) options.labels = TRY(LabelMap::ReadFile(request.labels));
  if (!request.pod_resources.empty()) options.pod_socket = request.pod_resources;
  options.resource_slices = request.resource_slices;
  options.experiment_keys = request.experiment_keys;
  options.cluster = request.cluster;
  if (request.gres_order == "pci") {
    options.gres_order = GresOrder::kPci;
  } else if (!request.gres_order.empty() && request.gres_order != "minor") {
    return FailUsage("agent: --gres-order must be minor or pci");
  }
  return options;
}

OwnerSource SourceOf(OwnerPoll& poll) {
  return [&poll](Instant now, const std::vector<NodeDevice>& devices) {
    std::vector<NodeGpu> gpus;
    std::map<std::string, std::vector<GpuHolder>> holders;
    for (const NodeDevice& held : devices) {
      gpus.push_back(NodeGpuFrom(held.device, held.board));
      holders[held.device.uuid] = held.holders;
    }
    return poll.Poll(now, gpus, holders);
  };
}

Result<int> Serve(AgentRequest request, const Settings& settings, const Environment& environment) {
  AgentOptions options;
  options.gpus = TRY(request.live.GpuOptions());
  const std::optional<Nanos> period = TRY(ParseFor(request.period));
  if (!period || period->count() < kNanosPerSecond || period->count() % kNanosPerSecond != 0 ||
      kNanosPerHour * 24 % period->count() != 0)
    return FailUsage("agent: --close-period must be whole seconds that divide a day: 1h, 10m, 10s");
  options.close_period = period->count() / kNanosPerSecond;
  options.run_for = TRY(ParseFor(request.time));
  options.node = request.node.empty() ? HostName() : request.node;
  options.version = IDLEBURN_VERSION;
  options.server = request.server;
  options.state_folder = request.state.empty() ? AgentStateFolder() : request.state;
  options.textfile = request.textfile;
  const Thresholds thresholds = TRY(ThresholdsFrom(settings));
  RunFacts machine;
  for (const RunFact& fact : MachineFacts(request.live.detect_cloud)) machine[fact.key] = fact.value;
  RateQuestion question = QuestionOf(machine);
  question.host = options.node;
  question.live = true;
  const Prices prices = TRY(OpenRates(settings, environment.now));
  const RateBook rates = prices.For(question);
  const auto find_rates = [&rates, now = environment.now](const DeviceTable& devices) {
    return RatesOf(rates, devices, AllOf(devices), RunSpan{now, now});
  };
  OwnerOptions owners = TRY(OwnerOptionsFrom(request));
  OwnerPoll poll = TRY(OwnerPoll::Make(std::move(owners)));
  return RunNodeAgent(options, thresholds, find_rates, SourceOf(poll));
}

}  // namespace

Result<int> RunAgent(const std::vector<std::string>& arguments, const Environment& environment) {
  AgentRequest request;
  CommandFlags flags({"price.", "classify.idle_power"});
  flags.Add("--web.listen-address", "HOST:PORT", "where to serve (default 127.0.0.1:9835)").text =
      &request.server.listen;
  flags.Add("--web.config.file", "FILE", "TLS and users, as Prometheus' exporters have it").text =
      &request.server.web_config;
  flags.Add("--web.telemetry-path", "PATH", "path of the metrics (default /metrics)").text = &request.server.path;
  flags.Add("--web.insecure", "", "let other machines read it without TLS").on = &request.server.insecure;
  flags.Add("--state-dir", "DIR", "keeps the counts over restarts (default $STATE_DIRECTORY, else the user's folder)")
      .text = &request.state;
  flags.Add("--textfile", "FILE", "also write the metrics for node_exporter's textfile collector").text =
      &request.textfile;
  flags.Add("--close-period", "TIME", "closes counters for bills at each full TIME of the UTC day (default 1h)").text =
      &request.period;
  flags.Add("--node", "NAME", "the label node (default the host's name)").text = &request.node;
  flags.Add("--labels", "FILE", "teams and projects by user, account, namespace or job name (TOML)").text =
      &request.labels;
  flags.Add("--job-files", "FOLDER", "job files of a prolog; dcgm:FOLDER and jobstats:FOLDER for their forms").list =
      &request.job_files;
  flags.Add("--gres-order", "minor|pci", "how Slurm's IDX counts GPUs (default minor, as with File= in gres.conf)")
      .text = &request.gres_order;
  flags.Add("--pod-resources", "SOCKET", "the kubelet's pod-resources socket (default where Kubernetes has it)").text =
      &request.pod_resources;
  flags.Add("--resource-slices", "FILE", "ResourceSlices of this node as JSON, for DRA").text =
      &request.resource_slices;
  flags.Add("--experiment-key", "KEY", "an environment key of jobs that names the experiment").list =
      &request.experiment_keys;
  flags.Add("--cluster", "NAME", "the label cluster (default that of Slurm)").text = &request.cluster;
  flags.Add("--for", "TIME", "how long, for example 10m; without it until SIGTERM").text = &request.time;
  request.live.AddDetectCloud(flags);
  flags.Add("--hz", "RATE", "readings of each GPU a second, 1 to 100 (default 10)").text = &request.live.hz;
  const auto settings = TRY(flags.Read(
      "agent", "Counts every GPU-second of this node by phase and owner, and serves the counters.", arguments));
  if (!settings) return 0;
  return Serve(request, *settings, environment);
}

}  // namespace idleburn
