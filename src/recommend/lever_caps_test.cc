// No lever promises more than its mechanism can give, and none is explained in another framework's language.
#include "recommend/lever_caps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "recommend/advice.h"
#include "recommend/framework_how.h"
#include "recommend/lever_table.h"
#include "support/property.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

// A traced run, priced at nothing, with its advice.
struct Advised {
  TraceDiagnosis trace;
  DeviceTable devices;
  DataQuality quality;
  RunResult run;
  CostReport cost;

  explicit Advised(const Profile& profile) : trace(DiagnoseProfiles(std::span(&profile, 1))) {
    run = TracedRun(std::span(&profile, 1), trace, devices, quality);
  }
  [[nodiscard]] Scene Seen() const { return {run, devices, cost, {}, &trace, true}; }
  [[nodiscard]] const Finding* Of(std::string_view cause) const {
    const auto at =
        std::find_if(trace.findings.begin(), trace.findings.end(), [&](const Finding& f) { return f.cause == cause; });
    return at == trace.findings.end() ? nullptr : &*at;
  }
};

// Short kernels after gaps in which the host prepares them, pageable copies, and collectives.
Profile Mixed(std::int64_t gap, std::int64_t copy, std::int64_t comm, std::int64_t bytes) {
  TinyProfile tiny;
  std::int64_t at = 0;
  for (std::int64_t step = 0; step < 6; ++step) {
    const std::int64_t from = at;
    for (int i = 0; i < 25; ++i) {
      at += gap;
      tiny.Kernel(at, at + 20, at);
      at += 20;
    }
    tiny.Copy(CopyKind::kHtoD, MemoryKind::kPageable, bytes, at, at + copy, at);
    at += copy;
    tiny.Comm(at, at + comm, at);
    at += comm;
    tiny.Step(step, from, at);
  }
  Profile profile = tiny.Kernel(at, at + 1, at).Build();
  profile.devices[0].model = "Tesla V100-SXM2-16GB";  // 15.75 GB/s
  return profile;
}

// Every lever of every finding stays within its cause, and the named ones within their own formula.
void NoLeverExceedsItsMechanism() {
  const auto gap = *rc::gen::inRange<std::int64_t>(5, 200);
  const auto copy = *rc::gen::inRange<std::int64_t>(10, 2000);
  const auto comm = *rc::gen::inRange<std::int64_t>(10, 2000);
  const auto bytes = *rc::gen::inRange<std::int64_t>(1000, 30'000'000);
  const Advised run(Mixed(gap, copy, comm, bytes));
  const TraceBudget& b = run.trace.devices.at(0).Deciding();
  for (const Finding& f : run.trace.findings) {
    RC_ASSERT(f.bound >= 0 && f.bound <= f.share + 1e-12);
    for (const std::string_view id : CauseById(f.cause).levers) {
      if (id.empty()) continue;
      const LeverCap cap = CapOf(run.Seen(), f, id);
      if (!cap.part) continue;
      const double most = f.bound * *cap.part;
      RC_ASSERT(*cap.part >= 0 && *cap.part <= 1);
      RC_ASSERT(most <= 1 - b.Share(b.compute_ns) + 1e-9);  // no fix of these shortens what computes
      if (id == "larger_batch") RC_ASSERT(most <= f.share / 2 + 1e-12);
      if (id == "gradient_accumulation" && f.cause == "comm_exposed") RC_ASSERT(most <= f.share / 2 + 1e-12);
      if (id == "overlap_communication") RC_ASSERT(most <= b.Share(b.compute_ns) + 1e-9);
      if (id == "pin_memory") {
        const double at_link = static_cast<double>(bytes) / 15.75 / (static_cast<double>(copy) * 1e3);
        RC_ASSERT(*cap.part <= std::max(0.0, 1 - at_link) + 1e-9);
      }
    }
  }
}

TEST(LeverCapsTest, NoLeverExceedsItsMechanism) { test::ExpectProperty("caps of levers", NoLeverExceedsItsMechanism); }

TEST(LeverCapsTest, WhatIsNotKnownHasNoFigure) {
  const Advised run(Mixed(100, 10, 10, 1000));
  const Finding* launches = run.Of("launch_bound");
  ASSERT_NE(launches, nullptr);
  EXPECT_FALSE(CapOf(run.Seen(), *launches, "fused_kernels").part) << "nobody knows how many kernels remain";
  EXPECT_EQ(CapOf(run.Seen(), *launches, "cuda_graphs").part, 1);
}

TEST(FrameworkHowTest, SpeaksTheLanguageOfTheTrace) {
  EXPECT_FALSE(FrameworkHow(Framework::kPyTorch, "pin_memory")) << "the lever's own line";
  EXPECT_EQ(FrameworkHow(Framework::kCuda, "pin_memory"), "cudaMallocHost for the source of copies");
  EXPECT_EQ(FrameworkHow(Framework::kHip, "pin_memory"), "hipHostMalloc for the source of copies");
  EXPECT_EQ(FrameworkHow(Framework::kJax, "pin_memory"), "") << "JAX has no line for it";
  EXPECT_EQ(FrameworkHow(Framework::kCuda, "num_workers"), "");
  for (const Cause& cause : Causes()) {
    for (const std::string_view id : cause.levers) {
      if (id.empty()) continue;
      for (const Framework f :
           {Framework::kJax, Framework::kTensorFlow, Framework::kCuda, Framework::kHip, Framework::kOpenAcc}) {
        const std::string how(FrameworkHow(f, id).value_or(LeverById(id).how));
        for (const char* word : {"torch.", "DataLoader(", "model.", "TrainingArguments"}) {
          EXPECT_EQ(how.find(word), std::string::npos) << id << " in " << Name(f) << ": " << how;
        }
      }
    }
  }
}

TEST(FrameworkHowTest, ATraceTellsItsFramework) {
  const auto of = [](ProfilerKind kind, std::string_view op) {
    Profile profile = TinyProfile().Op(op, 0, 10).Kernel(0, 10, 0).Build();
    profile.kind = kind;
    return FindFramework(profile);
  };
  EXPECT_EQ(of(ProfilerKind::kPyTorch, "aten::mm"), Framework::kPyTorch);
  EXPECT_EQ(of(ProfilerKind::kPyTorch, "vllm::unified_attention"), Framework::kVllm);
  EXPECT_EQ(of(ProfilerKind::kPyTorch, "[pl][profile]run_training_batch"), Framework::kLightning);
  EXPECT_EQ(of(ProfilerKind::kXla, "IteratorGetNextOp"), Framework::kTensorFlow);
  EXPECT_EQ(of(ProfilerKind::kXla, "PjitFunction(f)"), Framework::kJax);
  EXPECT_EQ(of(ProfilerKind::kNsight, "solve"), Framework::kCuda);
}

}  // namespace
}  // namespace idleburn
