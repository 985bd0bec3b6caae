#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <simdjson.h>

#include <array>
#include <set>

#include "import/formats.h"
#include "support/metrics_testing.h"
#include "text/metric_line.h"

namespace idleburn {
namespace {

using Kind = PrometheusLine::Kind;

std::unique_ptr<Imported> Import(std::string text) { return ImportText(&ImportPrometheus, std::move(text)); }

std::unique_ptr<Imported> ImportTrap(const std::string& name) {
  return Import(FileText(SharedData("traps/" + name + "/scrapes.prom")));
}

constexpr std::string_view kGpu = R"(gpu="0",UUID="GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000")";

std::string Line(const std::string& name, const std::string& labels, const std::string& value, std::int64_t second) {
  return name + "{" + std::string(kGpu) + (labels.empty() ? "" : "," + labels) + "} " + value + " " +
         std::to_string(1'772'445'600'000 + second * 1000) + "\n";
}

double Fraction(const Imported& in, DeviceId device, std::string_view owner) {
  for (const OwnerLedger::Share& share : in.owners.SharesOf(device)) {
    if (share.owner == owner) return share.fraction;
  }
  return 0;
}

// Every family, series and value that the reference parser found in the captures.
TEST(PrometheusCaptures, EveryExpectedSeriesAndValue) {
  NEED_SHARED_DATA("telemetry/expected.json");
  simdjson::dom::parser parser;
  const simdjson::dom::object files = parser.load(SharedData("telemetry/expected.json").string())["prometheus"];
  for (const auto file : files) {
    const std::string text = FileText(SharedData("telemetry/prometheus/" + std::string(file.key)));
    std::set<std::string> families;
    std::int64_t series = 0;
    std::map<std::string, std::map<std::string, std::string>> values;
    StringSource source(text);
    LineReader lines(source);
    for (std::string_view line_text; *lines.Next(&line_text);) {
      const PrometheusLine line = ParsePrometheusLine(line_text);
      EXPECT_NE(line.kind, Kind::kBad) << line_text;
      if (line.kind != Kind::kSample) continue;
      families.insert(std::string(line.name));
      ++series;
      values[std::string(line.name)][std::string(line.labels)] = line.value;
    }
    const std::int64_t want_series = file.value["series"];
    const std::uint64_t want_families = file.value["families"];
    EXPECT_EQ(series, want_series) << file.key;
    EXPECT_EQ(families.size(), want_families) << file.key;
    for (const auto metric : simdjson::dom::object(file.value["values"])) {
      for (const auto row : simdjson::dom::array(metric.value)) {
        const std::string_view labels = row.at(0);
        const std::string_view value = row.at(1);
        EXPECT_EQ(values[std::string(metric.key)][std::string(labels)], value) << file.key << " " << metric.key;
      }
    }
  }
}

TEST(PrometheusCaptures, AreSniffed) {
  NEED_SHARED_DATA("telemetry/prometheus");
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("telemetry/prometheus"))) {
    const std::string text = FileText(entry.path()).substr(0, kSniffBytes);
    const bool scrape = entry.path().extension() == ".prom" || entry.path().extension() == ".metrics";
    EXPECT_EQ(SniffPrometheus(text), scrape) << entry.path();
  }
  for (const std::string_view text :
       {"timestamp, index, utilization.gpu [%]\n", "# gpu    pwr  gtemp\n# Idx      W      C\n    0     70     35\n",
        "{\"mono_ns\": 1}\n", "<?xml version=\"1.0\"?>\n", "Fri Jul  3 22:22:01 2026\n", "", "\n\n"}) {
    EXPECT_FALSE(SniffPrometheus(text)) << text;
  }
}

