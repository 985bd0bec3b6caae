#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "import/formats.h"
#include "import/tool_readers.h"
#include "support/import_run.h"
#include "support/shared_data.h"

namespace idleburn {
namespace {

using nlohmann::json;
using test::ImportRun;

constexpr std::int64_t kMebi = 1 << 20;

std::string Document(const std::string& gpu, const std::string& head = "") {
  return "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>" +
         head + "<gpu id=\"00000000:01:00.0\"><product_name>NVIDIA A100-SXM4-80GB</product_name>" +
         "<uuid>GPU-513536b6-7d19-9063-b049-1e69664bb298</uuid>" + gpu + "</gpu></nvidia_smi_log>\n";
}
std::string Stamped(const std::string& clock, const std::string& gpu) {
  return Document(gpu, "<timestamp>Fri Aug  4 " + clock + " 2023</timestamp><attached_gpus>1</attached_gpus>");
}
const std::string kBusy = "<utilization><gpu_util>65 %</gpu_util></utilization>";

// Paths of the truth's short names. Those with a slash are paths already.
const std::map<std::string, std::string> kPaths = {
    {"name", "product_name"},
    {"architecture", "product_architecture"},
    {"memory_total", "fb_memory_usage/total"},
    {"memory_used", "fb_memory_usage/used"},
    {"memory_reserved", "fb_memory_usage/reserved"},
    {"utilization_gpu", "utilization/gpu_util"},
    {"utilization_memory", "utilization/memory_util"},
    {"utilization_encoder", "utilization/encoder_util"},
    {"utilization_jpeg", "utilization/jpeg_util"},
    {"clocks_sm", "clocks/sm_clock"},
    {"clocks_mem", "clocks/mem_clock"},
    {"temperature_gpu", "temperature/gpu_temp"},
    {"pstate", "performance_state"},
    {"fan", "fan_speed"},
    {"mig_mode", "mig_mode/current_mig"},
    {"pcie_gen", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {"pcie_width", "pci/pci_gpu_link_info/link_widths/current_link_width"},
    {"pcie_tx", "pci/tx_util"},
    {"pcie_rx", "pci/rx_util"},
    {"ecc_mode", "ecc_mode/current_ecc"}};

void ExpectProcesses(const SmiGpu& gpu, const json& truth) {
  ASSERT_EQ(gpu.processes.size(), truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Leaves& process = gpu.processes[i];
    EXPECT_EQ(process.Get("pid"), truth[i]["pid"].get<std::string>());
    EXPECT_EQ(process.Get("type"), truth[i]["type"].get<std::string>());
    EXPECT_EQ(process.Get("used_memory"), truth[i]["used_memory"].get<std::string>());
    // The truth shortens a long name to its first 60 characters and its length.
    const auto name = truth[i]["name"].get<std::string>();
    const std::size_t dots = name.find("... (");
    EXPECT_EQ(process.Get("process_name").substr(0, dots), name.substr(0, dots));
    if (dots != std::string::npos) {
      EXPECT_EQ(process.Get("process_name").size(), std::stoul(name.substr(dots + 5)));
    }
  }
}

void ExpectReasons(const SmiGpu& gpu, const std::string& element, const json& truth) {
  std::vector<std::string> active;
  for (const auto& [path, text] : gpu.leaves.all()) {
    if (path.find(element + "/") == 0 && text == "Active") active.push_back(path.substr(element.size() + 1));
  }
  EXPECT_EQ(json(active), truth) << element;
}

void ExpectGpu(const SmiGpu& gpu, const json& truth) {
  for (const auto& [key, value] : truth.items()) {
    SCOPED_TRACE(key);
    if (key == "id") {
      EXPECT_EQ(gpu.id, value.get<std::string>());
    } else if (key == "processes") {
      ExpectProcesses(gpu, value);
    } else if (key == "mig_devices") {
      EXPECT_EQ(gpu.mig_devices.size(), value.size());
    } else if (key == "clocks_event_reasons" || key == "clocks_throttle_reasons") {
      ExpectReasons(gpu, key, value);
    } else {
      const auto path = kPaths.find(key);
      EXPECT_EQ(gpu.leaves.Find(path == kPaths.end() ? key : path->second), value.get<std::string>());
    }
  }
}

TEST(NvidiaSmiXml, EveryFieldOfTheCapturesAsDocument) {
  const auto expected = test::ReadShared("data/telemetry/expected.json");
  if (!expected) GTEST_SKIP() << "missing: " << test::SharedPath("data/telemetry/expected.json");
  const json captures = json::parse(*expected)["nvidia_smi_xml"];
  ASSERT_EQ(captures.size(), 5U);
  for (const auto& [file, truth] : captures.items()) {
    SCOPED_TRACE(file);
    const auto text = test::ReadShared("data/telemetry/nvidia_smi/" + file);
    ASSERT_TRUE(text);
    EXPECT_TRUE(SniffNvidiaSmiXml(*text));
    StringSource source(*text, file);
    DataQuality quality;
    SmiXmlReader reader(source, quality);
    SmiDocument document;
    ASSERT_TRUE(reader.Next(&document).value());
    EXPECT_EQ(document.dtd, truth["dtd"].get<std::string>());
    for (const char* key : {"driver_version", "cuda_version", "attached_gpus", "timestamp"}) {
      const std::optional<std::string_view> said = document.leaves.Find(key);
      EXPECT_EQ(said ? json(*said) : json(), truth[key]) << key;
    }
    ASSERT_EQ(document.gpus.size(), truth["gpus"].size());
    for (std::size_t i = 0; i < document.gpus.size(); ++i) ExpectGpu(document.gpus[i], truth["gpus"][i]);
    EXPECT_FALSE(reader.Next(&document).value());
  }
}

// What a capture must come to as a sample: figures of the captures' README; -1 is unavailable, -2 not asked for.
struct ExpectedSample {
  const char* file;
  const char* time;
  std::int64_t util, memory_util, used_mib, total_mib, power_mw, limit_mw, default_mw, sm_mhz, celsius, rx_kb, tx_kb;
  std::int64_t reasons, processes;
  const char* power_counter;
};
constexpr ExpectedSample kExpected[] = {
    {"a10g.xml", "2023-04-24T16:11:51Z", 0, 0, 22, 23028, 25580, 300'000, 300'000, 210, 17, 0, 0, 1, 0,
     "nvidia_smi_xml.power_readings/power_draw"},
    {"tesla-t4.xml", "2023-04-24T16:22:39Z", 0, 0, 1032, 15360, 26780, 70'000, 70'000, 585, 40, 0, 0, 0, 1,
     "nvidia_smi_xml.power_readings/power_draw"},
    {"rtx-3080-v12.xml", "2023-07-20T17:00:50Z", 0, 37, 1128, 10240, 22780, 336'000, 320'000, 210, 31, 6000, 1000, 1, 0,
     "nvidia_smi_xml.gpu_power_readings/power_draw"},
    {"rtx-3080-v13.xml", "2026-04-10T10:23:01Z", 65, 9, 9184, 10240, 139'620, 320'000, 320'000, 1950, 27, 14742333,
     1066699, 0, -1, "nvidia_smi_xml.gpu_power_readings/average_power_draw"},
    {"gtx-1070-ti.xml", "1970-01-01T00:00:00Z", 0, 0, 42, 4096, -1, -2, -2, 135, 39, -2, -2, -2, -2, ""},
};

TEST(NvidiaSmiXml, TheCapturesAsSamples) {
  for (const ExpectedSample& e : kExpected) {
    SCOPED_TRACE(e.file);
    const auto text = test::ReadShared(std::string("data/telemetry/nvidia_smi/") + e.file);
    if (!text) GTEST_SKIP() << "missing: " << e.file;
    const ImportRun run(ImportNvidiaSmiXml, *text);
    ASSERT_TRUE(run.result) << run.result.error().message;
    ASSERT_EQ(run.samples.size(), 1U);
    const Sample& s = run.samples[0];
    EXPECT_EQ(FormatRfc3339(s.time), e.time);
    const auto expect = [&](Signal signal, std::int64_t value, std::int64_t scale) {
      SCOPED_TRACE(Info(signal).name);
      EXPECT_EQ(s.Has(signal), value >= 0);
      EXPECT_EQ(s.Lacks(signal), value == -1);
      if (value >= 0 && s.Has(signal)) {
        EXPECT_EQ(s.Get(signal), value * scale);
      }
    };
    expect(Signal::kUtilization, e.util, kPercent);
    expect(Signal::kMemoryUtilization, e.memory_util, kPercent);
    expect(Signal::kMemoryUsed, e.used_mib, kMebi);
    expect(Signal::kMemoryTotal, e.total_mib, kMebi);
    expect(Signal::kPower, e.power_mw, 1);
    expect(Signal::kPowerLimit, e.limit_mw, 1);
    expect(Signal::kPowerDefaultLimit, e.default_mw, 1);
    expect(Signal::kSmClock, e.sm_mhz, 1000);
    expect(Signal::kTemperature, e.celsius, 1000);
    expect(Signal::kPcieRx, e.rx_kb, 1000);
    expect(Signal::kPcieTx, e.tx_kb, 1000);
    expect(Signal::kEventReasons, e.reasons, 1);
    expect(Signal::kProcesses, e.processes, 1);
    EXPECT_EQ(run.Counter(0, Signal::kPower), e.power_counter);
    EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), s.time.nanos() == 0 ? 1 : 0);
    EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), s.time.nanos() == 0 ? 0 : 1);
  }
}

