#include "measure/cloud_metadata.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "os/http_peer.h"
#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {

namespace {

// A sign of a cloud: the firmware table, and how its first line begins.
struct ProviderRow {
  std::string_view file;
  std::string_view begins;
  std::string_view provider;
};
// How each cloud shows in the firmware. Only Amazon puts the type there; other clouds tell it only in their metadata
// service.
constexpr std::array<ProviderRow, 7> kProviders = {{
    {"sys_vendor", "Amazon EC2", "aws"},
    {"product_name", "Google Compute Engine", "gcp"},
    {"sys_vendor", "Google", "gcp"},
    {"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
    {"chassis_asset_tag", "OracleCloud.com", "oracle"},
    {"sys_vendor", "DigitalOcean", "digitalocean"},
    {"sys_vendor", "Hetzner", "hetzner"},
}};

// The first line without white space around it. Tables and answers are one line, and anything after it is not used.
std::string FirstLine(std::string_view text) { return std::string(Trim(text.substr(0, text.find('\n')))); }

// Whether a product name is a type of Amazon: a family, a dot, a size, as in "p5.48xlarge" and "u-6tb1.112xlarge".
// Older machines have the product "HVM domU".
bool IsAmazonType(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

std::optional<InstanceType> DetectInstanceType(const std::string& dmi) {
  for (const ProviderRow& row : kProviders) {
    if (FirstLine(FileText(dmi + "/" + std::string(row.file))).substr(0, row.begins.size()) != row.begins) continue;
    InstanceType found;
    found.provider = row.provider;
    const std::string product = FirstLine(FileText(dmi + "/product_name"));
    if (row.provider == "aws" && IsAmazonType(product)) found.type = product;
    return found;
  }
  return std::nullopt;
}

namespace {

using TimePoint = std::chrono::steady_clock::time_point;

struct Header {
  std::string_view name;
  std::string_view value;
};
// A cloud's metadata service: its paths, and how its answers are recognised.
struct CloudRow {
  std::string_view provider;
  Header header;             // of every question
  Header proves_itself;      // of its answers; empty name: none
  std::string_view token;    // where to get one first, which then is the header's value; empty: none
  Header token_header;       // of that question
  std::string_view type;     // where the instance type is
  std::string_view in_type;  // every type has this in it
  std::string_view region;
  bool region_is_zone = false;  // "us-central1-a"
  std::string_view market;
  std::string_view spot;  // what it says there of a spot instance, and of one that is none; anything else is not told
  std::string_view on_demand;
};
constexpr auto kClouds = std::to_array<CloudRow>({
    {"aws",
     {"X-aws-ec2-metadata-token", ""},
     {},
     "/latest/api/token",
     {"X-aws-ec2-metadata-token-ttl-seconds", "60"},
     "/latest/meta-data/instance-type",
     ".",
     "/latest/meta-data/placement/region",
     false,
     "/latest/meta-data/instance-life-cycle",
     "spot",
     "on-demand"},
    {"gcp",
     {"Metadata-Flavor", "Google"},
     {"Metadata-Flavor", "Google"},
     "",
     {},
     "/computeMetadata/v1/instance/machine-type",
     "-",
     "/computeMetadata/v1/instance/zone",
     true,
     "/computeMetadata/v1/instance/scheduling/preemptible",
     "TRUE",
     "FALSE"},
    {"azure",
     {"Metadata", "true"},
     {},
     "",
     {},
     "/metadata/instance/compute/vmSize?api-version=2021-02-01&format=text",
     "Standard_",
     "/metadata/instance/compute/location?api-version=2021-02-01&format=text",
     false,
     "/metadata/instance/compute/priority?api-version=2021-02-01&format=text",
     "Spot",
     "Regular"},
    {"oracle",
     {"Authorization", "Bearer Oracle"},
     {},
     "",
     {},
     "/opc/v2/instance/shape",
     ".",
     "/opc/v2/instance/canonicalRegionName",
     false,
     "",
     "",
     ""},
});

// Whether a text can be a cloud's name. Some servers answer every request with a page of HTML.
bool IsName(std::string_view text) {
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), allowed);
}

// The last part of a path: "projects/123/machineTypes/a3-highgpu-8g" gives "a3-highgpu-8g".
std::string LastPart(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  return std::string(slash == std::string_view::npos ? text : text.substr(slash + 1));
}

// Asks the metadata service of one cloud, one request after another. All clouds use the same address, so another
// cloud may answer. Therefore each answer is checked before it is believed: the status, a header if the cloud sends
// one, and the form of the type.
class Asking {
 public:
  Asking(const CloudRow& row, HttpPeer& peer, TimePoint until)
      : row_(row), peer_(peer), until_(until), secret_(row.header.value) {}

  // The machine. Absent if this cloud does not answer. Region and market may be empty; the type may not.
  std::optional<InstanceType> Ask() {
    if (!row_.token.empty() && !FetchToken()) return std::nullopt;
    const std::string type = Name(row_.type);
    if (type.find(row_.in_type) == std::string::npos) return std::nullopt;
    InstanceType found;
    found.provider = row_.provider;
    found.type = type;
    found.region = Name(row_.region);
    if (row_.region_is_zone) found.region.resize(std::min(found.region.rfind('-'), found.region.size()));
    const std::string market = row_.market.empty() ? "" : Text(row_.market);
    if (!market.empty() && market == row_.spot) found.market = "spot";
    if (!market.empty() && market == row_.on_demand) found.market = "on_demand";
    return found;
  }

 private:
  // Gets the token that Amazon's version 2 wants as a header of each request. False if there is none.
  bool FetchToken() {
    HttpQuestion question{true, std::string(row_.token), {}};
    question.headers.emplace_back(row_.token_header.name, row_.token_header.value);
    const Result<HttpAnswer> answer = peer_.Ask(question, until_);
    if (!answer || answer->status != 200) return false;
    secret_ = FirstLine(answer->body);
    const auto printable = [](char c) { return c > ' ' && c < 0x7F; };  // it becomes a header
    return !secret_.empty() && secret_.size() <= 4096 && std::all_of(secret_.begin(), secret_.end(), printable);
  }
  // The answer to one request. Empty if there is none, or if it does not look like that cloud's.
  std::string Text(std::string_view path) {
    HttpQuestion question{false, std::string(path), {}};
    question.headers.emplace_back(row_.header.name, secret_);
    const Result<HttpAnswer> answer = peer_.Ask(question, until_);
    if (!answer || answer->status != 200) return {};
    const bool proven =
        row_.proves_itself.name.empty() ||
        std::any_of(answer->headers.begin(), answer->headers.end(), [&](const auto& header) {
          return EqualsIgnoreCase(header.first, row_.proves_itself.name) && header.second == row_.proves_itself.value;
        });
    return proven ? FirstLine(answer->body) : std::string();
  }
  // An answer that must be a name. Empty if it is none.
  std::string Name(std::string_view path) {
    const std::string name = LastPart(Text(path));
    return IsName(name) ? name : std::string();
  }

  const CloudRow& row_;
  HttpPeer& peer_;
  TimePoint until_;
  std::string secret_;
};

// The result of all threads. The first valid answer wins.
struct Finding {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t asking = 0;
  std::optional<InstanceType> found;
};

// One cloud if the firmware named it and it has a service here, otherwise all.
std::vector<const CloudRow*> RowsToAsk(std::string_view provider) {
  std::vector<const CloudRow*> rows;
  for (const CloudRow& row : kClouds) {
    if (row.provider == provider) return {&row};
    rows.push_back(&row);
  }
  return rows;
}

}  // namespace

// Each cloud gets a thread. When one answers, or the time is over, the others are stopped.
Result<InstanceType> AskCloud(const CloudQuestion& question) {
  const TimePoint until = std::chrono::steady_clock::now() + question.patience;
  const std::vector<const CloudRow*> rows = RowsToAsk(question.provider);
  std::vector<std::unique_ptr<HttpPeer>> peers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::unique_ptr<HttpPeer> peer = TRY(HttpPeer::Open(question.base));
    peers.push_back(std::move(peer));
  }
  Finding finding;
  finding.asking = rows.size();
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    threads.emplace_back([&finding, &row = *rows[i], &peer = *peers[i], until] {
      std::optional<InstanceType> found = Asking(row, peer, until).Ask();
      const std::lock_guard lock(finding.mutex);
      --finding.asking;
      if (found && !finding.found) finding.found = std::move(found);
      finding.changed.notify_all();
    });
  }
  {
    std::unique_lock lock(finding.mutex);
    finding.changed.wait_until(lock, until, [&] { return finding.found || finding.asking == 0; });
  }
  for (const std::unique_ptr<HttpPeer>& peer : peers) peer->Stop();
  threads.clear();
  if (!finding.found) return Fail("no cloud metadata service answered at " + question.base);
  return *std::move(finding.found);
}

}  // namespace idleburn
