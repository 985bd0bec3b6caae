#pragma once

#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// A matrix or convolution kernel of a vendor's library that says it works in single precision outside the tensor cores:
// cuBLAS "volta_sgemm_64x64_nt", cuDNN "volta_scudnn_128x64_relu", "implicit_convolve_sgemm". A template argument
// <float> alone says nothing: it may be the accumulator's.
bool IsFp32Matrix(std::string_view kernel);

// Of all names of a profile.
std::vector<bool> Fp32Names(const Profile& profile);

}  // namespace idleburn
