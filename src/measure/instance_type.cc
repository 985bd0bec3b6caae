#include "measure/instance_type.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {
namespace {

struct ProviderRow {
  std::string_view file;
  std::string_view begins;
  std::string_view provider;
};
// Amazon alone puts the type there; the others tell it only to their metadata service.
constexpr std::array<ProviderRow, 7> kProviders = {{
    {"sys_vendor", "Amazon EC2", "aws"},
    {"product_name", "Google Compute Engine", "gcp"},
    {"sys_vendor", "Google", "gcp"},
    {"chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"},
    {"chassis_asset_tag", "OracleCloud.com", "oracle"},
    {"sys_vendor", "DigitalOcean", "digitalocean"},
    {"sys_vendor", "Hetzner", "hetzner"},
}};

std::string FirstLine(const std::string& path) {
  const std::string text = FileText(path);
  return std::string(Trim(std::string_view(text).substr(0, text.find('\n'))));
}

// "p5.48xlarge", "u-6tb1.112xlarge": a family, a dot, a size. The product of older machines is "HVM domU".
bool IsAmazonType(std::string_view name) {
  const std::size_t dot = name.find('.');
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return dot != std::string_view::npos && dot > 0 && dot + 1 < name.size() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), allowed);
}

}  // namespace

std::optional<InstanceType> DetectInstanceType(const std::string& dmi) {
  for (const ProviderRow& row : kProviders) {
    if (FirstLine(dmi + "/" + std::string(row.file)).substr(0, row.begins.size()) != row.begins) continue;
    InstanceType found;
    found.provider = row.provider;
    const std::string product = FirstLine(dmi + "/product_name");
    if (row.provider == "aws" && IsAmazonType(product)) found.type = product;
    return found;
  }
  return std::nullopt;
}

}  // namespace idleburn