// Two GPUs of nvidia_gpu_exporter: values join nvidia_smi_gpu_info, the MIG board has instances and no utilisation.
TEST(PrometheusCaptures, TwoGpusOneMig) {
  NEED_SHARED_DATA("telemetry/prometheus/constructed__two_gpus_one_mig.metrics");
  const auto in = Import(FileText(SharedData("telemetry/prometheus/constructed__two_gpus_one_mig.metrics")));
  ASSERT_EQ(in->error, "");
  const DeviceId a = in->ByUuid("GPU-aaaaaaaa-1111-4000-8000-000000000001");
  const DeviceId b = in->ByUuid("GPU-bbbbbbbb-2222-4000-8000-000000000002");
  EXPECT_EQ(in->devices[a].name, "NVIDIA H200");
  EXPECT_EQ(in->devices[b].name, "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(in->devices[a].has_instances);
  EXPECT_EQ(in->Values(Signal::kUtilization, a), std::vector<std::int64_t>{});
  EXPECT_EQ(in->Values(Signal::kUtilization, b), std::vector<std::int64_t>{kFull});
  EXPECT_EQ(in->Values(Signal::kPower, a), std::vector<std::int64_t>{295'010});
  EXPECT_EQ(in->Values(Signal::kPower, b), std::vector<std::int64_t>{631'950});
  EXPECT_EQ(in->Values(Signal::kMemoryUsed, a), std::vector<std::int64_t>{17'782'800'384});
  EXPECT_EQ(in->Values(Signal::kMemoryTotal, b), std::vector<std::int64_t>{85'520'809'984});
  EXPECT_EQ(in->Values(Signal::kSmClock, b), std::vector<std::int64_t>{1'980'000});
  EXPECT_EQ(in->Values(Signal::kProcesses, b), std::vector<std::int64_t>{3});
  EXPECT_EQ(in->devices[b].counter[Index(Signal::kUtilization)], "nvidia_smi_exporter.utilization_gpu_ratio");
  std::map<std::string, int> slices;
  for (DeviceId id = 0; id < in->devices.size(); ++id) {
    const Device& d = in->devices[id];
    if (d.mig) slices[d.mig->id + " " + d.mig->profile] = d.mig->slices;
  }
  const std::map<std::string, int> want = {{"2 3g.71gb", 3}, {"3 2g.35gb", 2}, {"9 1g.18gb", 1}, {"10 1g.18gb", 1}};
  EXPECT_EQ(slices, want);
  EXPECT_EQ(in->quality.CountOf(QualityId::kSharedCopies), 0);
}

// The UUIDs of the captures are zeros: one device each, told by the bus id that only nvidia_smi_gpu_info has.
TEST(PrometheusCaptures, MaskedUuidIsOneDevice) {
  const std::string folder = "telemetry/prometheus/";
  struct Want {
    std::string file;
    std::vector<std::int64_t> utilization;
    std::int64_t power, memory, clock;
  };
  const std::vector<Want> wants = {
      {"linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01__load", {kFull}, 631'950, 20'780'679'168, 1'980'000},
      {"linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01__idle", {0}, 69'850, 0, 345'000},
      {"linux-x86_64__nvidia-h200-mig__590.48.01__load", {}, 295'010, 17'782'800'384, 1'980'000},
      {"linux-x86_64__nvidia-l40s__595.80__load", {9 * kPercent}, 110'230, 1'294'991'360, 2'520'000},
      {"linux-x86_64__nvidia-l40s__595.80__idle", {kFull}, 144'970, 0, 2'520'000},
      {"windows-x86_64__nvidia-geforce-rtx-2080-super__591.86__load", {7 * kPercent}, 97'430, 1'358'954'496, 2'055'000},
  };
  for (const Want& want : wants) {
    NEED_SHARED_DATA(folder + want.file + ".metrics");
    const auto in = Import(FileText(SharedData(folder + want.file + ".metrics")));
    ASSERT_EQ(in->error, "") << want.file;
    ASSERT_EQ(in->devices.size(), 1U) << want.file;
    EXPECT_EQ(in->devices[0].uuid, "");
    EXPECT_NE(in->devices[0].bus_id, "");
    EXPECT_EQ(in->Values(Signal::kUtilization, 0), want.utilization) << want.file;
    EXPECT_EQ(in->Values(Signal::kPower, 0), std::vector<std::int64_t>{want.power}) << want.file;
    EXPECT_EQ(in->Values(Signal::kMemoryUsed, 0), std::vector<std::int64_t>{want.memory}) << want.file;
    EXPECT_EQ(in->Values(Signal::kSmClock, 0), std::vector<std::int64_t>{want.clock}) << want.file;
    EXPECT_EQ(in->quality.CountOf(QualityId::kMaskedUuid), 1);
    EXPECT_EQ(in->samples.size(), 1U) << want.file;
  }
}

TEST(PrometheusCaptures, DcgmLabelForms) {
  NEED_SHARED_DATA("telemetry/prometheus/constructed__dcgm_label_forms.prom");
  const std::string text = FileText(SharedData("telemetry/prometheus/constructed__dcgm_label_forms.prom"));
  const auto in = Import(text);
  ASSERT_EQ(in->error, "");
  std::set<std::string> boards;
  std::map<std::string, std::set<std::string>> instances;
  for (DeviceId id = 0; id < in->devices.size(); ++id) {
    const Device& d = in->devices[id];
    boards.insert(d.uuid);
    if (d.mig) instances[d.uuid.substr(d.uuid.size() - 1)].insert(d.mig->id);
  }
  EXPECT_EQ(boards.size(), 4U);
  EXPECT_EQ(instances["1"], (std::set<std::string>{"1", "5"}));
  EXPECT_EQ(instances["4"], (std::set<std::string>{"7"}));
  const DeviceId t4 = in->ByUuid("GPU-10000000-0000-4000-8000-000000000002");
  const DeviceId pod = in->ByUuid("GPU-10000000-0000-4000-8000-000000000003");
  EXPECT_EQ(in->devices[t4].host, in->devices[pod].host);
  EXPECT_EQ(in->Values(Signal::kEnergy, t4), std::vector<std::int64_t>{812'345'678'901});
  EXPECT_EQ(in->Values(Signal::kUtilization, pod), std::vector<std::int64_t>{kFull});
  EXPECT_EQ(Fraction(*in, pod, "pod ml/train-0"), 1.0);
  for (DeviceId id = 0; id < in->devices.size(); ++id) {
    const Device& d = in->devices[id];
    if (!d.mig) continue;
    if (d.mig->id == "1") {
      EXPECT_EQ(in->Values(Signal::kGrEngineActive, id), std::vector<std::int64_t>{61'250'000});
      EXPECT_EQ(d.mig->slices, 3);
    }
    if (d.mig->id == "7") {
      EXPECT_EQ(in->Values(Signal::kMemoryUsed, id), std::vector<std::int64_t>{std::int64_t{8112} << 20});
      EXPECT_EQ(Fraction(*in, id, "job 40017"), 1.0);
    }
  }
}

TEST(PrometheusTraps, GapsKeepTheirStamps) {
  NEED_SHARED_DATA("traps/03_gap_is_not_idle");
  const auto in = ImportTrap("03_gap_is_not_idle");
  ASSERT_EQ(in->samples.size(), 22U);
  EXPECT_EQ(in->samples.back().time - in->samples.front().time, std::chrono::seconds(500));
}

TEST(PrometheusTraps, SentinelsAreNoReadings) {
  NEED_SHARED_DATA("traps/04_integer_sentinels");
  const auto in = ImportTrap("04_integer_sentinels");
  const auto values = in->Values(Signal::kUtilization, 0);
  EXPECT_EQ(values.size() + in->Missing(Signal::kUtilization, Unobserved::kSentinel), 61U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kSentinelValue), 12);  // 360 s of 30 s
  for (const std::int64_t v : values) EXPECT_EQ(v, 40 * kPercent);
}

TEST(PrometheusTraps, ScaleFollowsTheFieldNotTheName) {
  NEED_SHARED_DATA("traps/05_ratio_that_is_percent");
  const auto in = ImportTrap("05_ratio_that_is_percent");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>(61, kPercent));
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 0), std::vector<std::int64_t>(61, 800'000));
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "dcgm.DCGM_FI_DEV_GPU_UTIL_RATIO");
}

TEST(PrometheusTraps, FourGpusOfOneFile) {
  NEED_SHARED_DATA("traps/07_collective_spin");
  const auto in = ImportTrap("07_collective_spin");
  ASSERT_EQ(in->devices.size(), 4U);
  for (DeviceId id = 0; id < 4; ++id) {
    EXPECT_EQ(in->Values(Signal::kUtilization, id), std::vector<std::int64_t>(61, kFull));
    EXPECT_EQ(in->Values(Signal::kSmActive, id).size(), 61U);
    EXPECT_EQ(in->Values(Signal::kPower, id).size(), 61U);
    EXPECT_EQ(in->devices[id].host, "node-a01");
  }
}

TEST(PrometheusTraps, CopiesForTwoJobsAreOneDevice) {
  NEED_SHARED_DATA("traps/08_two_jobs_one_gpu");
  const auto in = ImportTrap("08_two_jobs_one_gpu");
  ASSERT_EQ(in->devices.size(), 1U);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>(121, 80 * kPercent));
  EXPECT_EQ(in->quality.CountOf(QualityId::kSharedCopies), 121);
  EXPECT_EQ(Fraction(*in, 0, "job 48211"), 0.5);
  EXPECT_EQ(Fraction(*in, 0, "job 48212"), 0.5);
  EXPECT_TRUE(in->owners.SharesOf(0)[0].estimated);
}

TEST(PrometheusTraps, CopiesForThreePodsAreOneDevice) {
  NEED_SHARED_DATA("traps/09_time_sliced_pods");
  const auto in = ImportTrap("09_time_sliced_pods");
  ASSERT_EQ(in->devices.size(), 1U);
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 0), std::vector<std::int64_t>(21, 71'400'000));
  for (const std::string_view pod : {"pod ml/infer-a", "pod ml/infer-b", "pod ml/notebook-7"}) {
    EXPECT_DOUBLE_EQ(Fraction(*in, 0, pod), 1.0 / 3) << pod;
  }
}

TEST(PrometheusTraps, BoardValuesOfInstancesCountOnce) {
  NEED_SHARED_DATA("traps/10_mig_repeats_board_power");
  const auto in = ImportTrap("10_mig_repeats_board_power");
  ASSERT_EQ(in->devices.size(), 5U);
  const DeviceId board = in->ByUuid("GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000");
  EXPECT_EQ(in->Values(Signal::kPower, board), std::vector<std::int64_t>(121, 250'000));
  const auto energy = in->Values(Signal::kEnergy, board);
  EXPECT_EQ(energy.back() - energy.front(), 900'000'000);
  EXPECT_EQ(in->devices[board].counter[Index(Signal::kPower)], "dcgm.DCGM_FI_DEV_POWER_USAGE");
}

TEST(PrometheusTraps, OneSliceOfSeven) {
  NEED_SHARED_DATA("traps/11_one_slice_of_seven");
  const auto in = ImportTrap("11_one_slice_of_seven");
  ASSERT_EQ(in->devices.size(), 2U);
  const DeviceId board = in->ByUuid("GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000");
  const DeviceId slice = 1 - board;
  EXPECT_EQ(in->devices[slice].mig->slices, 1);
  EXPECT_EQ(in->devices[slice].board, board);
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, slice).size(), 121U);
  EXPECT_EQ(Fraction(*in, slice, "pod ml/tune-3"), 1.0);
}

TEST(PrometheusTraps, DeclaredCounterIsARate) {
  NEED_SHARED_DATA("traps/12_counter_that_is_a_rate");
  const auto in = ImportTrap("12_counter_that_is_a_rate");
  const std::vector<std::int64_t> want = {17'122'304'000, 25'119'744'000, 12'420'096'000, 20'971'520'000};
  EXPECT_EQ(in->Values(Signal::kNvlink, 0), want);
  EXPECT_EQ(in->quality.CountOf(QualityId::kMislabelledCounter), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kCounterReset), 0);
}

TEST(PrometheusTraps, EnergyIsPassedOnAsRead) {
  NEED_SHARED_DATA("traps/13_energy_counter_restart");
  const auto in = ImportTrap("13_energy_counter_restart");
  EXPECT_EQ(in->Values(Signal::kEnergy, 0),
            (std::vector<std::int64_t>{8'999'400'000, 8'999'700'000, 9'000'000'000, 300'000, 900'000, 1'200'000}));
}

TEST(PrometheusMetrics, OldNamesAndLowerCaseOnesAreTheSameFields) {
  const auto in = Import(Line("DCGM_FI_DEV_GPU_UTIL", "Hostname=\"n1\"", "50", 0) +
                         Line("DCGM_FI_DEV_GPU_UTIL_RATIO", "hostname=\"n1\"", "60", 10) +
                         Line("dcgm_gpu_utilization", "", "70", 20));
  ASSERT_EQ(in->devices.size(), 1U);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0),
            (std::vector<std::int64_t>{50 * kPercent, 60 * kPercent, 70 * kPercent}));
  EXPECT_EQ(in->quality.CountOf(QualityId::kLateCounter), 0);
}

TEST(PrometheusMetrics, SecondSourceOfASignalIsRefused) {
  const auto in =
      Import(Line("DCGM_FI_DEV_GPU_UTIL", "", "50", 0) +
             "nvidia_smi_utilization_gpu_ratio{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} 0.9 1772445603000\n");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{50 * kPercent});
  EXPECT_EQ(in->quality.CountOf(QualityId::kMixedCounters), 1);
}

// By metric or by scrape, whichever comes first: DCGM's readings alone, the others counted.
TEST(PrometheusMetrics, TwoExportersOfOneGpuAreNeverOneSeries) {
  const auto other = [](int value, int at) {
    return "nvidia_smi_utilization_gpu_ratio{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} 0." +
           std::to_string(value) + " " + std::to_string(1772445603000 + at * 1000) + "\n";
  };
  std::string by_metric;
  std::string dcgm;
  std::string by_scrape;
  for (int at = 0; at < 300; at += 30) {
    by_metric += other(90, at + 1);
    dcgm += Line("DCGM_FI_DEV_GPU_UTIL", "", "50", at);
    by_scrape += other(90, at + 1) + Line("DCGM_FI_DEV_GPU_UTIL", "", "50", at);
  }
  for (const std::string& text : {by_metric + dcgm, dcgm + by_metric, by_scrape}) {
    const auto in = Import(text);
    EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>(10, 50 * kPercent));
    EXPECT_EQ(in->quality.CountOf(QualityId::kMixedCounters), 10);
    EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "dcgm.DCGM_FI_DEV_GPU_UTIL");
  }
}

TEST(PrometheusMetrics, CyclesAreTakenBeforeTheGaugeOfTheSameSignal) {
  std::string text;
  for (int at = 0; at <= 300; at += 30) {
    text += Line("DCGM_FI_PROF_SM_ACTIVE", "", "0.9", at);
    text += Line("DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL", "", std::to_string(1000 * at), at);
    text += Line("DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL", "", std::to_string(250 * at), at);
  }
  const auto in = Import(text);
  EXPECT_EQ(in->Values(Signal::kSmActive, 0), std::vector<std::int64_t>(10, 25 * kPercent));
  EXPECT_EQ(in->quality.CountOf(QualityId::kMixedCounters), 11);
}

TEST(PrometheusMetrics, NearMissesAreTheLimitAndOthersUnobserved) {
  const auto in =
      Import(Line("DCGM_FI_PROF_SM_ACTIVE", "", "1.004", 0) + Line("DCGM_FI_PROF_SM_ACTIVE", "", "-0.004", 1) +
             Line("DCGM_FI_PROF_SM_ACTIVE", "", "1.006", 2) + Line("DCGM_FI_PROF_SM_ACTIVE", "", "NaN", 3) +
             Line("DCGM_FI_PROF_SM_ACTIVE", "", "140737488355330", 4));
  EXPECT_EQ(in->Values(Signal::kSmActive, 0), (std::vector<std::int64_t>{kFull, 0}));
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kNotFinite), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kSentinelValue), 1);
}

