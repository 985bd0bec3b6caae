// What to try, from plain nvidia-smi logs through the whole program. Bounds are worked out here from the readings that
// the log was made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/smi_log.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::TempFolder;

constexpr int kSeconds = 1800;

struct Reading {
  int percent = 0;
  int mib = 0;
  int watts = 0;
};

// A log of one row a second and GPU, and its shares by plain sums: the last row covers no time.
struct MadeLog {
  MadeLog(const std::string& name, const std::function<Reading(int second, int gpu)>& at, int gpus = 1,
          const std::string& model = "NVIDIA H100 80GB HBM3", int total_mib = 81559) {
    std::string text =
        "timestamp, name, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], "
        "enforced.power.limit [W]\n";
    for (int s = 0; s <= kSeconds; ++s) {
      for (int gpu = 0; gpu < gpus; ++gpu) {
        const Reading r = at(s, gpu);
        text += testing::SmiStamp(s) + ", " + model + ", " + std::to_string(gpu) + ", " + std::to_string(r.percent) +
                " %, " + std::to_string(r.mib) + " MiB, " + std::to_string(total_mib) + " MiB, " +
                std::to_string(r.watts) + ".00 W, 700.00 W\n";
        if (s < kSeconds) busy += r.percent / 100.0 / kSeconds / gpus;
      }
    }
    const std::string path = folder.Write(name + ".csv", text);
    words = path + " --price 8 --no-history";
    audit = AuditJsonOf(words);
  }

  [[nodiscard]] const json* Try(const std::string& id) const {
    for (const json& t : audit["try_first"]) {
      if (t["id"] == id) return &t;
    }
    return nullptr;
  }
  [[nodiscard]] bool Recommends(const std::string& id) const {
    const json& all = audit["recommendations"];
    return std::any_of(all.begin(), all.end(), [&](const json& r) { return r["id"] == id; });
  }
  // Each lever is offered, as proved or to be tried; what is to be tried within its bound.
  void ExpectLevers(const std::string& pattern, const std::vector<std::string>& levers) const {
    for (const std::string& lever : levers) {
      if (Recommends(lever)) continue;
      const json* row = Try(lever);
      ASSERT_NE(row, nullptr) << lever << " in " << audit["try_first"];
      EXPECT_EQ((*row)["pattern"], pattern) << lever;
    }
    for (const json& t : audit["try_first"]) {
      const double bound = t["reaches"] == "busy" ? busy : 1 - busy;
      EXPECT_FALSE(Recommends(t["id"])) << t;
      EXPECT_EQ(t["proved"], false);
      EXPECT_EQ(t["saving"]["low"], 0.0) << t;
      EXPECT_LE(t["saving"]["low"], t["saving"]["expected"]) << t;
      EXPECT_LE(t["saving"]["expected"], t["saving"]["high"]) << t;
      EXPECT_GT(t["saving"]["high"], 0.0) << t;
      EXPECT_LE(t["saving"]["high"], t["reachable"].get<double>() + 1e-12) << t;
      EXPECT_LE(t["reachable"].get<double>(), bound + 1e-3) << t;
      for (const char* key : {"how", "confirm", "basis"}) EXPECT_FALSE(t[key].get<std::string>().empty()) << t;
      EXPECT_FALSE(t["evidence"].empty() || t["against"].empty()) << t;
    }
    double claimed = 0;
    for (const json& r : audit["recommendations"]) {
      if (!r["saving"].is_null()) claimed += r["saving"]["expected"].get<double>();
    }
    EXPECT_NEAR(audit["savings"]["naive_sum"].get<double>(), claimed, 1e-12);
  }

  TempFolder folder;
  double busy = 0;
  std::string words;
  json audit;
};

TEST(TryFirstTest, IdleHeavyWork) {
  const MadeLog log("idle", [](int s, int) { return s % 120 < 20 ? Reading{95, 30000, 500} : Reading{0, 30000, 75}; });
  log.ExpectLevers("idle_heavy", {"mps", "mig", "smaller_gpu"});
  ASSERT_NE(log.Try("mps"), nullptr);
  EXPECT_NEAR((*log.Try("mps"))["saving"]["high"].get<double>(), 1 - log.busy, 1e-3);
  EXPECT_EQ(log.Try("bin_packing"), nullptr);  // one GPU has nobody to be packed with
}

TEST(TryFirstTest, Bursts) {
  const MadeLog log("bursts", [](int s, int) { return s % 4 < 2 ? Reading{97, 20000, 480} : Reading{0, 20000, 150}; });
  log.ExpectLevers("bursts", {"num_workers", "prefetch", "pin_memory", "dali", "cache_dataset"});
  ASSERT_NE(log.Try("prefetch"), nullptr);
  EXPECT_NEAR((*log.Try("prefetch"))["saving"]["high"].get<double>(), 1 - log.busy, 0.01);
  EXPECT_NE((*log.Try("num_workers"))["how"].get<std::string>().find(
                "DataLoader(num_workers=N, persistent_workers=True); start with N = CPU cores per GPU"),
            std::string::npos);
  EXPECT_EQ(log.Try("mixed_precision"), nullptr);
}

TEST(TryFirstTest, SteadyLowUtilizationWithLittleMemory) {
  const MadeLog log("steady", [](int s, int) { return Reading{35 + s % 7, 9000, 210}; });
  log.ExpectLevers("steady_underutilized", {"larger_batch", "num_workers", "dali", "smaller_gpu", "mig"});
  ASSERT_NE(log.Try("mig"), nullptr);
  EXPECT_NE((*log.Try("mig"))["how"].get<std::string>().find("-cgi 9,9 -C"), std::string::npos);
  EXPECT_EQ(log.Try("mixed_precision"), nullptr);
}