// What is used is of processes where the driver's share is told apart, so 100 MiB are somebody's, seen or not.
TEST(NvidiaSmiXml, AnEmptyListBesideHeldMemoryProvesNothing) {
  const auto processes = [](const std::string& memory) {
    const ImportRun run(ImportNvidiaSmiXml, Stamped("11:40:00", kBusy + "<fb_memory_usage>" + memory +
                                                                    "</fb_memory_usage><processes></processes>"));
    const Sample& s = run.samples.at(0);
    return s.Has(Signal::kProcesses) ? std::to_string(s.Get(Signal::kProcesses)) : "not known";
  };
  const std::string reserved = "<reserved>397 MiB</reserved>";
  EXPECT_EQ(processes(reserved + "<used>100 MiB</used>"), "not known");
  EXPECT_EQ(processes(reserved + "<used>99 MiB</used>"), "0");
  EXPECT_EQ(processes("<used>9184 MiB</used>"), "0");  // may be the driver's own
}

TEST(NvidiaSmiXml, ALoopIsOneSampleADocument) {
  std::string loop;
  for (int second = 0; second < 300; ++second) {  // more than one block of input
    const std::string clock =
        "11:4" + std::to_string(second / 60) + ":" + (second % 60 < 10 ? "0" : "") + std::to_string(second % 60);
    loop += Stamped(clock, "<utilization><gpu_util>" + std::to_string(second % 101) + " %</gpu_util></utilization>" +
                               "<fan>" + std::string(1000, ' ') + "</fan>");
  }
  const ImportRun run(ImportNvidiaSmiXml, loop);
  ASSERT_TRUE(run.result) << run.result.error().message;
  ASSERT_EQ(run.samples.size(), 300U);
  EXPECT_EQ(run.devices.size(), 1U);
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    EXPECT_EQ(run.samples[i].time - run.samples[0].time, std::chrono::seconds(i));
    EXPECT_EQ(run.samples[i].Get(Signal::kUtilization), static_cast<std::int64_t>(i % 101) * kPercent);
  }
  EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 1);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 0);
}