// NVML's all ones for "no value", handed on by an exporter that did not know them: no 4.3 MW.
TEST(PrometheusMetrics, ReadingsOfNoGpuAreUnobserved) {
  const auto in =
      Import(Line("nvidia_gpu_power_usage_milliwatts", "", "4294967295", 0) +
             Line("nvidia_gpu_power_usage_milliwatts", "", "300000", 1) + Line("DCGM_FI_DEV_SM_CLOCK", "", "9e15", 2) +
             Line("DCGM_FI_DEV_FB_FREE", "", "1e15", 3) + Line("DCGM_FI_DEV_FB_USED", "", "100", 3));
  EXPECT_EQ(in->Values(Signal::kPower, 0), std::vector<std::int64_t>{300'000});
  EXPECT_EQ(in->Missing(Signal::kPower, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(in->Missing(Signal::kSmClock, Unobserved::kInvalidCounter), 1U);
  EXPECT_TRUE(in->Values(Signal::kMemoryTotal, 0).empty());
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 3);
  const auto sum =
      Import(Line("DCGM_FI_PROF_NVLINK_TX_BYTES", "", "1e14", 0) + Line("DCGM_FI_PROF_NVLINK_RX_BYTES", "", "1e14", 0));
  EXPECT_EQ(sum->Missing(Signal::kNvlink, Unobserved::kInvalidCounter), 1U);
  EXPECT_EQ(sum->quality.CountOf(QualityId::kOutOfRange), 1);
}

TEST(PrometheusMetrics, CycleCountersGiveTheExactShare) {
  constexpr std::int64_t kBig = 140'737'488'355'328;  // no code in a 64-bit field
  const std::string elapsed = "DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL";
  const std::string active = "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL";
  const std::string by_metric = Line(active, "", "1000", 0) + Line(active, "", "1500", 30) +
                                Line(active, "", "1500", 60) + Line(active, "", "10", 90) +
                                Line(elapsed, "", std::to_string(kBig), 0) +
                                Line(elapsed, "", std::to_string(kBig + 2000), 30) +
                                Line(elapsed, "", std::to_string(kBig + 4000), 60) + Line(elapsed, "", "40", 90);
  const std::string by_time = Line(elapsed, "", std::to_string(kBig), 0) + Line(active, "", "1000", 0) +
                              Line(elapsed, "", std::to_string(kBig + 2000), 30) + Line(active, "", "1500", 30) +
                              Line(elapsed, "", std::to_string(kBig + 4000), 60) + Line(active, "", "1500", 60) +
                              Line(elapsed, "", "40", 90) + Line(active, "", "10", 90);
  for (const std::string& text : {by_metric, by_time}) {
    const auto in = Import(text);
    EXPECT_EQ(in->Values(Signal::kSmActive, 0), (std::vector<std::int64_t>{25 * kPercent, 0}));
    EXPECT_EQ(in->quality.CountOf(QualityId::kCounterReset), 1);
  }
}

// Two scrapes hold one interval, whose mean is exact: it reaches from the first to the second.
TEST(PrometheusMetrics, TwoScrapesOfCyclesAreOneIntervalAndThreeAreTwo) {
  const std::string elapsed = "DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL";
  const std::string active = "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL";
  const auto scrape = [&](std::int64_t second, std::int64_t all, std::int64_t busy) {
    return Line(elapsed, "", std::to_string(all), second) + Line(active, "", std::to_string(busy), second) +
           Line("DCGM_FI_PROF_SM_ACTIVE", "", "0.9", second);
  };
  const std::string two = scrape(0, 1000, 500) + scrape(3600, 5000, 1500);
  const auto mean = Import(two);
  EXPECT_EQ(mean->Values(Signal::kSmActive, 0), std::vector<std::int64_t>{25 * kPercent});
  EXPECT_TRUE(mean->samples.front().Has(Signal::kSmActive));  // from the first scrape on
  EXPECT_EQ(mean->Missing(Signal::kSmActive, Unobserved::kGap), 1U);
  EXPECT_EQ(mean->quality.CountOf(QualityId::kJobResolution), 1);
  const auto phases = Import(two + scrape(7200, 9000, 5500));
  EXPECT_EQ(phases->Values(Signal::kSmActive, 0), (std::vector<std::int64_t>{25 * kPercent, kFull}));
  EXPECT_EQ(phases->quality.CountOf(QualityId::kJobResolution), 0);
  EXPECT_EQ(phases->devices[0].counter[Index(Signal::kSmActive)], "dcgm.DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL");
}

TEST(PrometheusMetrics, CreatedMarksAResetOfAHigherCounter) {
  const std::string name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
  const std::string began = std::to_string(1'772'445'600 - 86'400);
  const std::string again = std::to_string(1'772'445'600 + 40) + ".5";
  const std::string total = Line(name, "", "500000", 0) + Line(name, "", "530000", 30) + Line(name, "", "560000", 60) +
                            Line(name, "", "590000", 90);
  std::string created;
  for (const int second : {0, 30}) created += Line(name + "_created", "", began, second);
  for (const int second : {60, 90}) created += Line(name + "_created", "", again, second);
  for (const std::string& text : {total + created, created + total}) {
    const auto in = Import(text);
    ASSERT_EQ(in->error, "");
    // At its new start the counter stood at 0: 560 J of the next scrape are all increase, and not 30 J.
    EXPECT_EQ(in->Values(Signal::kEnergy, 0), (std::vector<std::int64_t>{500'000, 530'000, 0, 560'000, 590'000}));
    EXPECT_EQ(in->samples[2].time.nanos(), 1'772'445'640'500'000'000 - 1);
    EXPECT_EQ(in->quality.CountOf(QualityId::kUnknownMetric), 0);
  }
  EXPECT_EQ(Import(total)->Values(Signal::kEnergy, 0).size(), 4U);
}

TEST(PrometheusMetrics, CreatedPlacesAResetOfCycles) {
  const std::string elapsed = "DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL";
  const std::string active = "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL";
  std::string text;
  const std::array<std::int64_t, 4> all = {1000, 2000, 4000, 5000};
  const std::array<std::int64_t, 4> busy = {100, 600, 1000, 2000};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto second = static_cast<std::int64_t>(30 * i);
    text += Line(elapsed, "", std::to_string(all[i]), second) + Line(active, "", std::to_string(busy[i]), second);
    const std::int64_t began = i < 2 ? 1'772'445'000 : 1'772'445'600 + 50;
    text += Line(elapsed + "_created", "", std::to_string(began), second);
  }
  const auto in = Import(text);
  // (600 - 100) / 1000; then from the new start 1000 / 4000; then 1000 / 1000.
  EXPECT_EQ(in->Values(Signal::kSmActive, 0), (std::vector<std::int64_t>{50 * kPercent, 25 * kPercent, kFull}));
  EXPECT_EQ(in->quality.CountOf(QualityId::kCounterReset), 1);
  EXPECT_EQ(in->Missing(Signal::kSmActive, Unobserved::kGap), 2U);  // before the new start, and behind the last scrape
}

// A naive twin sums what each interval adds: all of it behind a new start, the difference otherwise.
RC_GTEST_PROP(PrometheusMetrics, CreatedAddsUpLikeANaiveSum, ()) {
  const std::string name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION";
  std::int64_t value = *rc::gen::inRange(0, 1'000'000);
  std::int64_t began = -1000;
  std::int64_t sum = 0;
  std::string totals = Line(name, "", std::to_string(value), 0);
  std::string starts = Line(name + "_created", "", std::to_string(1'772'445'600 + began), 0);
  const int scrapes = *rc::gen::inRange(1, 12);
  for (int i = 1; i <= scrapes; ++i) {
    const std::int64_t more = *rc::gen::inRange(0, 1'000'000);
    if (*rc::gen::inRange(0, 3) == 0) {
      began = 30 * i - *rc::gen::inRange(1, 29);
      value = more;
      sum += more;
    } else {
      value += more;
      sum += more;
    }
    totals += Line(name, "", std::to_string(value), 30 * i);
    starts += Line(name + "_created", "", std::to_string(1'772'445'600 + began), 30 * i);
  }
  const auto in = Import(*rc::gen::arbitrary<bool>() ? totals + starts : starts + totals);
  const std::vector<std::int64_t> read = in->Values(Signal::kEnergy, 0);
  std::int64_t seen = 0;
  for (std::size_t i = 1; i < read.size(); ++i) seen += read[i] < read[i - 1] ? read[i] : read[i] - read[i - 1];
  RC_ASSERT(seen == sum);
}

TEST(PrometheusMetrics, NvlinkIgnoresTheFirstZeroAndRefusesNegatives) {
  const std::string name = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";
  const auto in =
      Import(Line(name, "", "0", 0) + Line(name, "", "1000", 30) + Line(name, "", "-5", 60) + Line(name, "", "0", 90));
  EXPECT_EQ(in->Values(Signal::kNvlink, 0), (std::vector<std::int64_t>{1'024'000'000, 0}));
  EXPECT_EQ(in->quality.CountOf(QualityId::kOutOfRange), 1);
  const auto both =
      Import(Line("DCGM_FI_PROF_NVLINK_TX_BYTES", "", "1e9", 0) + Line("DCGM_FI_PROF_NVLINK_RX_BYTES", "", "2e9", 0));
  EXPECT_EQ(both->Values(Signal::kNvlink, 0), std::vector<std::int64_t>{3'000'000'000});
}

TEST(PrometheusMetrics, XidIsACodeAndZeroIsNone) {
  const auto in = Import(Line("DCGM_FI_DEV_XID_ERRORS", "", "0", 0) + Line("DCGM_FI_DEV_XID_ERRORS", "", "31", 30) +
                         Line("DCGM_FI_DEV_XID_ERRORS", "", "31", 60));
  EXPECT_EQ(in->Values(Signal::kXid, 0), (std::vector<std::int64_t>{31, 31}));
  EXPECT_EQ(in->quality.Get(QualityId::kXidSeen).names, std::set<std::string>{"Xid 31"});
}

TEST(PrometheusMetrics, TotalMemoryIsTheSumOfItsParts) {
  const auto in = Import(Line("DCGM_FI_DEV_FB_FREE", "", "70000", 0) + Line("DCGM_FI_DEV_FB_RESERVED", "", "559", 0) +
                         Line("DCGM_FI_DEV_FB_USED", "", "11000", 0));
  EXPECT_EQ(in->Values(Signal::kMemoryTotal, 0), std::vector<std::int64_t>{std::int64_t{81'559} << 20});
}

TEST(PrometheusMetrics, OwnersFollowTheirStretches) {
  std::string by_time;
  std::string by_series;
  for (int s = 0; s <= 100; s += 10) {
    by_time += Line("DCGM_FI_DEV_GPU_UTIL", "hpc_job=\"1\"", "50", s);
    if (s >= 50) by_time += Line("DCGM_FI_DEV_GPU_UTIL", "hpc_job=\"2\"", "50", s);
  }
  for (int s = 0; s <= 100; s += 10) by_series += Line("DCGM_FI_DEV_GPU_UTIL", "hpc_job=\"1\"", "50", s);
  for (int s = 50; s <= 100; s += 10) by_series += Line("DCGM_FI_DEV_GPU_UTIL", "hpc_job=\"2\"", "50", s);
  for (int s = 0; s <= 100; s += 10) by_series += Line("DCGM_FI_DEV_POWER_USAGE", "hpc_job=\"1\"", "300", s);
  for (const std::string& text : {by_time, by_series}) {
    const auto in = Import(text);
    EXPECT_DOUBLE_EQ(Fraction(*in, 0, "job 1"), (5 + 5 * 0.5) / 10);
    EXPECT_DOUBLE_EQ(Fraction(*in, 0, "job 2"), 5 * 0.5 / 10);
  }
}

TEST(PrometheusMetrics, UnallocatedTimeIsNobodys) {
  std::string text;
  for (int s = 0; s < 40; s += 10) text += Line("DCGM_FI_DEV_GPU_UTIL", R"(namespace="ml",pod="a")", "50", s);
  for (int s = 1000; s < 1120; s += 10) text += Line("DCGM_FI_DEV_GPU_UTIL", R"(namespace="",pod="")", "0", s);
  const auto in = Import(text);
  EXPECT_DOUBLE_EQ(Fraction(*in, 0, "pod ml/a"), 4.0 / 15);
  EXPECT_DOUBLE_EQ(Fraction(*in, 0, ""), 11.0 / 15);
}

TEST(PrometheusMetrics, ExportedLabelsNameTheWorkload) {
  const auto in =
      Import(Line("DCGM_FI_DEV_GPU_UTIL",
                  R"(pod="dcgm-exporter-x1",namespace="mon",exported_pod="train",exported_namespace="ml")", "5", 0) +
             Line("DCGM_FI_DEV_GPU_UTIL", R"(pod="dcgm-exporter-x1",namespace="mon")", "5", 1000) +
             Line("DCGM_FI_DEV_GPU_UTIL", R"(pod="dcgm-exporter-x1",namespace="mon")", "5", 2000));
  EXPECT_DOUBLE_EQ(Fraction(*in, 0, "pod ml/train"), 0.5);
  EXPECT_DOUBLE_EQ(Fraction(*in, 0, ""), 0.5);
}

// Under a ServiceMonitor every series carries the pod of its exporter, whatever that is called. Only DCGM's exporter
// writes the workload's pod there; of the others a GPU is nobody's until they export one.
TEST(PrometheusMetrics, AnExportersOwnPodOwnsNothing) {
  const std::string target = R"(pod="gpu-metrics-7xk2p",namespace="monitoring",container="exporter")";
  for (const std::string name : {"nvidia_smi_utilization_gpu_ratio", "gpu_utilization_Percentage",
                                 "nvidia_gpu_duty_cycle", "all_smi_gpu_utilization", "gpu_device_utilization"}) {
    const auto own = Import(Line(name, target, "1", 0) + Line(name, target, "1", 30));
    EXPECT_TRUE(own->owners.SharesOf(0).empty()) << name;
    const std::string workload = target + R"(,exported_pod="train",exported_namespace="ml")";
    const auto exported = Import(Line(name, workload, "1", 0) + Line(name, workload, "1", 30));
    EXPECT_EQ(Fraction(*exported, 0, "pod ml/train"), 1.0) << name;
  }
  const auto dcgm = Import(Line("DCGM_FI_DEV_GPU_UTIL", R"(pod="train",namespace="ml")", "1", 0));
  EXPECT_EQ(Fraction(*dcgm, 0, "pod ml/train"), 1.0);
}

TEST(PrometheusMetrics, JobstatsNamesTheJobByValue) {
  const std::string labels = R"({minor_number="0",uuid="GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000"} )";
  const auto in = Import("nvidia_gpu_duty_cycle" + labels + "40 1772445600000\nnvidia_gpu_jobId" + labels +
                         "48211 1772445600000\nnvidia_gpu_graphics_util_percent" + labels + "0.4 1772445600000\n");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{40 * kPercent});
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 0), std::vector<std::int64_t>{40 * kPercent});
  EXPECT_EQ(Fraction(*in, 0, "job 48211"), 1.0);
}

TEST(PrometheusMetrics, AFailedScrapeIsUnobserved) {
  const std::string gpu = "nvidia_smi_utilization_gpu_ratio{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} ";
  const auto in = Import("nvidia_smi_last_collect_success 1 1772445600000\n" + gpu + "0.5 1772445600000\n" +
                         "nvidia_smi_last_collect_success 0 1772445610000\n" + gpu + "0.5 1772445610000\n" +
                         "nvidia_smi_last_collect_success 1 1772445620000\n" + gpu + "0.5 1772445620000\n");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0).size(), 2U);
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kStale), 1U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kFailedScrape), 1);
}

TEST(PrometheusMetrics, AFailedScrapeIsOfItsHostAlone) {
  const auto util = [](char host) {
    return std::string("nvidia_smi_utilization_gpu_ratio{instance=\"n") + host +
           ":9835\",uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d4000" + host + "\"} 0.5 1772445600000\n";
  };
  const auto in =
      Import(util('1') + util('2') + "nvidia_smi_last_collect_success{instance=\"n1:9835\"} 0 1772445610000\n");
  ASSERT_EQ(in->Missing(Signal::kUtilization, Unobserved::kStale), 1U);
  EXPECT_EQ(in->devices[in->samples.back().device].host, "n1");
}

TEST(PrometheusMetrics, ScrapesWithoutStampsFollowOneAnother) {
  const std::string scrape =
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} 5\n"
      "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",UUID=\"GPU-5f3a0001-4d1c-11ee-9a6b-a1b2c3d40001\"} 6\n";
  const auto one = Import(scrape);
  EXPECT_EQ(one->samples.back().time.nanos(), 0);
  const auto two = Import(scrape + scrape);
  ASSERT_EQ(two->samples.size(), 4U);
  EXPECT_EQ(two->samples.back().time.nanos(), kNanosPerSecond);
  EXPECT_EQ(two->quality.CountOf(QualityId::kNoTimestamp), 1);
  EXPECT_EQ(two->quality.CountOf(QualityId::kPeriodEstimated), 1);
  const auto mixed = Import(Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 0) + scrape);
  EXPECT_EQ(mixed->samples.size(), 1U);
  EXPECT_EQ(mixed->quality.CountOf(QualityId::kBadRow), 2);
}

// By series, where what is busy comes before the line that says that it is old.
TEST(PrometheusMetrics, AFailedScrapeIsUnobservedInAnyOrder) {
  const std::string gpu = "nvidia_smi_utilization_gpu_ratio{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} ";
  const auto in =
      Import(gpu + "0.5 1772445600000\n" + gpu + "0.5 1772445610000\n" +
             "nvidia_smi_last_collect_success 1 1772445600000\n" + "nvidia_smi_last_collect_success 0 1772445610000\n");
  ASSERT_EQ(in->samples.size(), 2U);
  EXPECT_TRUE(in->samples[0].Has(Signal::kUtilization));
  EXPECT_FALSE(in->samples[1].Has(Signal::kUtilization));
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kStale), 1U);
}

// The exporter that failed is not the other one.
TEST(PrometheusMetrics, AFailedScrapeIsOfItsExporterAlone) {
  const std::string labels = "{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} ";
  const auto in =
      Import("nvidia_smi_power_draw_watts" + labels + "50 1772445600000\n" + Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 0) +
             Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 10) + "nvidia_smi_last_collect_success 0 1772445610000\n");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0).size(), 2U);
  EXPECT_EQ(in->Missing(Signal::kUtilization, Unobserved::kStale), 0U);
}

