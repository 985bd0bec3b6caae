#include <gtest/gtest.h>

#include <string>

#include "places.h"
#include "support/program.h"

namespace idleburn {
namespace {

using testing::ProgramRun;
using testing::RunShell;
using testing::TempFolder;

const std::string kTool = "python3 " IDLEBURN_ROOT "/tools/nvml_abi.py ";

// A header in the shape of NVIDIA's, of our own making: `memory` is the type of a member of nvmlUtilization_t.
std::string Header(const std::string& energy_field, const std::string& memory) {
  return "typedef enum nvmlReturn_enum { NVML_SUCCESS = 0, NVML_ERROR_UNKNOWN = 999 } nvmlReturn_t;\n"
         "typedef struct { unsigned int gpu; " +
         memory +
         " memory; } nvmlUtilization_t;\n"
         "typedef struct nvmlDevice_st* nvmlDevice_t;\n"
         "extern \"C\" nvmlReturn_t nvmlInit_v2(void);\n"
         "extern \"C\" nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t*);\n"
         "#define NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION " +
         energy_field + "\n";
}

TEST(NvmlAbiTest, AHeaderThatAgreesLeavesOnlyWhatItDoesNotHave) {
  const TempFolder folder;
  const ProgramRun run = RunShell(kTool + "--all --header " + folder.Write("nvml.h", Header("83", "unsigned int")));
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_NE(run.out.find("| constant | kFieldEnergy | NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION | agreed |"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("| struct | Utilization | nvmlUtilization_t | agreed |"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("struct: 14 missing, 1 agreed"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("function: 2 agreed, "), std::string::npos) << run.out;
}

TEST(NvmlAbiTest, AnotherNumberOrLayoutIsNamedWithBothSides) {
  const TempFolder folder;
  const ProgramRun run = RunShell(kTool + "--header " + folder.Write("nvml.h", Header("84", "unsigned long")));
  EXPECT_EQ(run.code, 1) << run.out << run.err;
  EXPECT_NE(run.out.find("| different | 83, theirs 84 |"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("| different | 8 0 4, theirs 16 0 8 |"), std::string::npos) << run.out;
}

// Both stand-ins lack what they say, and what a library lacks is no fault of it.
TEST(NvmlAbiTest, ALibraryIsAskedForEveryName) {
  const ProgramRun present = RunShell(kTool + "--library " IDLEBURN_STANDIN);
  EXPECT_EQ(present.code, 0) << present.err;
  EXPECT_NE(present.out.find("exported: 49 agreed, 2 missing"), std::string::npos) << present.out;
  const ProgramRun old = RunShell(kTool + "--library " IDLEBURN_STANDIN_OLD);
  EXPECT_EQ(old.code, 0) << old.err;
  EXPECT_NE(old.out.find("| exported | nvmlGpmSampleGet | nvmlGpmSampleGet | missing |"), std::string::npos) << old.out;
}

}  // namespace
}  // namespace idleburn
