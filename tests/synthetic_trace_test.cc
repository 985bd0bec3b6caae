// The 8-GPU trace with known truth, second by second: data/telemetry/synthetic.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "os/input_file.h"
#include "support/program.h"
#include "support/read_inputs.h"
#include "text/line_reader.h"
#include "text/strings.h"

namespace idleburn {
namespace {

using testing::MustRead;
using testing::Shared;

constexpr double kSecond = 1e9;

class SyntheticTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = Shared() / "data/telemetry/synthetic";
    REQUIRE_SHARED(folder_ / "smi_8gpu_10hz.csv.gz");
    truth_ = nlohmann::json::parse(testing::ReadText(folder_ / "truth.json"));
    inputs_ = MustRead({(folder_ / "smi_8gpu_10hz.csv.gz").string()});
  }

  std::filesystem::path folder_;
  nlohmann::json truth_;
  std::shared_ptr<RunInputs> inputs_;
};

TEST_F(SyntheticTrace, PhasesAreExactToTheSecond) {
  ASSERT_EQ(inputs_->run.devices.size(), 8U);
  std::array<std::int64_t, kPhaseCount> phases{};
  std::int64_t unobserved = 0;
  for (const DeviceResult& d : inputs_->run.devices) {
    EXPECT_TRUE(d.fast);
    for (std::size_t p = 0; p < kPhaseCount; ++p) phases[p] += d.totals.phase_ns[p];
    unobserved += d.totals.UnobservedNs();
    EXPECT_EQ(d.WindowNs(), 900 * kNanosPerSecond);
  }
  const nlohmann::json& want = truth_["total"]["phase_seconds"];
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    EXPECT_EQ(phases[p], want[std::string(kPhaseNames[p])].get<std::int64_t>() * kNanosPerSecond) << kPhaseNames[p];
  }
  EXPECT_EQ(unobserved, want["unobserved"].get<std::int64_t>() * kNanosPerSecond);
}

// The same log by default columns: index and uuid are gone. A GPU is lost midway, so that rows behind it cannot be told
// apart; the log is refused by the line, and what comes before that line is eight GPUs with their own readings.
TEST_F(SyntheticTrace, WithoutIndexItIsEightGpusOrRefused) {
  Result<std::unique_ptr<ByteSource>> log = OpenInput((folder_ / "smi_8gpu_10hz.csv.gz").string());
  ASSERT_TRUE(log);
  LineReader lines(**log);
  std::vector<std::string> stripped;
  for (std::string_view line; *lines.Next(&line);) {
    const std::vector<std::string_view> cells = Split(line, ',');
    std::string& row = stripped.emplace_back(cells[0]);
    for (std::size_t i = 3; i < cells.size(); ++i) row.append(",").append(cells[i]);
    row += "\n";
  }
  const testing::TempFolder folder;
  const auto write = [&](const std::string& name, std::size_t count) {
    std::ofstream out(folder.path() / name);
    for (std::size_t i = 0; i < std::min(count, stripped.size()); ++i) out << stripped[i];
    return (folder.path() / name).string();
  };
  const testing::ProgramRun all = testing::RunIdleburn("audit " + write("all.csv", stripped.size()));
  EXPECT_EQ(all.code, 1);
  EXPECT_NE(all.err.find("add `index,uuid` to --query-gpu, or pass `--gpus N`"), std::string::npos) << all.err;
  const std::shared_ptr<RunInputs> bare = MustRead({write("whole.csv", 1 + 8 * 2000)});
  ASSERT_EQ(bare->run.devices.size(), 8U);
  EXPECT_EQ(bare->quality.CountOf(QualityId::kInferredIdentity), 1);
}