TEST(TryFirstTest, ProductiveWork) {
  const MadeLog log("productive", [](int s, int) { return Reading{78 + s % 7, 40000, 420}; });
  log.ExpectLevers("productive", {"larger_batch", "overlap_copies", "smaller_gpu"});
}

TEST(TryFirstTest, ComputeBoundWork) {
  const auto bound = [](int s, int) { return Reading{98 + s % 3, 60000, 600}; };
  const MadeLog log("bound", bound);
  log.ExpectLevers("compute_bound", {"mixed_precision", "fp8", "fused_kernels"});
  ASSERT_NE(log.Try("mixed_precision"), nullptr);
  EXPECT_NEAR((*log.Try("mixed_precision"))["saving"]["high"].get<double>(), log.busy / 2, 1e-3);
  const MadeLog older("older", bound, 1, "NVIDIA A100-SXM4-80GB", 81920);
  older.ExpectLevers("compute_bound", {"mixed_precision", "fused_kernels"});
  EXPECT_EQ(older.Try("fp8"), nullptr);
  const MadeLog oldest("oldest", bound, 1, "Tesla V100-SXM2-32GB", 65000);
  EXPECT_EQ(oldest.Try("fp8"), nullptr);
  ASSERT_NE(oldest.Try("mixed_precision"), nullptr);
  EXPECT_NE((*oldest.Try("mixed_precision"))["how"].get<std::string>().find("torch.float16"), std::string::npos);
}

// 100 % at a fifth of the limit is a wait, or cannot be told from one: nothing makes it cheaper.
TEST(TryFirstTest, WhatMayOnlyWaitIsNotMadeCheaper) {
  const MadeLog dim("dim", [](int, int) { return Reading{100, 60000, 140}; });
  const MadeLog spin("spin", [](int s, int) { return s < 600 ? Reading{0, 60000, 75} : Reading{100, 60000, 120}; });
  for (const MadeLog* log : {&dim, &spin}) {
    for (const json& t : log->audit["try_first"]) EXPECT_NE(t["reaches"], "busy") << t;
  }
}

TEST(TryFirstTest, FullMemory) {
  const MadeLog log("full", [](int s, int) { return Reading{80 + s % 5, 78000, 500}; });
  log.ExpectLevers("high_memory", {"gradient_checkpointing", "gradient_accumulation"});
  EXPECT_EQ(log.Try("larger_batch"), nullptr);
}

TEST(TryFirstTest, UnevenStepsAndSeveralGpus) {
  const MadeLog padded("padded", [](int s, int) { return Reading{96, 40000, s % 8 < 4 ? 400 : 600}; });
  padded.ExpectLevers("padding", {"bucketing", "packing"});
  const MadeLog several(
      "several",
      [](int s, int gpu) {
        return Reading{60 + (s + gpu) % 5, 40000, 400};
      },
      4);
  several.ExpectLevers("small_all_reduces", {"overlap_communication", "gradient_accumulation"});
}

TEST(TryFirstTest, EveryFormOfReportSaysThatNothingIsProved) {
  const MadeLog log("steady", [](int s, int) { return Reading{35 + s % 7, 9000, 210}; });
  for (const char* format : {"text", "markdown", "html"}) {
    const ProgramRun run = RunIdleburn("audit " + log.words + " --explain --format " + format);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_NE(run.out.find("Try first (not proved)"), std::string::npos) << format;
    for (const json& t : log.audit["try_first"]) {
      EXPECT_NE(run.out.find("(" + t["id"].get<std::string>() + ")"), std::string::npos) << format << t["id"];
    }
  }
}

// The user's own discount: 65 % off, at most; restarts eat it at 1 / 0.35 - 1 = 186 % more time.
TEST(SpotDiscountTest, IsTheUsersFigureAndBoundsTheSpotPrice) {
  const MadeLog log("steady", [](int s, int) { return Reading{35 + s % 7, 9000, 210}; });
  const auto spot = [&](const std::string& flags) {
    const json audit = AuditJsonOf(log.words + flags);
    for (const json& r : audit["recommendations"]) {
      if (r["id"] == "spot") return r;
    }
    return json();
  };
  EXPECT_TRUE(spot("")["saving"].is_null());
  const json stated = spot(" --spot-discount 0.65");
  EXPECT_NEAR(stated["saving"]["high"].get<double>(), 0.65, 1e-12);
  EXPECT_NEAR(stated["saving"]["expected"].get<double>(), 0.8 * 0.65, 1e-12);
  EXPECT_EQ(stated["saving_cost"], "2.08");  // of half an hour at $8: 4.00 x 0.52
  for (const char* words : {"--spot-discount 0.65, your figure", "less than 186 %"}) {
    EXPECT_NE(stated["basis"].get<std::string>().find(words), std::string::npos) << stated["basis"];
  }
  EXPECT_NEAR(AuditJsonOf(log.words + " --spot-discount 0.65")["savings"]["rate_fraction"].get<double>(), 0.52, 1e-9);
  for (const char* wrong : {"65", "1", "0", "half", "65%"}) {
    const ProgramRun run = RunIdleburn("audit " + log.words + " --spot-discount " + wrong);
    EXPECT_EQ(run.code, 2) << wrong;
    EXPECT_NE(run.err.find("--spot-discount"), std::string::npos) << run.err;
  }
  const std::string own = log.words.substr(0, log.words.find(" --price"));
  const json owned = AuditJsonOf(own + " --owned capex=250000,life=4,gpus=8,kw=10.2,tariff=0.11 --spot-discount 0.65");
  for (const json& r : owned["recommendations"]) EXPECT_NE(r["id"], "spot");
}

}  // namespace
}  // namespace idleburn