// More series than are kept: whatever else a scrape holds, known or not, the next one begins where one comes again.
TEST(PrometheusMetrics, ScrapesOfManySeriesWithoutStampsFollowOneAnother) {
  constexpr int kMany = 70'000;
  const std::string gpu = "DCGM_FI_DEV_GPU_UTIL{" + std::string(kGpu) + "} 50\n";
  const auto scrape = [&](const std::string& metric) {
    std::string text = gpu;
    for (int i = 0; i < kMany; ++i) text += metric + "{" + std::string(kGpu) + ",n=\"" + std::to_string(i) + "\"} 40\n";
    return text;
  };
  for (const std::string metric : {"container_cpu_usage", "DCGM_FI_DEV_GPU_TEMP"}) {
    const std::string text = scrape(metric);
    const auto in = Import(text + text + text);
    EXPECT_EQ(in->Values(Signal::kUtilization, 0).size(), 3U);
    EXPECT_EQ(in->samples.back().time.nanos() / kNanosPerSecond, 2) << metric;
    EXPECT_EQ(in->quality.CountOf(QualityId::kUnknownMetric), metric == "container_cpu_usage" ? 3 * kMany : 0);
  }
}

TEST(PrometheusMetrics, ReadsOpenMetricsAndPromtoolDumps) {
  const std::string gpu = "{gpu=\"0\",UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} ";
  const auto in =
      Import("# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL" + gpu + "5 1772445600.5\n" +
             "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\nDCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total" + gpu +
             "7 1772445600.5 # {a=\"b\"} 1 1772445600.1\n# EOF\n");
  ASSERT_EQ(in->samples.size(), 1U);
  EXPECT_EQ(in->samples[0].time.nanos(), 1'772'445'600'500'000'000);
  EXPECT_EQ(in->samples[0].Get(Signal::kEnergy), 7);
  const auto dump = Import(
      "{__name__=\"DCGM_FI_DEV_GPU_UTIL\", UUID=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\", gpu=\"0\"} 5 "
      "1772445600000\n");
  EXPECT_EQ(dump->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{5 * kPercent});
}

