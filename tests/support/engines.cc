#include "support/engines.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "places.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

void PutIn(std::string* words, const std::string& name, const std::string& value) {
  for (std::size_t at = words->find(name); at != std::string::npos; at = words->find(name, at + value.size())) {
    words->replace(at, name.size(), value);
  }
}

// Sends samples to a VictoriaMetrics. What it took can be queried at once.
void Send(const std::string& victoria, const std::string& path, const std::string& samples) {
  HttpRequest request{victoria + path, {}, "POST"};
  request.body = samples;
  EXPECT_EQ(Ask(request).status, 204) << path;
  EXPECT_EQ(Ask({victoria + "/internal/force_flush"}).status, 200);
}

int PortOf(const std::string& url) { return std::stoi(url.substr(url.rfind(':') + 1)); }

}  // namespace

void TestEngines::Run(const std::string& url, Server& server) {
  server.service = std::make_unique<Service>(server.words, server.log);
  // The port was free a moment ago, so somebody else may have taken it: the listener must be ours.
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return server.service->ListensAt(PortOf(url)) && (server.ready.empty() || Ask({url + server.ready}).status == 200);
  })) << server.service->Log();
}

std::string TestEngines::Start(const std::string& words, const std::string& ready) {
  const int port = FreePort();
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const std::string folder = (folder_.path() / ("server" + std::to_string(++started_))).string();
  Server& server = servers_[url];
  server = {words, ready, folder + ".log", nullptr};
  PutIn(&server.words, "{port}", std::to_string(port));
  PutIn(&server.words, "{folder}", folder);
  Run(url, server);
  return url;
}

void TestEngines::Kill(const std::string& url) {
  Service& service = *servers_.at(url).service;
  service.Signal(SIGKILL);
  service.Wait();
}

void TestEngines::Signal(const std::string& url, int signal) { servers_.at(url).service->Signal(signal); }

void TestEngines::Restart(const std::string& url) { Run(url, servers_.at(url)); }

std::string TestEngines::Log(const std::string& url) const { return servers_.at(url).service->Log(); }

std::string TestEngines::Victoria(const std::string& more) {
  return Start(
      "victoria-metrics -storageDataPath={folder} -httpListenAddr=127.0.0.1:{port}"
      " -search.latencyOffset=0s -retentionPeriod=24 -loggerLevel=ERROR " +
          more,
      "/health");
}

void TestEngines::Load(const std::string& victoria, const std::string& file) {
  SCOPED_TRACE(file);
  Send(victoria, "/api/v1/import", ReadText(file));
}

void TestEngines::LoadText(const std::string& victoria, const std::string& text, const std::string& label) {
  Send(victoria, "/api/v1/import/prometheus" + (label.empty() ? "" : "?extra_label=" + label), text);
}

std::string TestEngines::VictoriaWith(const std::string& file) {
  const std::string url = Victoria();
  Load(url, file);
  return url;
}

void TestEngines::Forget(const std::string& victoria) {
  EXPECT_EQ(Ask({victoria + "/api/v1/admin/tsdb/delete_series?match[]=%7B__name__!=%22%22%7D"}).status, 204);
}

std::string TestEngines::PrometheusWith(const std::string& openmetrics) {
  const std::string data = (folder_.path() / ("blocks" + std::to_string(++started_))).string();
  const ProgramRun made = RunShell("promtool tsdb create-blocks-from openmetrics " + openmetrics + " " + data);
  EXPECT_EQ(made.code, 0) << made.err;
  return Start("prometheus --config.file=" + folder_.Write("empty.yml", "") + " --storage.tsdb.path=" + data +
                   " --storage.tsdb.retention.time=20y --web.listen-address=127.0.0.1:{port} --log.level=error",
               "/-/ready");
}

std::string TestEngines::PrometheusScraping(const std::string& config) {
  return Start("prometheus --config.file=" + config +
                   " --storage.tsdb.path={folder} --web.listen-address=127.0.0.1:{port} --log.level=error",
               "/-/ready");
}

std::string TestEngines::Relay(const std::string& upstream, const RelayFaults& faults) {
  const nlohmann::json json = {{"last", faults.last},
                               {"longest_range", faults.longest_range},
                               {"longest_window", faults.longest_window},
                               {"silent", faults.silent},
                               {"never_from", faults.never_from},
                               {"never_to", faults.never_to},
                               {"never", faults.never},
                               {"most_nodes", faults.most_nodes},
                               {"status", faults.status},
                               {"body", faults.body ? nlohmann::json(*faults.body) : nlohmann::json()}};
  const std::string file = folder_.Write("faults" + std::to_string(started_ + 1) + ".json", json.dump());
  return Start(
      "python3 " IDLEBURN_ROOT "/tests/programs/engine_relay.py {port} '" + upstream + "' \"$(cat " + file + ")\"", "");
}

}  // namespace idleburn::testing
