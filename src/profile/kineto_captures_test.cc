// Real captures: against figures that another program computed, and row by row against a naive reading of the whole
// document by simdjson.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "os/input_file.h"
#include "profile/profile_importers.h"
#include "profile/trace_reader.h"
#include "support/call_time.h"
#include "support/shared_data.h"
#include "text/line_reader.h"

namespace idleburn {
namespace {

constexpr std::string_view kFolder = "data/profiler_traces/";
constexpr auto kCaptures = std::to_array<std::string_view>(
    {"D01_resnet50_nw0_a",     "D02_resnet50_nw4_a",   "D03_bert_small_h100",    "D04_owlv2_mi300",
     "D05_a100_8rank_control", "D06_a100_2rank_nccl",  "D07_128rank_rank0",      "D10_rank_non_gpu",
     "D11_falconsai_mi300",    "D12_b200_eager",       "D13_v100_healthy",       "D14_timesformer_h100",
     "D15_qwen_mi300",         "D16_flux_mi300",       "D17_dlrm_rank0",         "D17_dlrm_rank1",
     "D17_dlrm_rank2",         "D17_dlrm_rank3",       "D17_dlrm_rank4",         "D17_dlrm_rank5",
     "D17_dlrm_rank6",         "D17_dlrm_rank7",       "D18_ddp_resnet18_mi300", "D19_normalization_mi300",
     "D20_minitoy_mi250",      "D21_sglang_cut_mi300", "D23_triton_one_kernel",  "D24_vllm_graph_capture"});

// ---- The naive twin: the whole document, every entry looked at on its own, time as text to nanoseconds by hand.

struct NaiveRow {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string name;
  std::int64_t correlation = -1;
  std::int64_t device = -1;
  std::int64_t stream = -1;
  std::int64_t bytes = 0;

