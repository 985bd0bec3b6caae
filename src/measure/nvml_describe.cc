#include "measure/nvml_describe.h"

#include <array>
#include <map>

namespace idleburn {
namespace {

constexpr std::size_t kMostPaired = 16;  // boards of which every pair is asked for

// Where the paths of two boards meet, from the nearest.
struct Level {
  int code;
  const char* words;
};
constexpr std::array<Level, 6> kLevels = {{{0, "on one board"},
                                           {10, "through one PCIe switch"},
                                           {20, "through several PCIe switches"},
                                           {30, "through one host bridge"},
                                           {40, "within one CPU"},
                                           {50, "between CPUs"}}};

void AddLink(NvmlLibrary& nvml, const BoardHandle& board, std::vector<RunFact>& facts) {
  struct Row {
    NvmlFunction<nvml::Device, std::uint32_t*>* function;
    const char* key;
  };
  const std::array<Row, 4> rows = {{{&nvml.pcie_generation, ".pcie_generation"},
                                    {&nvml.pcie_width, ".pcie_width"},
                                    {&nvml.most_pcie_generation, ".pcie_most_generation"},
                                    {&nvml.most_pcie_width, ".pcie_most_width"}}};
  for (const Row& row : rows) {
    std::uint32_t value = 0;
    if (nvml.Call(*row.function, board.handle, &value) != nvml::kSuccess || value == 0 || value == nvml::kNone32) {
      continue;
    }
    facts.push_back({"gpu." + board.uuid + row.key, std::to_string(value)});
  }
}

void AddNvlinks(NvmlLibrary& nvml, const BoardHandle& board, std::vector<RunFact>& facts) {
  int up = 0;
  bool asked = false;
  for (std::uint32_t link = 0; link < nvml::kMostNvlinks; ++link) {
    std::uint32_t state = 0;
    if (nvml.Call(nvml.nvlink_state, board.handle, link, &state) != nvml::kSuccess) break;
    asked = true;
    up += state == 1 ? 1 : 0;
  }
  if (asked) facts.push_back({"gpu." + board.uuid + ".nvlinks", std::to_string(up)});
}

// "0-1 2-3 through one PCIe switch; 0-2 0-3 1-2 1-3 between CPUs".
std::string TopologyOf(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards) {
  if (boards.size() < 2 || boards.size() > kMostPaired) return {};
  std::map<int, std::string> pairs;
  for (std::size_t a = 0; a < boards.size(); ++a) {
    for (std::size_t b = a + 1; b < boards.size(); ++b) {
      int level = -1;
      if (nvml.Call(nvml.common_ancestor, boards[a].handle, boards[b].handle, &level) != nvml::kSuccess) return {};
      pairs[level] += boards[a].index + "-" + boards[b].index + " ";
    }
  }
  std::string text;
  for (const Level& level : kLevels) {
    const auto found = pairs.find(level.code);
    if (found != pairs.end()) text += (text.empty() ? "" : "; ") + found->second + level.words;
  }
  return text;
}

}  // namespace

std::vector<RunFact> DescribeBoards(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards) {
  std::vector<RunFact> facts;
  int cuda = 0;
  if (nvml.Call(nvml.cuda_version, &cuda) == nvml::kSuccess && cuda > 0) {
    facts.push_back({"cuda", std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10)});
  }
  for (const BoardHandle& board : boards) {
    std::array<char, nvml::kVbiosSize> vbios{};
    if (nvml.Call(nvml.vbios, board.handle, vbios.data(), nvml::kVbiosSize) == nvml::kSuccess) {
      facts.push_back({"gpu." + board.uuid + ".vbios", vbios.data()});
    }
    AddLink(nvml, board, facts);
    AddNvlinks(nvml, board, facts);
  }
  const std::string topology = TopologyOf(nvml, boards);
  if (!topology.empty()) facts.push_back({"gpu.topology", topology});
  return facts;
}

}  // namespace idleburn
