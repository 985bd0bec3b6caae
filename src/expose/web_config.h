// The web configuration file that Prometheus' exporters share (exporter-toolkit): TLS, users and headers.

#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// The file as it was read. Paths are absolute or relative to the working folder.
struct WebConfig {
  struct Tls {
    std::string cert_file;
    std::string key_file;
    std::string client_ca_file;    // empty: clients need no certificate
    std::string client_auth_type;  // "NoClientCert" if empty
    std::string min_version = "TLS12";
    std::string max_version = "TLS13";
    std::vector<std::string> client_allowed_sans;
  };
  std::optional<Tls> tls;
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> users;  // user -> bcrypt hash
  std::vector<std::string> warnings;         // a line each: "web.yml: readable by others"
};

// Reads the file. Fails on an unknown key (and names the nearest known one), on keys that exclude each other, on a hash
// that is no bcrypt, and on files that are missing.
Result<WebConfig> ReadWebConfig(const std::string& path);

// Checks names and passwords against bcrypt hashes. A check of a hash of cost 10 takes 50 ms, so a pair that was right
// is remembered by a salted digest until the users change. An unknown name costs as much as a wrong password. Any
// thread may call it.
class PasswordCheck {
 public:
  void SetUsers(std::map<std::string, std::string> users);
  [[nodiscard]] bool empty() const;
  // `authorization` is the header's value: "Basic YTpi".
  bool Allows(const std::string& authorization);

 private:
  [[nodiscard]] std::string Digest(const std::string& name, const std::string& password) const;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> users_;
  std::string salt_;
  std::map<std::string, std::string> right_;  // by user: the digest of the pair that was right
};

}  // namespace idleburn
