#pragma once

#include <string_view>

#include "diagnose/device_timeline.h"

namespace idleburn {

// A matrix or convolution kernel of a vendor's library that says it works in single precision outside the tensor cores:
// cuBLAS "volta_sgemm_64x64_nt", cuDNN "volta_scudnn_128x64_relu", "implicit_convolve_sgemm". A template argument
// <float> alone says nothing: it may be the accumulator's.
bool IsFp32Matrix(std::string_view kernel);

// When such kernels ran.
IntervalSet Fp32Time(const Profile& profile, const ProfiledDevice& device, Interval window);

}  // namespace idleburn