TEST(NvidiaSmiXml, TheUsersZoneApplies) {
  ImportOptions options;
  options.timezone = *TimeZone::Load("+02:00");
  const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", kBusy), options);
  ASSERT_EQ(run.samples.size(), 1U);
  EXPECT_EQ(FormatRfc3339(run.samples[0].time), "2023-08-04T09:44:30Z");
  EXPECT_EQ(run.quality.CountOf(QualityId::kTimezoneAssumed), 0);
}

TEST(NvidiaSmiXml, ModulePowerNeverStandsForTheGpu) {
  const std::string module =
      "<module_power_readings><average_power_draw>900.00 W</average_power_draw>"
      "<power_draw>900.00 W</power_draw></module_power_readings>";
  const ImportRun run(ImportNvidiaSmiXml,
                      Stamped("11:44:30",
                              "<gpu_power_readings><average_power_draw>N/A</average_power_draw>"
                              "<instant_power_draw>142.33 W</instant_power_draw></gpu_power_readings>" +
                                  module));
  ASSERT_EQ(run.samples.size(), 1U);
  EXPECT_EQ(run.samples[0].Get(Signal::kPower), 142'330);
  EXPECT_FALSE(run.samples[0].Lacks(Signal::kPower));
  EXPECT_EQ(run.Counter(0, Signal::kPower), "nvidia_smi_xml.gpu_power_readings/instant_power_draw");
  const ImportRun none(ImportNvidiaSmiXml, Stamped("11:44:30", module));
  EXPECT_FALSE(none.samples[0].Has(Signal::kPower));
}

// The average comes late, as after an update of the driver: the instant draw goes on, as a mean and an instant are not
// one series.
TEST(NvidiaSmiXml, ACounterThatComesAfterAnotherIsLeftAsideAndCounted) {
  const auto power = [](const std::string& average, const std::string& instant) {
    return "<gpu_power_readings><average_power_draw>" + average + "</average_power_draw>" + "<instant_power_draw>" +
           instant + "</instant_power_draw></gpu_power_readings>";
  };
  const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", power("N/A", "100.00 W")) +
                                              Stamped("11:44:31", power("300.00 W", "110.00 W")) +
                                              Stamped("11:44:32", power("300.00 W", "N/A")));
  ASSERT_EQ(run.samples.size(), 3U);
  EXPECT_EQ(run.samples[1].Get(Signal::kPower), 110'000);
  EXPECT_FALSE(run.samples[2].Has(Signal::kPower));
  EXPECT_TRUE(run.samples[2].Lacks(Signal::kPower));
  EXPECT_EQ(run.quality.CountOf(QualityId::kLateCounter), 2);
  EXPECT_EQ(run.quality.Get(QualityId::kLateCounter).names,
            (std::set<std::string>{"gpu_power_readings/average_power_draw"}));
}

TEST(NvidiaSmiXml, EveryEventReasonHasItsBit) {
  const std::pair<const char*, std::int64_t> kBits[] = {{"gpu_idle", 0x1},
                                                        {"applications_clocks_setting", 0x2},
                                                        {"sw_power_cap", 0x4},
                                                        {"hw_slowdown", 0x8},
                                                        {"sync_boost", 0x10},
                                                        {"sw_thermal_slowdown", 0x20},
                                                        {"hw_thermal_slowdown", 0x40},
                                                        {"hw_power_brake_slowdown", 0x80},
                                                        {"display_clocks_setting", 0x100}};
  for (const std::string element : {"clocks_event_reason", "clocks_throttle_reason"}) {
    for (const auto& [name, bit] : kBits) {
      const std::string tag = element + "_" + name;
      const std::string gpu = "<" + element + "s><" + tag + ">Active</" + tag + "></" + element + "s>";
      const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", gpu));
      ASSERT_EQ(run.samples.size(), 1U);
      EXPECT_EQ(run.samples[0].Get(Signal::kEventReasons), bit) << tag;
    }
  }
  const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", "<clocks_event_reasons>N/A</clocks_event_reasons>"));
  EXPECT_TRUE(run.samples[0].Lacks(Signal::kEventReasons));
}

std::string Process(const char* type, const char* instance = "N/A") {
  return std::string("<process_info><gpu_instance_id>") + instance + "</gpu_instance_id><pid>7</pid><type>" + type +
         "</type><process_name>a &amp; b</process_name><used_memory>5 MiB</used_memory></process_info>";
}

TEST(NvidiaSmiXml, OnlyComputeContextsHoldAGpu) {
  const auto processes = [](const std::string& inner) {
    const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", "<processes>" + inner + "</processes>"));
    return run.samples.at(0).Has(Signal::kProcesses) ? run.samples[0].Get(Signal::kProcesses) : -1;
  };
  EXPECT_EQ(processes(Process("G")), 0);
  EXPECT_EQ(processes(Process("C") + Process("C+G") + Process("M+C") + Process("G")), 3);
  EXPECT_EQ(processes("\n"), 0) << "an empty list is a statement";
  EXPECT_EQ(processes("N/A"), -1) << "no permission or no support is none";
  const ImportRun silent(ImportNvidiaSmiXml, Stamped("11:44:30", kBusy));
  EXPECT_FALSE(silent.samples.at(0).Has(Signal::kProcesses));
}

std::string MigDevice(int gi, int ci, int sms, int total, int used) {
  return "<mig_device><gpu_instance_id>" + std::to_string(gi) + "</gpu_instance_id><compute_instance_id>" +
         std::to_string(ci) + "</compute_instance_id><device_attributes><shared><multiprocessor_count>" +
         std::to_string(sms) + "</multiprocessor_count></shared></device_attributes><fb_memory_usage><total>" +
         std::to_string(total) + " MiB</total><used>" + std::to_string(used) +
         " MiB</used></fb_memory_usage></mig_device>";
}
std::string MigBoard(const char* name, int total, const std::string& devices, const std::string& rest = "") {
  return "<?xml version=\"1.0\"?>\n<nvidia_smi_log><timestamp>Fri Jul  3 22:22:26 2026</timestamp>"
         "<gpu id=\"00000000:83:00.0\"><product_name>" +
         std::string(name) + "</product_name><uuid>GPU-513536b6-7d19-9063-b049-1e69664bb298</uuid><mig_devices>" +
         devices + "</mig_devices><fb_memory_usage><total>" + std::to_string(total) +
         " MiB</total></fb_memory_usage><utilization><gpu_util>N/A</gpu_util></utilization>" + rest +
         "</gpu></nvidia_smi_log>";
}

// By memory alone: a quarter of a board of four slices is one of them, an eighth of one of seven is.
TEST(NvidiaSmiXml, SlicesByMemoryAreOfTheBoardsNumber) {
  const struct {
    const char* name;
    int board_mib;
    int instance_mib;
    const char* profile;
    int slices;
  } cases[] = {
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 24192, "1g.24gb", 1},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 48512, "2g.48gb", 2},
      {"NVIDIA RTX PRO 5000 Blackwell", 48935, 24192, "1g.24gb", 1},
      {"NVIDIA H200", 143771, 16384, "1g.18gb", 1},
  };
  for (const auto& row : cases) {
    const ImportRun run(ImportNvidiaSmiXml, MigBoard(row.name, row.board_mib, MigDevice(1, 0, 0, row.instance_mib, 9)));
    ASSERT_TRUE(run.result) << row.name;
    bool found = false;
    for (DeviceId id = 0; id < run.devices.size(); ++id) {
      if (!run.devices[id].mig) continue;
      found = true;
      EXPECT_EQ(run.devices[id].mig->slices, row.slices) << row.name;
      EXPECT_EQ(run.devices[id].mig->profile, row.profile) << row.name;
    }
    EXPECT_TRUE(found) << row.name;
  }
}

