#include "diagnose/host_link.h"

#include <array>

namespace idleburn {
namespace {

struct Link {
  std::string_view model;  // part of the device's name
  double gb_per_s;
};

// 16 lanes of PCIe 3, 4 and 5 after line coding (8, 16, 32 GT/s x 128/130 / 8), as in the boards' data sheets; Grace
// Hopper and Grace Blackwell reach their host over NVLink-C2C. The first row that fits counts.
constexpr double kGen3 = 15.75;
constexpr double kGen4 = 31.5;
constexpr double kGen5 = 63;
constexpr double kC2c = 450;
constexpr auto kLinks = std::to_array<Link>({
    {"GH200", kC2c}, {"GB200", kC2c},   {"GB300", kC2c},   {"V100", kGen3},  {"P100", kGen3},  {"T4", kGen3},
    {"A100", kGen4}, {"A800", kGen4},   {"A30", kGen4},    {"A10", kGen4},   {"A40", kGen4},   {"A6000", kGen4},
    {"L40", kGen4},  {"RTX 30", kGen4}, {"RTX 40", kGen4}, {"MI250", kGen4}, {"H100", kGen5},  {"H800", kGen5},
    {"H200", kGen5}, {"B200", kGen5},   {"B300", kGen5},   {"MI300", kGen5}, {"MI325", kGen5}, {"RTX 50", kGen5},
});

}  // namespace

std::optional<double> HostLinkGBs(std::string_view model) {
  for (const Link& link : kLinks) {
    if (model.find(link.model) != std::string_view::npos) return link.gb_per_s;
  }
  return std::nullopt;
}

}  // namespace idleburn
