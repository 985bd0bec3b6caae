#include "expose/web_config.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <filesystem>
#include <memory>
#include <set>
#include <span>

#include "text/command_line.h"

namespace idleburn {
namespace {

using Keys = std::vector<std::string>;
const Keys kTopKeys = {"tls_server_config", "http_server_config", "basic_auth_users"};
const Keys kTlsKeys = {"cert_file",           "key_file",    "client_ca_file", "client_auth_type",
                       "client_allowed_sans", "min_version", "max_version"};
const Keys kHttpKeys = {"http2", "headers"};
const Keys kHeaderKeys = {"Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection",
                          "Strict-Transport-Security"};
const Keys kAuthTypes = {"NoClientCert", "RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven",
                         "RequireAndVerifyClientCert"};
const Keys kVersions = {"TLS12", "TLS13"};

bool Knows(const Keys& keys, const std::string& key) { return std::ranges::find(keys, key) != keys.end(); }

Result<void> CheckKeys(const YAML::Node& node, const Keys& known, const std::string& where) {
  if (!node.IsMap()) return FailUsage(where + " must be a table of keys");
  for (const auto& each : node) {
    const auto key = each.first.as<std::string>();
    if (!Knows(known, key)) return FailUsage(where + ": unknown key " + key + SuggestionFor(key, known));
  }
  return {};
}

std::string TextAt(const YAML::Node& node, const char* key) {
  return node[key] ? node[key].as<std::string>() : std::string();
}

// A path of the file is relative to the file's folder.
std::string PathAt(const YAML::Node& node, const char* key, const std::filesystem::path& folder) {
  const std::string path = TextAt(node, key);
  return path.empty() ? path : (folder / path).string();
}

Result<void> CheckFile(const std::string& path, const std::string& where) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return FailUsage(where + ": " + path + " does not exist");
  return {};
}

Result<WebConfig::Tls> TlsFrom(const YAML::Node& node, const std::filesystem::path& folder, const std::string& file) {
  const std::string where = file + ", tls_server_config";
  TRY(CheckKeys(node, kTlsKeys, where));
  WebConfig::Tls tls;
  tls.cert_file = PathAt(node, "cert_file", folder);
  tls.key_file = PathAt(node, "key_file", folder);
  tls.client_ca_file = PathAt(node, "client_ca_file", folder);
  if (node["client_auth_type"]) tls.client_auth_type = TextAt(node, "client_auth_type");
  if (node["min_version"]) tls.min_version = TextAt(node, "min_version");
  if (node["max_version"]) tls.max_version = TextAt(node, "max_version");
  if (node["client_allowed_sans"]) tls.client_allowed_sans = node["client_allowed_sans"].as<std::vector<std::string>>();
  TRY(CheckFile(tls.cert_file, where + ", cert_file"));
  TRY(CheckFile(tls.key_file, where + ", key_file"));
  if (!tls.client_ca_file.empty()) TRY(CheckFile(tls.client_ca_file, where + ", client_ca_file"));
  if (!tls.client_auth_type.empty() && !Knows(kAuthTypes, tls.client_auth_type))
    return FailUsage(where + ": unknown client_auth_type " + tls.client_auth_type);
  const bool verifies = tls.client_auth_type.find("Verify") != std::string::npos;
  if (verifies && tls.client_ca_file.empty())
    return FailUsage(where + ": " + tls.client_auth_type + " needs client_ca_file");
  if (!tls.client_ca_file.empty() && (tls.client_auth_type.empty() || tls.client_auth_type == "NoClientCert"))
    return FailUsage(where + ": client_ca_file needs client_auth_type: RequireAndVerifyClientCert");
  if (!tls.client_allowed_sans.empty() && !verifies)
    return FailUsage(where + ": client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert");
  if (!Knows(kVersions, tls.min_version) || !Knows(kVersions, tls.max_version) || tls.min_version > tls.max_version)
    return FailUsage(where + ": min_version and max_version must be TLS12 or TLS13, in that order");
  return tls;
}

Result<WebConfig> Parse(const YAML::Node& root, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  WebConfig config;
  if (root.IsNull()) return config;
  TRY(CheckKeys(root, kTopKeys, path));
  if (root["tls_server_config"]) config.tls = TRY(TlsFrom(root["tls_server_config"], folder, path));
  if (const YAML::Node http = root["http_server_config"]) {
    TRY(CheckKeys(http, kHttpKeys, path + ", http_server_config"));
    if (http["headers"]) {
      TRY(CheckKeys(http["headers"], kHeaderKeys, path + ", headers"));
      config.headers = http["headers"].as<std::map<std::string, std::string>>();
    }
  }
  if (root["basic_auth_users"]) config.users = root["basic_auth_users"].as<std::map<std::string, std::string>>();
  for (const auto& [user, hash] : config.users) {
    if (hash.size() != 60 || hash.rfind("$2", 0) != 0)
      return FailUsage(path + ", basic_auth_users: the password of " + user + " must be a bcrypt hash");
  }
  return config;
}

std::string Base64Decoded(const std::string& text) {
  std::string out(text.size(), '\0');
  if (text.size() % 4 != 0 || text.empty()) return {};
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size()));
  if (length < 0) return {};
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