// The partition of the H200 capture: five compute instances in four GPU instances.
TEST(NvidiaSmiXml, AGpuInstanceIsADeviceAndItsMemoryCountsOnce) {
  const std::string text =
      MigBoard("NVIDIA H200", 143771,
               MigDevice(2, 0, 16, 71424, 16925) + MigDevice(2, 1, 32, 71424, 16925) + MigDevice(3, 0, 32, 33280, 17) +
                   MigDevice(9, 0, 16, 16384, 9) + MigDevice(10, 0, 16, 16384, 9),
               "<gpu_power_readings><power_draw>295.01 W</power_draw></gpu_power_readings><processes>" +
                   Process("C", "2") + Process("C", "2") + Process("C", "9") + "</processes>");
  const ImportRun run(ImportNvidiaSmiXml, text);
  ASSERT_TRUE(run.result) << run.result.error().message;
  ASSERT_EQ(run.devices.size(), 5U) << "the board and four GPU instances";
  std::map<std::string, std::string> profiles;
  std::int64_t used = 0;
  std::map<std::string, std::int64_t> processes;
  for (const Sample& s : run.samples) {
    const Device& d = run.devices[s.device];
    EXPECT_FALSE(s.Has(Signal::kUtilization));
    EXPECT_TRUE(s.Lacks(Signal::kUtilization)) << "unavailable, not idle";
    EXPECT_EQ(s.Has(Signal::kPower), !d.mig.has_value()) << "power is the board's";
    if (!d.mig) continue;
    profiles[d.mig->id] = d.mig->profile + " " + std::to_string(d.mig->slices);
    used += s.Get(Signal::kMemoryUsed) / kMebi;
    processes[d.mig->id] = s.Get(Signal::kProcesses);
    EXPECT_EQ(run.devices[*d.board].name, "NVIDIA H200");
  }
  const std::map<std::string, std::string> truth = {
      {"2", "3g.71gb 3"}, {"3", "2g.35gb 2"}, {"9", "1g.18gb 1"}, {"10", "1g.18gb 1"}};
  EXPECT_EQ(profiles, truth);
  EXPECT_EQ(used, 16925 + 17 + 9 + 9);
  EXPECT_EQ(processes, (std::map<std::string, std::int64_t>{{"2", 2}, {"3", 0}, {"9", 1}, {"10", 0}}));
}