TEST(PrometheusMetrics, TornAndBadLinesAreCounted) {
  const std::string whole = Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 0) + Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 10);
  const auto torn = Import(whole.substr(0, whole.size() - 5));
  EXPECT_EQ(torn->samples.size(), 1U);
  EXPECT_EQ(torn->quality.CountOf(QualityId::kTornRow), 1);
  const auto open = Import(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(open->samples.size(), 2U);
  const auto bad = Import("what is this\n" + whole);
  EXPECT_EQ(bad->quality.CountOf(QualityId::kBadRow), 1);
  EXPECT_EQ(bad->quality.Get(QualityId::kBadRow).first_place, "input:1");
}

TEST(PrometheusMetrics, UnknownMetricsAreNamedAndNothingKnownIsAnError) {
  const auto some = Import(Line("DCGM_FI_DEV_GPU_UTIL", "", "5", 0) + Line("node_load1", "", "5", 0));
  EXPECT_EQ(some->quality.CountOf(QualityId::kUnknownMetric), 1);
  EXPECT_EQ(some->quality.Get(QualityId::kUnknownMetric).names.count("node_load1"), 1U);
  const auto none = Import("node_load1 0.5\nup 1\n");
  EXPECT_EQ(Import("{\"a\\nb\"} 1\n")->error.find('\n'), std::string::npos);
  EXPECT_NE(none->error.find("input: no known GPU metric (saw node_load1, up)"), std::string::npos) << none->error;
}

