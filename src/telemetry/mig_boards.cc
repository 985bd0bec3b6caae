#include "telemetry/mig_boards.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace idleburn {
namespace {

// NVIDIA Multi-Instance GPU User Guide, "Supported GPUs" (the number of instances) and "Supported MIG profiles".
struct MigBoard {
  std::string_view model;  // a word of the name, or several
  int slices;
};
constexpr auto kMigBoards = std::to_array<MigBoard>({
    {"A30", 4},
    {"A100", 7},
    {"A100X", 7},
    {"A800", 7},
    {"H20", 7},
    {"H100", 7},
    {"H200", 7},
    {"H800", 7},
    {"GH200", 7},
    {"B100", 7},
    {"B200", 7},
    {"B300", 7},
    {"GB200", 7},
    {"GB300", 7},
    {"RTX PRO 6000 Blackwell", 4},
    {"RTX PRO 5000 Blackwell", 2},
    {"RTX PRO 4500 Blackwell", 2},
    {"Thor", 2},
});

bool IsWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Exporters write "H100-SXM5-80GB" and "NVIDIA_A30" too.
char Plain(char c) {
  return c == '-' || c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool HasWords(std::string_view name, std::string_view words) {
  const auto same = [](char a, char b) { return Plain(a) == Plain(b); };
  for (auto from = name.begin();; ++from) {
    from = std::search(from, name.end(), words.begin(), words.end(), same);
    if (from == name.end()) return false;
    const auto to = from + static_cast<std::ptrdiff_t>(words.size());
    if ((from == name.begin() || !IsWordPart(*(from - 1))) && (to == name.end() || !IsWordPart(*to))) return true;
  }
}

}  // namespace

std::optional<int> MigSlices(std::string_view gpu_name) {
  if (HasWords(gpu_name, "Laptop")) return std::nullopt;  // of the same names, and none of them can be cut
  for (const MigBoard& board : kMigBoards) {
    if (HasWords(gpu_name, board.model)) return board.slices;
  }
  return std::nullopt;
}

}  // namespace idleburn