bool SameText(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool MatchesHash(const std::string& password, const std::string& hash) {
  const auto data = std::make_unique<crypt_data>();
  const char* const found = crypt_r(password.c_str(), hash.c_str(), data.get());
  return found != nullptr && SameText(found, hash);
}

// A hash of a random password: what an unknown name is checked against.
constexpr const char* kNobody = "$2b$10$abcdefghijklmnopqrstuuuJ9u0mV3jTqfQ1bJXkY3Gq0mU2nq1yW";

}  // namespace

Result<WebConfig> ReadWebConfig(const std::string& path) {
  try {
    WebConfig config = TRY(Parse(YAML::LoadFile(path), path));
    struct stat info {};
    const std::string secret = config.tls ? config.tls->key_file : path;
    if ((config.tls || !config.users.empty()) && stat(secret.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
      config.warnings.push_back(secret + ": other users can read this file; run chmod 600");
    return config;
  } catch (const YAML::Exception& error) {
    return FailUsage(path + ": idleburn could not read this web configuration: " + error.what());
  }
}

void PasswordCheck::SetUsers(std::map<std::string, std::string> users) {
  const std::lock_guard lock(mutex_);
  if (users == users_ && !salt_.empty()) return;
  users_ = std::move(users);
  right_.clear();
  salt_.assign(32, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(salt_.data()), static_cast<int>(salt_.size()));
}

bool PasswordCheck::empty() const {
  const std::lock_guard lock(mutex_);
  return users_.empty();
}

std::string PasswordCheck::Digest(const std::string& name, const std::string& password) const {
  const std::string text = salt_ + name + '\0' + password;
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &length, EVP_sha256(), nullptr);
  digest.resize(length);
  return digest;
}

bool PasswordCheck::Allows(const std::string& authorization) {
  constexpr std::string_view kBasic = "Basic ";
  if (authorization.rfind(kBasic, 0) != 0) return false;
  const std::string pair = Base64Decoded(authorization.substr(kBasic.size()));
  const std::size_t colon = pair.find(':');
  if (colon == std::string::npos) return false;
  const std::string name = pair.substr(0, colon);
  const std::string password = pair.substr(colon + 1);
  std::string hash = kNobody;
  std::string digest;
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    digest = Digest(name, password);
    const auto right = right_.find(name);
    if (right != right_.end() && SameText(right->second, digest)) return true;
    const auto user = users_.find(name);
    known = user != users_.end();
    if (known) hash = user->second;
  }
  const bool matches = MatchesHash(password, hash) && known;
  const std::lock_guard lock(mutex_);
  const auto user = users_.find(name);
  if (!matches || user == users_.end() || user->second != hash) return false;
  right_[name] = digest;
  return true;
}

}  // namespace idleburn
