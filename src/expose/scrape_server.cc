#include "expose/scrape_server.h"

#include <httplib.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "expose/web_config.h"
#include "os/compression.h"

namespace idleburn {
namespace {

constexpr std::size_t kThreads = 8;
constexpr std::size_t kLargestBody = 1024;  // of a request: nothing is ever sent here

struct Address {
  std::string host;
  int port = 0;
};

Result<Address> ParseAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address.host = text.substr(0, colon);
    if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']')
      address.host = address.host.substr(1, address.host.size() - 2);
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data() + colon + 1, end, address.port);
    if (read.ec == std::errc() && read.ptr == end && address.port >= 0 && address.port < 65536) {
      if (address.host.empty()) address.host = "0.0.0.0";
      return address;
    }
  }
  return FailUsage("--web.listen-address " + text + " is no HOST:PORT, such as 127.0.0.1:9835");
}

bool IsLoopback(const std::string& host) { return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0; }

// Bodies of the newest moment. A scraper a millisecond gets the same bytes again.
class Bodies {
 public:
  std::shared_ptr<const std::string> Get(const std::shared_ptr<const Exposed>& exposed, MetricFormat format,
                                         bool ledger, bool gzip) {
    const std::lock_guard lock(mutex_);
    if (exposed != of_) {
      bodies_.clear();
      of_ = exposed;
    }
    std::shared_ptr<const std::string>& plain = bodies_[{format, ledger, false}];
    if (plain == nullptr) plain = std::make_shared<std::string>(MetricText(exposed->families, format, ledger));
    if (!gzip) return plain;
    std::shared_ptr<const std::string>& packed = bodies_[{format, ledger, true}];
    if (packed == nullptr) packed = std::make_shared<std::string>(GzipText(*plain));
    return packed;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Exposed> of_;
  std::map<std::tuple<MetricFormat, bool, bool>, std::shared_ptr<const std::string>> bodies_;
};

// The web configuration that counts now. A faulty new version is ignored, and the old one stays.
class LiveConfig {
 public:
  LiveConfig(std::string path, WebConfig config) : path_(std::move(path)), config_(std::move(config)) {
    passwords_.SetUsers(config_.users);
    stamp_ = Stamp();
  }
  // Reads the file again if it changed.
  void Refresh() {
    if (path_.empty()) return;
    const std::lock_guard lock(mutex_);
    const std::pair<std::int64_t, std::int64_t> stamp = Stamp();
    if (stamp == stamp_) return;
    stamp_ = stamp;
    Result<WebConfig> config = ReadWebConfig(path_);
    if (!config || config->tls.has_value() != config_.tls.has_value()) return;
    config_ = std::move(*config);
    passwords_.SetUsers(config_.users);
  }
  [[nodiscard]] WebConfig Get() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }
  PasswordCheck& passwords() { return passwords_; }

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> Stamp() const {
    struct stat info {};
    if (path_.empty() || stat(path_.c_str(), &info) != 0) return {0, 0};
    return {info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec, info.st_ino};
  }

  std::string path_;
  mutable std::mutex mutex_;
  WebConfig config_;
  PasswordCheck passwords_;
  std::pair<std::int64_t, std::int64_t> stamp_;
};

// Loads the certificate for each connection, so that a renewed one counts at once.
int LoadCertificate(SSL* ssl, void* config) {
  const WebConfig now = static_cast<LiveConfig*>(config)->Get();
  return now.tls && SSL_use_certificate_chain_file(ssl, now.tls->cert_file.c_str()) == 1 &&
                 SSL_use_PrivateKey_file(ssl, now.tls->key_file.c_str(), SSL_FILETYPE_PEM) == 1
             ? 1
             : 0;
}