TEST(NvidiaSmiXml, ProfilesOfOtherBoards) {
  struct Row {
    const char* name;
    int board, sms, total;
    const char* profile;
  };
  // Published profiles (MIG user guide); memory as the driver prints it.
  const Row kRows[] = {
      {"NVIDIA A100-SXM4-80GB", 81920, 14, 19968, "1g.20gb"}, {"NVIDIA A100-SXM4-80GB", 81920, 42, 40192, "3g.40gb"},
      {"NVIDIA A100-SXM4-40GB", 40960, 14, 4864, "1g.5gb"},   {"NVIDIA A100-SXM4-40GB", 40960, 56, 20096, "4g.20gb"},
      {"NVIDIA A100-SXM4-40GB", 40960, 98, 40192, "7g.40gb"}, {"NVIDIA A30", 24576, 14, 5952, "1g.6gb"},
      {"NVIDIA H100 80GB HBM3", 81559, 60, 40448, "3g.40gb"}, {"NVIDIA H100 80GB HBM3", 81559, 132, 80896, "7g.80gb"},
  };
  for (const Row& row : kRows) {
    const ImportRun run(ImportNvidiaSmiXml, MigBoard(row.name, row.board, MigDevice(1, 0, row.sms, row.total, 1)));
    bool found = false;
    for (const Sample& s : run.samples) {
      const auto& mig = run.devices[s.device].mig;
      if (!mig) continue;
      EXPECT_EQ(mig->profile, row.profile) << row.name;
      found = true;
    }
    EXPECT_TRUE(found);
  }
}

