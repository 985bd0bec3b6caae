// Serves metrics over HTTP or HTTPS to scrapers.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "expose/exposition.h"

namespace idleburn {

// What there is to serve at one moment. Never changed after it was made, so that threads can share it.
struct Exposed {
  std::vector<MetricFamily> families;
  bool ready = false;  // a source gave data lately
  std::string jobs;    // the JSON document of /api/v1/jobs
  Instant at;          // UTC
};

struct ServerOptions {
  std::string listen = "127.0.0.1:9835";  // HOST:PORT; [::1]:9835 for IPv6; port 0: any free one
  std::string path = "/metrics";
  std::string web_config;  // file; empty: none
  bool insecure = false;   // other machines may read it without TLS
};

// GET only: `path` (?collect[]=ledger for the families of bills), /-/healthy, /-/ready, /api/v1/jobs and a page of
// links. It answers at most eight requests at a time. The web configuration is read again when its file changes, and
// certificates for every connection.
class ScrapeServer {
 public:
  using Newest = std::function<std::shared_ptr<const Exposed>()>;

  // Starts to serve. Fails if the address is wrong or in use, if the web configuration has a fault, or if other
  // machines could read it without TLS and `insecure` is not set. `newest` and `on_live_scrape` may be called from any
  // thread until the server is destroyed; the latter after each scrape of all families.
  static Result<std::unique_ptr<ScrapeServer>> Start(const ServerOptions& options, Newest newest,
                                                     std::function<void()> on_live_scrape);
  virtual ~ScrapeServer() = default;  // stops; a request that is being answered has a second
  ScrapeServer(const ScrapeServer&) = delete;
  ScrapeServer& operator=(const ScrapeServer&) = delete;

  [[nodiscard]] virtual int port() const = 0;
  [[nodiscard]] virtual std::string url() const = 0;  // "http://127.0.0.1:9835/metrics"
  [[nodiscard]] virtual const std::vector<std::string>& warnings() const = 0;

 protected:
  ScrapeServer() = default;
};

// Writes the families for node_exporter's textfile collector: to FILE.PID in the same folder, then renamed, mode 0644.
Result<void> WriteTextfile(const std::string& file, const Exposed& exposed);

}  // namespace idleburn
