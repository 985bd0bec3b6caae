#include "measure/nvml_library.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

TEST(NvmlCodes, EveryCodeHasARowAndASentence) {
  for (nvml::Return code = 0; code <= 29; ++code) {
    EXPECT_EQ(NvmlCodeOf(code).code, code);
    EXPECT_FALSE(NvmlCodeOf(code).sentence.empty());
  }
  EXPECT_EQ(NvmlCodeOf(12345).code, nvml::kUnknown);
  EXPECT_EQ(NvmlCodeOf(-1).code, nvml::kUnknown);
}

TEST(NvmlCodes, WhatIsDoneFollowsTheMeaning) {
  using H = NvmlHandling;
  EXPECT_EQ(NvmlCodeOf(nvml::kNotSupported).handling, H::kUnsupported);
  EXPECT_EQ(NvmlCodeOf(nvml::kFunctionNotFound).handling, H::kUnsupported);
  EXPECT_EQ(NvmlCodeOf(nvml::kNotFound).handling, H::kNothingNew);
  EXPECT_EQ(NvmlCodeOf(nvml::kNoPermission).handling, H::kPermission);
  EXPECT_EQ(NvmlCodeOf(nvml::kGpuIsLost).handling, H::kLost);
  EXPECT_EQ(NvmlCodeOf(nvml::kResetRequired).handling, H::kLost);
  EXPECT_EQ(NvmlCodeOf(nvml::kUninitialized).handling, H::kLost);
  EXPECT_EQ(NvmlCodeOf(nvml::kLibRmVersionMismatch).handling, H::kMismatch);
  EXPECT_EQ(NvmlCodeOf(nvml::kDriverNotLoaded).handling, H::kNoDriver);
  EXPECT_EQ(NvmlCodeOf(nvml::kUnknown).handling, H::kPassing);
}

}  // namespace

}  // namespace idleburn