TEST(PrometheusMetrics, MigUtilisationOfTheDriverIsNoReading) {
  const auto in = Import(Line("DCGM_FI_DEV_GPU_UTIL", R"(GPU_I_ID="3",GPU_I_PROFILE="1g.5gb")", "0", 0) +
                         Line("DCGM_FI_PROF_GR_ENGINE_ACTIVE", R"(GPU_I_ID="3",GPU_I_PROFILE="1g.5gb")", "0.5", 0));
  ASSERT_EQ(in->samples.size(), 1U);
  EXPECT_FALSE(in->samples[0].Has(Signal::kUtilization));
  EXPECT_EQ(in->samples[0].Get(Signal::kGrEngineActive), 50 * kPercent);
}

// One by one they are the mask of their time, in the order of scrapes and of series, unless the mask is told.
TEST(PrometheusMetrics, EventReasonsMakeTheirMask) {
  const auto reason = [](const std::string& name, int value, int second) {
    return "nvidia_smi_clocks_event_reasons_" + name + "{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} " +
           std::to_string(value) + " " + std::to_string(1'772'445'600'000 + second * 1000) + "\n";
  };
  const std::vector<std::int64_t> masks = {0x0, 0x4, 0x44, 0x1};
  const std::vector<std::pair<std::string, int>> names = {
      {"gpu_idle", 0}, {"hw_thermal_slowdown", 6}, {"sw_power_cap", 2}};
  std::string by_scrape;
  std::string by_series;
  for (int s = 0; s < 4; ++s) {
    for (const auto& [name, bit] : names)
      by_scrape += reason(name, static_cast<int>(masks[static_cast<std::size_t>(s)] >> bit & 1), s);
  }
  for (const auto& [name, bit] : names) {
    for (int s = 0; s < 4; ++s)
      by_series += reason(name, static_cast<int>(masks[static_cast<std::size_t>(s)] >> bit & 1), s);
  }
  for (const std::string& text : {by_scrape, by_series}) {
    EXPECT_EQ(Import(text)->Values(Signal::kEventReasons, 0), masks);
    EXPECT_EQ(Import(reason("active", 8, 9) + text)->Values(Signal::kEventReasons, 0), std::vector<std::int64_t>{8});
  }
}