TEST(NvidiaSmiXml, ABoardOfLessThanAMebibyteGivesNoProfile) {
  std::string text = MigBoard("NVIDIA H200", 1, MigDevice(1, 0, 16, 1, 1));
  for (std::size_t at; (at = text.find("1 MiB</total>")) != std::string::npos;) text.replace(at, 5, "9 KiB");
  const ImportRun run(ImportNvidiaSmiXml, text);
  ASSERT_TRUE(run.result) << run.result.error().message;
  bool found = false;
  for (const Sample& s : run.samples) {
    const auto& mig = run.devices[s.device].mig;
    if (!mig) continue;
    found = true;
    EXPECT_EQ(mig->profile, "");
    EXPECT_EQ(mig->slices, 1);
  }
  EXPECT_TRUE(found);
}

TEST(NvidiaSmiXml, AnIndexIsAPositionOnlyAmongAllGpus) {
  const auto two = [](const char* attached) {
    return "<nvidia_smi_log><attached_gpus>" + std::string(attached) +
           "</attached_gpus><gpu id=\"00000000:01:00.0\"/><gpu id=\"00000000:02:00.0\"/></nvidia_smi_log>";
  };
  const ImportRun all(ImportNvidiaSmiXml, two("2"));
  ASSERT_EQ(all.devices.size(), 2U);
  EXPECT_EQ(all.devices[1].index, 1);
  const ImportRun some(ImportNvidiaSmiXml, two("8"));
  ASSERT_EQ(some.devices.size(), 2U);
  EXPECT_FALSE(some.devices[1].index);
}

TEST(NvidiaSmiXml, WithoutATimeTheLastOneStands) {
  const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", kBusy) + Document(kBusy));
  ASSERT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.samples[1].time, run.samples[0].time);
  EXPECT_EQ(run.quality.CountOf(QualityId::kNoTimestamp), 1);
}

