#include "diagnose/fp32_kernels.h"

#include <algorithm>
#include <cctype>

namespace idleburn {

bool IsFp32Matrix(std::string_view kernel) {
  for (const std::string_view word : {"sgemm", "scudnn"}) {
    for (std::size_t at = kernel.find(word); at != std::string_view::npos; at = kernel.find(word, at + 1)) {
      if (at == 0 || std::isalnum(static_cast<unsigned char>(kernel[at - 1])) == 0) return true;
    }
  }
  return false;
}

std::vector<bool> Fp32Names(const Profile& profile) {
  std::vector<bool> fp32(profile.names.size());
  std::transform(profile.names.begin(), profile.names.end(), fp32.begin(), IsFp32Matrix);
  return fp32;
}

}  // namespace idleburn