TEST_F(SyntheticTrace, LabelsAreExact) {
  std::int64_t held = 0;
  std::int64_t empty = 0;
  std::int64_t spin = 0;
  std::int64_t burst = 0;
  std::int64_t loss = 0;
  std::int64_t throttled = 0;
  for (const DeviceResult& d : inputs_->run.devices) {
    held += d.totals.idle_held_ns;
    empty += d.totals.idle_empty_ns;
    spin += d.spin.time.ns;
    burst += d.totals.burst.ns;
    loss += d.throttled_with_loss_ns;
    throttled += d.totals.throttled_ns;
  }
  const nlohmann::json& want = truth_["total"]["label_seconds"];
  EXPECT_EQ(held, want["idle_held"].get<std::int64_t>() * kNanosPerSecond);
  EXPECT_EQ(empty, want["idle_empty"].get<std::int64_t>() * kNanosPerSecond);
  EXPECT_EQ(spin, want["spin_wait"].get<std::int64_t>() * kNanosPerSecond);
  EXPECT_EQ(burst, want["starved"].get<std::int64_t>() * kNanosPerSecond);
  EXPECT_EQ(loss, want["throttling"].get<std::int64_t>() * kNanosPerSecond);
  EXPECT_EQ(throttled, 2148 * kNanosPerSecond);
}

TEST_F(SyntheticTrace, EnergyAndDuplicates) {
  double kwh = 0;
  for (const DeviceResult& d : inputs_->run.devices)
    kwh += static_cast<double>(d.totals.power.area) / 1e3 / kSecond / 3.6e6;
  EXPECT_NEAR(kwh, truth_["total"]["energy_kwh_observed_rows_before_masking"].get<double>(), 0.6337 * 1e-4);
  EXPECT_EQ(inputs_->quality.CountOf(QualityId::kDuplicateRow), 40);
  EXPECT_EQ(inputs_->quality.CountOf(QualityId::kUnavailableValue), 24);
  EXPECT_EQ(inputs_->quality.CountOf(QualityId::kTimezoneAssumed), 1);
}

TEST_F(SyntheticTrace, EachGpuMatchesTheTruth) {
  ASSERT_EQ(truth_["per_gpu"].size(), 8U);
  for (const nlohmann::json& gpu : truth_["per_gpu"]) {
    const DeviceResult& d = inputs_->run.devices[gpu["index"].get<std::size_t>()];
    EXPECT_EQ(inputs_->devices[d.device].uuid, NormalUuid(gpu["uuid"].get<std::string>()));
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      EXPECT_EQ(d.totals.phase_ns[p],
                gpu["phase_seconds"][std::string(kPhaseNames[p])].get<std::int64_t>() * kNanosPerSecond);
    }
    EXPECT_EQ(d.totals.UnobservedNs(), gpu["phase_seconds"]["unobserved"].get<std::int64_t>() * kNanosPerSecond);
    EXPECT_EQ(d.spin.time.ns, gpu["label_seconds"]["spin_wait"].get<std::int64_t>() * kNanosPerSecond);
    EXPECT_EQ(d.totals.idle_held_ns, gpu["label_seconds"]["idle_held"].get<std::int64_t>() * kNanosPerSecond);
    EXPECT_EQ(d.throttled_with_loss_ns, gpu["label_seconds"]["throttling"].get<std::int64_t>() * kNanosPerSecond);
  }
}

TEST_F(SyntheticTrace, EachStretchMatchesTheTruthSecondBySecond) {
  const std::int64_t start = inputs_->run.start.nanos() / kNanosPerSecond;
  for (const auto& [name, stretch] : truth_["stretches"].items()) {
    std::array<std::int64_t, kPhaseCount> phases{};
    for (const DeviceResult& d : inputs_->run.devices) {
      const Timeline& timeline = d.totals.timeline;
      ASSERT_EQ(timeline.bucket_seconds, 1);
      for (std::int64_t s = stretch["start_s"].get<std::int64_t>(); s < stretch["end_s"].get<std::int64_t>(); ++s) {
        const auto& bucket = timeline.buckets[static_cast<std::size_t>(start + s - timeline.first)];
        for (std::size_t p = 0; p < kPhaseCount; ++p) phases[p] += bucket.phase_ns[p];
      }
    }
    for (std::size_t p = 0; p < kPhaseCount; ++p) {
      const std::string phase(kPhaseNames[p]);
      EXPECT_EQ(phases[p], stretch["gpu_seconds"][phase].get<std::int64_t>() * kNanosPerSecond) << name << " " << phase;
    }
  }
}

}  // namespace
}  // namespace idleburn