TEST(NvidiaSmiXml, ATornDocumentIsDroppedAndCounted) {
  const std::string one = Stamped("11:44:30", kBusy);
  const std::string two = Stamped("11:44:31", kBusy);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{30}, two.size() / 2, two.size() - 3}) {
    const ImportRun run(ImportNvidiaSmiXml, one + two.substr(0, cut));
    ASSERT_TRUE(run.result) << run.result.error().message;
    EXPECT_EQ(run.samples.size(), 1U) << cut;
    EXPECT_EQ(run.quality.CountOf(QualityId::kTornRow), 1) << cut;
  }
  // A logger that was killed and started again.
  const ImportRun again(ImportNvidiaSmiXml, one + two.substr(0, two.size() / 2) + "\n" + two + one);
  ASSERT_TRUE(again.result);
  EXPECT_EQ(again.samples.size(), 3U);
  EXPECT_EQ(again.quality.CountOf(QualityId::kBadRow), 1);
}

TEST(NvidiaSmiXml, AMessageBetweenDocumentsIsCounted) {
  const ImportRun after(ImportNvidiaSmiXml, "nohup: ignoring input\n" + Stamped("11:44:30", kBusy));
  ASSERT_TRUE(after.result);
  EXPECT_EQ(after.samples.size(), 1U);
  EXPECT_EQ(after.quality.CountOf(QualityId::kBadRow), 1);

  const ImportRun run(ImportNvidiaSmiXml, Stamped("11:44:30", kBusy) +
                                              "Unable to determine the device handle for GPU0000:02:00.0\n" +
                                              Stamped("11:44:31", kBusy));
  ASSERT_TRUE(run.result);
  EXPECT_EQ(run.samples.size(), 2U);
  EXPECT_EQ(run.quality.CountOf(QualityId::kBadRow), 1);
}

std::string ErrorOf(const std::string& text) {
  const ImportRun run(ImportNvidiaSmiXml, text);
  EXPECT_TRUE(run.samples.empty());
  return run.result ? "no error" : run.result.error().message;
}

TEST(NvidiaSmiXml, BadInputIsOneClearError) {
  const std::string deep = [] {
    std::string text = "<nvidia_smi_log>";
    for (int i = 0; i < 100000; ++i) text += "<a>";
    return text;
  }();
  const std::string bomb =
      "<?xml version=\"1.0\"?><!DOCTYPE nvidia_smi_log [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>"
      "<nvidia_smi_log><timestamp>&b;</timestamp></nvidia_smi_log>";
  const std::string secret =
      "<!DOCTYPE nvidia_smi_log [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>"
      "<nvidia_smi_log><driver_version>&x;</driver_version></nvidia_smi_log>";
  const std::pair<std::string, std::string> kCases[] = {
      {"", "holds no <nvidia_smi_log> document"},
      {std::string("\0\x01\xFF\xFE junk", 8), "holds no"},
      {"<html><body/></html>", "its root is not <nvidia_smi_log>"},
      {"<nvidia_smi_log><gpu></nvidia_smi_log>", "not XML"},
      {"<nvidia_smi_log><gpu id=\"1\">", "is cut off"},
      {deep, "nested too deeply"},
      {bomb, "declares entities"},
      {secret, "declares entities"},
      {"<nvidia_smi_log><driver_version>" + std::string(1 << 20, 'x') + "</driver_version></nvidia_smi_log>",
       "longer than 64 KiB"},
      {"<nvidia_smi_log a=\"" + std::string(20 << 20, 'x'), "longer than 16 MiB"},
  };
  for (const auto& [text, part] : kCases) {
    const std::string error = ErrorOf(text);
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_EQ(error.find("input"), 0U) << error;
  }
}

TEST(NvidiaSmiXml, EveryCutOfADocumentIsTold) {
  const std::string whole = Stamped("11:44:30", kBusy + "<processes>" + Process("C") + "</processes>");
  for (std::size_t n = 0; n + 3 < whole.size(); ++n) EXPECT_NE(ErrorOf(whole.substr(0, n)), "no error") << n;
}

TEST(NvidiaSmiXml, SniffsOnlyItsOwn) {
  EXPECT_TRUE(SniffNvidiaSmiXml("\n<?xml version=\"1.0\" ?>\n<nvidia_smi_log>"));
  EXPECT_TRUE(SniffNvidiaSmiXml("nohup: ignoring input\n<?xml version=\"1.0\" ?>\n<nvidia_smi_log>"));
  EXPECT_FALSE(SniffNvidiaSmiXml("<html>"));
  EXPECT_FALSE(SniffNvidiaSmiXml("the element <nvidia_smi_log>"));
  EXPECT_FALSE(SniffNvidiaSmiXml(""));
}

}  // namespace
}  // namespace idleburn