// What the driver calls power draw goes before the mean and the instant that are told beside it.
TEST(PrometheusMetrics, PowerDrawGoesBeforeItsVariants) {
  const auto line = [](const std::string& name, int watts) {
    return "nvidia_smi_power_draw_" + name + "{uuid=\"5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} " +
           std::to_string(watts) + " 1772445600000\n";
  };
  const std::string instant = line("instant_watts", 300);
  const std::string average = line("average_watts", 200);
  EXPECT_EQ(Import(instant)->Values(Signal::kPower, 0), std::vector<std::int64_t>{300'000});
  EXPECT_EQ(Import(instant + average)->Values(Signal::kPower, 0), std::vector<std::int64_t>{200'000});
  EXPECT_EQ(Import(average + instant + line("watts", 100))->Values(Signal::kPower, 0),
            std::vector<std::int64_t>{100'000});
}

// all-smi's instances, and its energy of GPUs and of the machine.
TEST(PrometheusMetrics, AllSmiTellsInstancesAndEnergy) {
  const std::string gpu = R"(gpu_index="3",gpu_uuid="GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000",host="n")";
  const auto in = Import("all_smi_energy_consumed_joules_total{" + gpu + "} 9000 1772445600000\n" +
                         "all_smi_energy_consumed_joules_total{host=\"n\",scope=\"chassis\"} 7 1772445600000\n" +
                         "all_smi_mig_instance_utilization_gpu{" + gpu +
                         R"(,mig_instance="2",mig_profile="3g.20gb",gpu_instance_id="5"} 64 1772445600000)" + "\n");
  ASSERT_EQ(in->devices.size(), 2U);
  EXPECT_EQ(in->Values(Signal::kEnergy, 0), std::vector<std::int64_t>{9'000'000});
  ASSERT_TRUE(in->devices[1].mig);
  EXPECT_EQ(in->devices[1].mig->id, "5");
  EXPECT_EQ(in->devices[1].mig->slices, 3);
  EXPECT_EQ(in->Values(Signal::kGrEngineActive, 1), std::vector<std::int64_t>{64 * kPercent});
  EXPECT_EQ(in->quality.CountOf(QualityId::kUnknownMetric), 1);
  EXPECT_EQ(in->quality.CountOf(QualityId::kInferredIdentity), 0);
}

TEST(PrometheusMetrics, OtherExportersAreRead) {
  const auto top = Import(
      "gpu_utilization_Percentage{hostname=\"n\",index=\"2\",uuid=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} 12\n"
      "gpu_memory_used_MiB{hostname=\"n\",index=\"2\",uuid=\"GPU-5f3a0000-4d1c-11ee-9a6b-a1b2c3d40000\"} 1.5\n");
  EXPECT_EQ(top->Values(Signal::kUtilization, 0), std::vector<std::int64_t>{12 * kPercent});
  EXPECT_EQ(top->Values(Signal::kMemoryUsed, 0), std::vector<std::int64_t>{1'572'864});
  const auto all = Import("all_smi_gpu_utilization{gpu=\"NVIDIA H100\",instance=\"n:9090\",gpu_index=\"3\"} 12\n");
  EXPECT_EQ(all->devices[0].index, 3);
  EXPECT_EQ(all->devices[0].name, "NVIDIA H100");
  EXPECT_EQ(all->devices[0].host, "n");
  const auto dyno = Import("sm_active_ratio{device=\"1\"} 0.25\n");
  EXPECT_EQ(dyno->Values(Signal::kSmActive, 0), std::vector<std::int64_t>{25 * kPercent});
}

}  // namespace
}  // namespace idleburn