  friend bool operator==(const NaiveRow&, const NaiveRow&) = default;
  [[maybe_unused]] friend void PrintTo(const NaiveRow& row, std::ostream* out) {
    *out << row.name << " [" << row.start << ", " << row.end << ") correlation " << row.correlation << " device "
         << row.device << " stream " << row.stream << " bytes " << row.bytes;
  }
};

struct NaiveProfile {
  std::int64_t entries = 0;
  std::vector<NaiveRow> device_events;
  std::vector<NaiveRow> calls;
  std::vector<NaiveRow> host_ranges;  // with steps
};

std::int64_t NaiveNs(std::string text) {
  while (!text.empty() && text.back() <= ' ') text.pop_back();
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string fraction = point < text.size() ? text.substr(point + 1) : "";
  fraction.resize(3, '0');
  return std::stoll(text.substr(0, point)) * 1000 + std::stoll(fraction);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool OneOf(const std::string& text, std::initializer_list<const char*> all) {
  return std::any_of(all.begin(), all.end(), [&](const char* one) { return text == one; });
}

void ReadArguments(simdjson::ondemand::object arguments, NaiveRow& row) {
  for (auto field : arguments) {
    const std::string key(std::string_view(field.unescaped_key()));
    std::int64_t value = 0;
    if (field.value().get_int64().get(value) != simdjson::SUCCESS) continue;  // calls of HIP have streams of text
    if (key == "correlation") row.correlation = value;
    if (key == "device") row.device = value;
    if (key == "stream") row.stream = value;
    if (key == "bytes") row.bytes = value;
  }
}

NaiveProfile ReadNaively(const std::string& text) {
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document = parser.iterate(padded);
  NaiveProfile naive;
  for (auto entry : document["traceEvents"].get_array()) {
    ++naive.entries;
    NaiveRow row;
    std::string phase;
    std::string category;
    std::string time;
    std::string duration;
    for (auto field : entry.get_object()) {
      const std::string key(std::string_view(field.unescaped_key()));
      simdjson::ondemand::value value = field.value();
      if (key == "ph") phase = std::string_view(value.get_string());
      if (key == "cat") category = Lower(std::string_view(value.get_string()));
      if (key == "name") row.name = std::string_view(value.get_string());
      if (key == "ts") time = std::string_view(value.raw_json_token());
      if (key == "dur") duration = std::string_view(value.raw_json_token());
      if (key == "args") ReadArguments(value.get_object(), row);
    }
    if (phase != "X") continue;
    row.start = NaiveNs(time);
    row.end = row.start + NaiveNs(duration);
    if (OneOf(category, {"kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"})) naive.device_events.push_back(row);
    if (OneOf(category, {"cuda_runtime", "cuda_driver", "runtime"})) naive.calls.push_back(row);
    if (OneOf(category, {"cpu_op", "operator", "user_annotation"})) naive.host_ranges.push_back(row);
  }
  return naive;
}

void ExpectSameRows(const Profile& profile, const NaiveProfile& naive) {
  EXPECT_EQ(profile.events_total, naive.entries);
  std::map<std::int64_t, std::vector<NaiveRow>> by_device;
  for (const NaiveRow& row : naive.device_events) by_device[row.device].push_back(row);
  ASSERT_EQ(profile.devices.size(), by_device.size());
  for (const ProfiledDevice& device : profile.devices) {
    std::vector<NaiveRow> rows;
    for (const DeviceEvent& e : device.events) {
      rows.push_back({e.start_ns, e.end_ns, profile.names[e.name], e.correlation, device.id, e.stream, e.bytes});
    }
    EXPECT_TRUE(rows == by_device[device.id]) << "device " << device.id;
  }
  ASSERT_EQ(profile.calls.size(), naive.calls.size());
  std::vector<Interval> sync;
  for (std::size_t i = 0; i < naive.calls.size(); ++i) {
    const HostCall& call = profile.calls[i];
    const NaiveRow& row = naive.calls[i];
    ASSERT_TRUE(call.start_ns == row.start && call.end_ns == row.end && call.correlation == row.correlation) << i;
    ASSERT_EQ(call.kind == CallKind::kLaunchKernel, row.name.find("LaunchKernel") != std::string::npos) << row.name;
  }
  std::vector<Interval> operators;
  for (const NaiveRow& row : naive.host_ranges) {
    if (row.name.rfind("ProfilerStep#", 0) != 0) operators.push_back({row.start, row.end});
  }
  EXPECT_EQ(profile.host.cpu_op, IntervalSet::UnionOf(operators));
}

class KinetoCapturesTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  // The capture, unpacked by the program's own reading of files.
  static std::optional<std::string> Text() {
    const std::string path = test::SharedPath(std::string(kFolder) + std::string(GetParam()) + ".json.gz").string();
    const Result<std::unique_ptr<ByteSource>> in = OpenInput(path);
    if (!in) return std::nullopt;
    std::string text;
    std::string block(1 << 20, '\0');
    while (true) {
      const Result<std::size_t> got = (*in)->Read(block);
      if (!got || *got == 0) return text;
      text.append(block, 0, *got);
    }
  }
  static Profile Read(const std::string& text, TraceLimits limits = {}) {
    StringSource in(text, "capture");
    DataQuality quality;
    const Result<Profile> profile = ReadKineto(in, quality, limits);
    EXPECT_TRUE(profile);
    for (const QualityInfo& info : kQualityTable) EXPECT_EQ(quality.CountOf(info.id), 0) << info.name;
    return profile.value_or(Profile());
  }
};
INSTANTIATE_TEST_SUITE_P(Captures, KinetoCapturesTest, ::testing::ValuesIn(kCaptures),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(KinetoCapturesTest, RowsAreThoseOfANaiveReading) {
  const std::optional<std::string> text = Text();
  if (!text) GTEST_SKIP() << GetParam() << " is not here";
  const Profile profile = Read(*text);
  ExpectSameRows(profile, ReadNaively(*text));
  // Neither the size of the window nor where its borders fall shows.
  std::mt19937 random(7);
  for (const std::size_t window : {std::size_t{1} << 12, std::size_t{100'000} + random() % 1000, text->size()}) {
    EXPECT_TRUE(Read(*text, {window, std::size_t{16} << 20}) == profile) << window;
  }
}

double Ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

double UnionMs(const std::vector<DeviceEvent>& events, std::uint32_t stream) {
  std::vector<Interval> busy;
  for (const DeviceEvent& e : events) {
    if (e.stream == stream) busy.push_back({e.start_ns, e.end_ns});
  }
  return Ms(IntervalSet::UnionOf(std::move(busy)).TotalNs());
}

struct Copies {
  std::int64_t n = 0;
  double ms = 0;
  double megabytes = 0;
};
// Those that overlap the span of the device, which is all of them, by name without "Memcpy ", cut to 24 characters.
std::map<std::string, Copies> CopiesOf(const Profile& profile, const ProfiledDevice& device) {
  std::map<std::string, Copies> copies;
  for (const DeviceEvent& e : device.events) {
    if (e.op != DeviceOp::kMemcpy) continue;
    Copies& sum = copies[profile.names[e.name].substr(7, 24)];
    ++sum.n;
    sum.ms += Ms(e.end_ns - e.start_ns);
    sum.megabytes += static_cast<double>(e.bytes) / 1e6;
  }
  return copies;
}

void ExpectHostFigures(const Profile& profile, const nlohmann::json& expected) {
  EXPECT_EQ(profile.events_total, expected["events"].get<std::int64_t>());
  ASSERT_EQ(profile.steps.size(), expected["steps"].get<std::size_t>());
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    EXPECT_NEAR(Ms(profile.steps[i].end_ns - profile.steps[i].start_ns), expected["step_ms"][i].get<double>(), 0.001);
  }
  EXPECT_EQ(profile.dataloader_events, expected["dataloader_events"].get<std::int64_t>());
  EXPECT_NEAR(Ms(profile.host.dataloader.TotalNs()), expected["dataloader_ms"].get<double>(), 0.001);
  const auto calls = [&](CallKind kind) {
    return std::count_if(profile.calls.begin(), profile.calls.end(), [&](const HostCall& c) { return c.kind == kind; });
  };
  EXPECT_EQ(calls(CallKind::kSync), expected["sync_api"]["n"].get<std::int64_t>());
  EXPECT_NEAR(Ms(test::CallNs(profile, CallKind::kSync)), expected["sync_api"]["ms"].get<double>(), 0.001);
  EXPECT_EQ(calls(CallKind::kLaunchKernel), expected["launch_api"]["n"].get<std::int64_t>());
  std::int64_t launching = 0;
  for (const HostCall& call : profile.calls) {
    if (call.kind == CallKind::kLaunchKernel) launching += call.end_ns - call.start_ns;
  }
  if (calls(CallKind::kLaunchKernel) > 0) {
    const double mean = static_cast<double>(launching) / static_cast<double>(calls(CallKind::kLaunchKernel)) / 1e3;
    EXPECT_NEAR(mean, expected["launch_api"]["mean_us"].get<double>(), 0.001);
  }
}

void ExpectDeviceFigures(const Profile& profile, const ProfiledDevice& device, const nlohmann::json& expected) {
  const auto kernels = std::count_if(device.events.begin(), device.events.end(), [](const DeviceEvent& e) {
    return e.op == DeviceOp::kKernel || e.op == DeviceOp::kComm;
  });
  EXPECT_EQ(kernels, expected["kernels"].get<std::int64_t>());
  for (const auto& [stream, ms] : expected["streams"].items()) {
    EXPECT_NEAR(UnionMs(device.events, static_cast<std::uint32_t>(std::stoul(stream))), ms.get<double>(), 0.001);
  }
  const std::map<std::string, Copies> copies = CopiesOf(profile, device);
  const nlohmann::json& expected_copies = expected["memcpy"];
  EXPECT_EQ(copies.size(), expected_copies.size());
  for (const auto& [kind, sum] : copies) {
    ASSERT_TRUE(expected_copies.contains(kind)) << kind;
    EXPECT_EQ(sum.n, expected_copies[kind]["n"].get<std::int64_t>()) << kind;
    EXPECT_NEAR(sum.ms, expected_copies[kind]["ms"].get<double>(), 0.001) << kind;
    EXPECT_NEAR(sum.megabytes, expected_copies[kind]["MB"].get<double>(), 0.001) << kind;
  }
}

TEST_P(KinetoCapturesTest, FiguresAreThoseComputedElsewhere) {
  const std::optional<std::string> text = Text();
  const std::optional<std::string> figures = test::ReadShared(std::string(kFolder) + "expected.json");
  if (!text || !figures) GTEST_SKIP() << GetParam() << " is not here";
  const nlohmann::json all = nlohmann::json::parse(*figures);
  const nlohmann::json& expected = all[std::string(GetParam())];
  const Profile profile = Read(*text);
  ExpectHostFigures(profile, expected);
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json& devices = expected.contains("devices") ? expected["devices"] : none;
  ASSERT_EQ(profile.devices.size(), devices.size());
  for (const ProfiledDevice& device : profile.devices) {
    const std::string id = std::to_string(device.id);
    ASSERT_TRUE(devices.contains(id)) << id;
    ExpectDeviceFigures(profile, device, devices[id]["gpu_span"]);
    if (!expected["device"].empty() && device.id == expected["device"][0]["id"].get<std::int64_t>()) {
      EXPECT_EQ(device.model, expected["device"][0]["name"].get<std::string>());
    }
  }
  const nlohmann::json& meta = expected["meta"];
  if (meta.contains("distributedInfo")) {
    EXPECT_EQ(profile.rank, meta["distributedInfo"]["rank"].get<std::int64_t>());
  }
}

// Names that a careless writer or a careless reader trips over, written by one who knows how.
std::string NastyTrace(std::uint32_t seed) {
  static const std::array<std::string, 10> kParts = {
      "\\\"", "\\\\", "{", "}]", "[", "\\u00e9\\ud83d\\ude00", "\xC3\xA9", "plain", ",\\n", ": \\\"traceEvents\\\""};
  std::mt19937 random(seed);
  const auto text = [&] {
    std::string all;
    for (auto i = random() % 12; i > 0; --i) all += kParts[random() % kParts.size()];
    return all;
  };
  std::string json = R"({"schemaVersion": 1, "note": ")" + text() + R"(", "traceEvents": [)";
  for (int i = 0; i < 200; ++i) {
    const bool device = random() % 2 == 0;
    const std::string category = device ? "kernel" : random() % 2 == 0 ? "cuda_runtime" : "cpu_op";
    json += i == 0 ? "\n" : ",\n";
    json += R"({"args": {"x)" + text() + R"(": [")" + text() + R"(", {}], "correlation": )" + std::to_string(i) +
            R"(, "device": )" + std::to_string(random() % 3) + R"(, "stream": 7}, "name": ")" + text() +
            R"(", "cat": ")" + category + R"(", "ph": "X", "pid": 1, "tid": 2, "ts": )" + std::to_string(random()) +
            "." + std::to_string(100 + random() % 900) + R"(, "dur": )" + std::to_string(random() % 100) + "}";
  }
  return json + "], \"note\": \"" + text() + "\"}";
}

TEST(KinetoNastyNamesTest, RowsAreThoseOfANaiveReading) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const std::string text = NastyTrace(seed);
    StringSource in(text, "nasty");
    DataQuality quality;
    const Result<Profile> profile = ReadKineto(in, quality, {1000, std::size_t{1} << 20});
    ASSERT_TRUE(profile);
    ExpectSameRows(*profile, ReadNaively(text));
  }
}

}  // namespace
}  // namespace idleburn