bool SetUpTls(SSL_CTX& context, const WebConfig::Tls& tls, LiveConfig* config) {
  const auto version = [](const std::string& name) { return name == "TLS13" ? TLS1_3_VERSION : TLS1_2_VERSION; };
  SSL_CTX_set_min_proto_version(&context, version(tls.min_version));
  SSL_CTX_set_max_proto_version(&context, version(tls.max_version));
  SSL_CTX_set_cert_cb(&context, LoadCertificate, config);
  // The pair is also checked once here, so that a wrong one is an error of the start.
  if (SSL_CTX_use_certificate_chain_file(&context, tls.cert_file.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(&context, tls.key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(&context) != 1)
    return false;
  if (tls.client_auth_type.empty() || tls.client_auth_type == "NoClientCert") return true;
  if (!tls.client_ca_file.empty() && SSL_CTX_load_verify_locations(&context, tls.client_ca_file.c_str(), nullptr) != 1)
    return false;
  const bool required = tls.client_auth_type.rfind("Require", 0) == 0;
  const bool verified = tls.client_auth_type.find("Verify") != std::string::npos;
  // "Require" without "Verify" takes any certificate: upstream does too.
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     verified ? nullptr : static_cast<SSL_verify_cb>([](int, X509_STORE_CTX*) { return 1; }));
  return true;
}

// Whether the client's certificate names one of the allowed subjects. An empty list allows all.
bool AllowedSubject(const httplib::Request& request, const WebConfig& config) {
  if (!config.tls || config.tls->client_allowed_sans.empty()) return true;
  if (request.ssl == nullptr) return false;
  X509* const certificate = SSL_get_peer_certificate(request.ssl);
  if (certificate == nullptr) return false;
  bool allowed = false;
  for (const std::string& san : config.tls->client_allowed_sans) {
    allowed = allowed || X509_check_host(certificate, san.data(), san.size(), 0, nullptr) == 1 ||
              X509_check_ip_asc(certificate, san.c_str(), 0) == 1 ||
              X509_check_email(certificate, san.data(), san.size(), 0) == 1;
  }
  X509_free(certificate);
  return allowed;
}

class HttpServer final : public ScrapeServer {
 public:
  HttpServer(ServerOptions options, WebConfig config, Newest newest, std::function<void()> on_live_scrape)
      : options_(std::move(options)),
        warnings_(config.warnings),
        tls_(config.tls),
        config_(options_.web_config, std::move(config)),
        newest_(std::move(newest)),
        on_live_scrape_(std::move(on_live_scrape)) {}
  ~HttpServer() override {
    if (server_ != nullptr) server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<void> Listen(const Address& address) {
    if (tls_) {
      auto server =
          std::make_unique<httplib::SSLServer>([&](SSL_CTX& context) { return SetUpTls(context, *tls_, &config_); });
      if (!server->is_valid())
        return FailUsage(options_.web_config + ": the certificate, its key and the client CA do not work together");
      server_ = std::move(server);
    } else {
      server_ = std::make_unique<httplib::Server>();
    }
    server_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    // The library would share the port with another agent (SO_REUSEPORT), and each would get half of the scrapes.
    server_->set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    // An idle connection holds a thread, so it is closed soon. Scrapers connect anew.
    server_->set_keep_alive_timeout(2);
    server_->set_keep_alive_max_count(1000);
    server_->set_read_timeout(5);
    server_->set_write_timeout(5);
    server_->set_payload_max_length(kLargestBody);
    Route();
    port_ = address.port != 0 ? address.port : server_->bind_to_any_port(address.host);
    const bool bound = address.port == 0 ? port_ > 0 : server_->bind_to_port(address.host, address.port);
    if (!bound) {
      return Fail("idleburn could not listen at " + options_.listen +
                  ": the address is in use or not of this machine; choose another --web.listen-address");
    }
    host_ = address.host;
    thread_ = std::thread([this] {
      server_->listen_after_bind();
      ended_ = true;
    });
    // Before the library's loop runs, its stop() does nothing, and the destructor would wait for ever.
    while (!server_->is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

  [[nodiscard]] int port() const override { return port_; }
  [[nodiscard]] std::string url() const override {
    const std::string host = host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]";
    return (tls_ ? "https://" : "http://") + host + ":" + std::to_string(port_) + options_.path;
  }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;

  void Route() {
    server_->set_pre_routing_handler([this](const Request& request, Response& response) {
      return Admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                      : httplib::Server::HandlerResponse::Handled;
    });
    server_->Get(options_.path, [this](const Request& q, Response& r) { Metrics(q, r); });
    server_->Get("/-/healthy", [](const Request&, Response& r) { r.set_content("healthy\n", "text/plain"); });
    server_->Get("/-/ready", [this](const Request&, Response& r) {
      const std::shared_ptr<const Exposed> now = newest_();
      const bool ready = now != nullptr && now->ready;
      r.status = ready ? 200 : 503;
      r.set_content(ready ? "ready\n" : "no source gives data\n", "text/plain");
    });
    server_->Get("/api/v1/jobs", [this](const Request&, Response& r) {
      const std::shared_ptr<const Exposed> now = newest_();
      if (now == nullptr) return static_cast<void>(r.status = 503);
      r.set_content(now->jobs, "application/json");
    });
    server_->Get("/", [this](const Request&, Response& r) {
      r.set_content("<!doctype html><html lang=en><title>idleburn agent</title><h1>idleburn agent</h1><p><a href=\"" +
                        options_.path + "\">metrics</a> <a href=\"/api/v1/jobs\">jobs</a></html>\n",
                    "text/html");
    });
  }

  // What holds for every request: headers, method, certificate, password. False: it is answered.
  bool Admit(const Request& request, Response& response) {
    config_.Refresh();
    const WebConfig config = config_.Get();
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("X-Frame-Options", "deny");
    response.set_header("Content-Security-Policy", "default-src 'none'");
    response.set_header("Referrer-Policy", "same-origin");
    for (const auto& [name, value] : config.headers) {
      response.headers.erase(name);
      response.set_header(name.c_str(), value);
    }
    if (!AllowedSubject(request, config)) {
      response.status = 403;
    } else if (!config_.passwords().empty() && !config_.passwords().Allows(request.get_header_value("Authorization"))) {
      response.status = 401;
      response.set_header("WWW-Authenticate", "Basic");
    } else if (request.method != "GET" && request.method != "HEAD") {
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
    } else {
      return true;
    }
    return false;
  }

  void Metrics(const Request& request, Response& response) {
    bool ledger = false;
    for (const auto& [name, value] : request.params) {
      if (name != "collect[]" || value != "ledger") {
        response.status = 400;
        response.set_content("the only parameter is collect[]=ledger\n", "text/plain");
        return;
      }
      ledger = true;
    }
    const std::shared_ptr<const Exposed> now = newest_();
    if (now == nullptr) {
      response.status = 503;
      response.set_content("nothing was counted yet\n", "text/plain");
      return;
    }
    const std::string accept = request.get_header_value("Accept");
    const bool open_metrics = accept.find("application/openmetrics-text") != std::string::npos;
    const MetricFormat format = open_metrics ? MetricFormat::kOpenMetrics : MetricFormat::kPrometheus;
    const bool gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
    const std::shared_ptr<const std::string> body = bodies_.Get(now, format, ledger, gzip);
    if (gzip) response.set_header("Content-Encoding", "gzip");
    response.set_header("Vary", "Accept, Accept-Encoding");
    response.set_content_provider(body->size(), open_metrics ? kOpenMetricsType : kPrometheusType,
                                  [body](std::size_t from, std::size_t length, httplib::DataSink& sink) {
                                    return sink.write(body->data() + from, std::min(length, body->size() - from));
                                  });
    if (!ledger) on_live_scrape_();
  }

  ServerOptions options_;
  std::vector<std::string> warnings_;
  std::optional<WebConfig::Tls> tls_;
  LiveConfig config_;
  Newest newest_;
  std::function<void()> on_live_scrape_;
  Bodies bodies_;
  std::unique_ptr<httplib::Server> server_;
  std::string host_;
  int port_ = 0;
  std::thread thread_;
  std::atomic<bool> ended_ = false;
};

}  // namespace

Result<std::unique_ptr<ScrapeServer>> ScrapeServer::Start(const ServerOptions& options, Newest newest,
                                                          std::function<void()> on_live_scrape) {
  const Address address = TRY(ParseAddress(options.listen));
  WebConfig config;
  if (!options.web_config.empty()) config = TRY(ReadWebConfig(options.web_config));
  if (options.path.empty() || options.path.front() != '/') return FailUsage("--web.telemetry-path must begin with /");
  if (!IsLoopback(address.host) && !config.tls && !options.insecure) {
    return FailUsage("--web.listen-address " + options.listen +
                     ": other machines could read the metrics without TLS; give --web.config.file with "
                     "tls_server_config, or --web.insecure");
  }
  auto server = std::make_unique<HttpServer>(options, std::move(config), std::move(newest), std::move(on_live_scrape));
  TRY(server->Listen(address));
  return server;
}

}  // namespace idleburn
