// What `make audit` audits: this machine's own GPU where the driver lists one, else the example.
#include <gtest/gtest.h>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"

namespace idleburn::testing {
namespace {

// The README's first command in a folder that looks like the project's, whose program is built: `program` stands at its
// place, and nvidia-smi prints `gpus`.
ProgramRun MakeAudit(const LiveMachine& machine, const std::string& program, const std::string& gpus,
                     const std::string& variables = "") {
  return machine.Run("cd $F && mkdir -p bin build/release && ln -s " + program +
                     " build/release/idleburn && for part in Makefile tools examples; do ln -s " IDLEBURN_ROOT
                     "/$part; done; printf '#!/bin/sh\\n" +
                     gpus + "\\n' > bin/nvidia-smi && chmod +x bin/nvidia-smi && " + variables +
                     " PATH=$F/bin:$PATH timeout 120 make -o build audit");
}

constexpr const char* kOneGpu = "echo \"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\"";

TEST(MakeAudit, AuditsThisMachinesGpu) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=95\n");
  const ProgramRun run = MakeAudit(machine, "$I", kOneGpu, "AUDIT_FOR=2s");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(LinesWith(run.err, "recording to build/release/this_machine.idleburn for 2s"), 1) << run.err;
  EXPECT_EQ(LinesWith(run.out, "finetune_4xh100"), 0) << run.out;
  const nlohmann::json audit = machine.Audit("build/release/this_machine.idleburn");
  EXPECT_GT(Seconds(audit["gpu_hours"]["effective"]), 1.0);
  EXPECT_NE(ReadText(machine.Path("report.html")).find("this_machine.idleburn"), std::string::npos);
  EXPECT_EQ(LinesWith(run.out, "The same with the phase ribbon and timelines: report.html"), 1) << run.out;
}

TEST(MakeAudit, AuditsItForHalfAMinute) {
  const LiveMachine machine("gpu 0\n");
  const std::string program = machine.Path("says");
  ASSERT_EQ(machine.Run("printf '#!/bin/sh\\necho \"$*\" >> $F/said\\n' > $F/says; chmod +x $F/says").code, 0);
  const ProgramRun run = MakeAudit(machine, program, kOneGpu);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(LinesWith(ReadText(machine.Path("said")), "record --for 30s "), 1);
}

TEST(MakeAudit, AuditsTheExampleWhereTheDriverListsNone) {
  const LiveMachine machine("");
  const ProgramRun run = MakeAudit(
      machine, "$I", "echo \"NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.\"; exit 9");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_GE(LinesWith(run.out, "finetune_4xh100.csv.gz"), 1) << run.out;
  EXPECT_GT(ReadText(machine.Path("report.html")).size(), 10'000U);
  EXPECT_FALSE(std::filesystem::exists(machine.Path("build/release/this_machine.idleburn")));
}

}  // namespace
}  // namespace idleburn::testing
