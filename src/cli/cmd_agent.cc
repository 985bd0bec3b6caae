#include <cstdlib>

#include "agent/agent.h"
#include "audit/keep_run.h"
#include "audit/machine_facts.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "history/users_history.h"
#include "price/find_rate.h"
#include "text/time_zone.h"

// `idleburn agent`: the daemon of a node. It measures as `record` does and counts instead of recording.

namespace idleburn {
namespace {

// The flags as they were written.
struct AgentRequest {
  LiveFlags live;
  ServerOptions server;
  std::string state;
  std::string labels;
  std::string textfile;
  std::string period = "1h";
  std::string node;
};

// Where the state lies: --state-dir, else the folder that systemd made, else the user's.
std::string StateFolder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* const made = std::getenv("STATE_DIRECTORY")) return made;
  const std::string data = UserDataFolder();
  return data.empty() ? std::string() : data + "/agent";
}

Result<int> Serve(AgentRequest request, const Settings& settings, const Environment& environment) {
  AgentOptions options;
  options.gpus = TRY(request.live.GpuOptions());
  const std::optional<Nanos> period = TRY(ParseFor(request.period));
  if (!period || period->count() < kNanosPerSecond || period->count() % kNanosPerSecond != 0 ||
      kNanosPerHour * 24 % period->count() != 0)
    return FailUsage("agent: --close-period must be whole seconds that divide a day: 1h, 10m, 10s");
  options.close_period = period->count() / kNanosPerSecond;
  options.node = request.node.empty() ? HostName() : request.node;
  options.version = IDLEBURN_VERSION;
  options.server = request.server;
  options.state_folder = StateFolder(request.state);
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
  const OwnerSource owners = [](Instant at, const auto&) {
    Holdings nobody;
    nobody.at = at;
    return nobody;
  };
  return RunNodeAgent(options, thresholds, find_rates, owners);
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
  request.live.AddDetectCloud(flags);
  flags.Add("--hz", "RATE", "readings of each GPU a second, 1 to 100 (default 10)").text = &request.live.hz;
  const auto settings = TRY(flags.Read(
      "agent", "Counts every GPU-second of this node by phase and owner, and serves the counters.", arguments));
  if (!settings) return 0;
  return Serve(request, *settings, environment);
}

}  // namespace idleburn
