#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "import/formats.h"
#include "support/metrics_testing.h"

namespace idleburn {
namespace {

using nlohmann::json;

constexpr std::int64_t kStart = 1'783'117'320;  // seconds

std::unique_ptr<Imported> Import(std::string text, const ImportOptions& options = {}) {
  return ImportText(&ImportPrometheusJson, std::move(text), options);
}

json Series(const std::string& name, int gpu, const json& values) {
  return {{"metric", {{"__name__", name}, {"gpu", std::to_string(gpu)}, {"Hostname", "node-1"}}}, {"values", values}};
}

json Answer(const json& result, const std::string& kind = "matrix") {
  return {{"status", "success"}, {"data", {{"resultType", kind}, {"result", result}}}};
}

const json kThree = {{kStart + 0.25, "10"}, {kStart + 15.25, "90"}, {kStart + 30.25, "100"}};

void ExpectSame(const Imported& a, const Imported& b) {
  EXPECT_EQ(a.error, b.error);
  ASSERT_EQ(a.devices.size(), b.devices.size());
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].time, b.samples[i].time);
    EXPECT_EQ(a.samples[i].device, b.samples[i].device);
    EXPECT_EQ(a.samples[i].present, b.samples[i].present);
    EXPECT_EQ(a.samples[i].unavailable, b.samples[i].unavailable);
    for (const SignalInfo& info : kSignals) {
      if (!a.samples[i].Has(info.id)) continue;
      EXPECT_EQ(a.samples[i].Get(info.id), b.samples[i].Get(info.id));
    }
  }
}

TEST(PrometheusJson, AMatrixGivesScrapesToTheNanosecond) {
  const auto in = Import(R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{
      "__name__":"DCGM_FI_DEV_GPU_UTIL","UUID":"GPU-aaaaaaaa-0000-0000-0000-000000000001","gpu":"0"},
      "values":[[1783117320.250,"10"],[1783117335.123456789,"90"],[1783117350,"9e1"]]}]}})");
  ASSERT_EQ(in->error, "");
  ASSERT_EQ(in->samples.size(), 3U);
  EXPECT_EQ(in->samples[0].time.nanos(), 1'783'117'320'250'000'000);
  EXPECT_EQ(in->samples[1].time.nanos(), 1'783'117'335'123'456'789);
  EXPECT_EQ(in->samples[2].time.nanos(), 1'783'117'350'000'000'000);
  EXPECT_EQ(in->Values(Signal::kUtilization, 0),
            (std::vector<std::int64_t>{10 * kPercent, 90 * kPercent, 90 * kPercent}));
  EXPECT_EQ(in->devices[0].counter[Index(Signal::kUtilization)], "dcgm.DCGM_FI_DEV_GPU_UTIL");
}

// The bare result is what promtool prints; sorted keys are what jq -S makes of an answer.
TEST(PrometheusJson, EveryWrappingOfOneAnswerIsTheSame) {
  const json result =
      json::array({Series("DCGM_FI_DEV_GPU_UTIL", 0, kThree), Series("DCGM_FI_DEV_GPU_UTIL", 1, kThree)});
  const auto whole = Import(Answer(result).dump());
  ASSERT_EQ(whole->error, "");
  ASSERT_EQ(whole->samples.size(), 6U);
  const std::string values_first =
      R"([{"values":)" + kThree.dump() + R"(,"metric":)" + result[0]["metric"].dump() + "}," + result[1].dump() + "]";
  json frames = json::array();
  for (const int gpu : {0, 1}) {
    json times = json::array();
    json values = json::array();
    for (const json& point : kThree) {
      times.push_back(static_cast<std::int64_t>(point[0].get<double>() * 1000));
      values.push_back(std::stoi(point[1].get<std::string>()));
    }
    const json fields = {
        {{"name", "Time"}, {"type", "time"}},
        {{"name", "Value"}, {"type", "number"}, {"labels", result[static_cast<std::size_t>(gpu)]["metric"]}}};
    frames.push_back(json::parse(R"({"schema":{"fields":)" + fields.dump() + R"(},"data":{"values":)" +
                                 json{times, values}.dump() + "}}"));
  }
  const std::string frame = R"({"schema":{"fields":)" + frames[0]["schema"]["fields"].dump() + R"(},"data":)" +
                            frames[0]["data"].dump() + "}," + R"({"schema":)" + frames[1]["schema"].dump() +
                            R"(,"data":)" + frames[1]["data"].dump() + "}";
  for (const std::string& text :
       {result.dump(), Answer(result)["data"].dump(), Answer(result).dump(2), values_first,
        Answer(json::array({result[0]})).dump() + "\n" + Answer(json::array({result[1]})).dump(), "[" + frame + "]",
        R"({"results":{"A":{"status":200,"frames":[)" + frame + "]}}}"}) {
    EXPECT_TRUE(SniffPrometheusJson(text)) << text;
    SCOPED_TRACE(text);
    ExpectSame(*Import(text), *whole);
  }
}

// The text format of the same scrapes, ordered by scrape and read by its own importer, is the twin.
RC_GTEST_PROP(PrometheusJson, SaysWhatTheTextFormatSays, ()) {
  const std::vector<std::string> names = {
      "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_FB_USED",
      "node_load1",           "DCGM_FI_DEV_XID_ERRORS"};
  const std::vector<std::string> values = {"0", "1", "37.5", "1e2", "NaN", "+Inf", "9223372036854775794", "0.25"};
  const int gpus = *rc::gen::inRange(1, 4);
  const int scrapes = *rc::gen::inRange(1, 6);
  json result = json::array();
  std::map<std::pair<int, std::string>, json> points;
  std::string text;
  for (int scrape = 0; scrape < scrapes; ++scrape) {
    const std::int64_t ms = kStart * 1000 + scrape * 15'000 + *rc::gen::inRange(0, 999);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (const std::string& name : names) {
        if (*rc::gen::inRange(0, 4) == 0 && name != names[0]) continue;
        const std::string value = *rc::gen::elementOf(values);
        text += name + "{gpu=\"" + std::to_string(gpu) + "\",Hostname=\"node-1\"} " + value + " " + std::to_string(ms) +
                "\n";
        points[{gpu, name}].push_back({static_cast<double>(ms) / 1000, value});
      }
    }
  }
  for (const auto& [key, list] : points) result.push_back(Series(key.second, key.first, list));
  const auto json_in = Import(Answer(result).dump());
  const auto text_in = ImportText(&ImportPrometheus, text);
  std::map<std::pair<std::int64_t, int>, std::vector<std::int64_t>> a;
  std::map<std::pair<std::int64_t, int>, std::vector<std::int64_t>> b;
  const auto keep = [](const Imported& in, auto& out) {
    for (const Sample& s : in.samples) {
      std::vector<std::int64_t>& row = out[{s.time.nanos(), in.devices[s.device].index.value_or(-1)}];
      row = {s.present, s.unavailable};
      for (const SignalInfo& info : kSignals) row.push_back(s.Has(info.id) ? s.Get(info.id) : -1);
    }
  };
  keep(*json_in, a);
  keep(*text_in, b);
  RC_ASSERT(json_in->error == text_in->error);
  RC_ASSERT(a == b);
  for (const QualityId id : {QualityId::kNotFinite, QualityId::kSentinelValue, QualityId::kUnknownMetric,
                             QualityId::kOutOfRange, QualityId::kBadRow}) {
    RC_ASSERT(json_in->quality.CountOf(id) == text_in->quality.CountOf(id));
  }
}

TEST(PrometheusJson, ASeriesWithoutANameNeedsOne) {
  json unnamed = Series("", 0, kThree);
  unnamed["metric"].erase("__name__");
  const std::string text = Answer(json::array({unnamed})).dump();
  EXPECT_EQ(Import(text)->error,
            "input:1: a series has no name, as after rate() or avg by; name its metric with --metric NAME, such as "
            "DCGM_FI_DEV_GPU_UTIL");
  ImportOptions options;
  options.metric = "DCGM_FI_DEV_GPU_UTIL";
  const auto in = Import(text, options);
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->Values(Signal::kUtilization, 0).size(), 3U);
}

TEST(PrometheusJson, WhatCanBeOfNoGpuIsRefusedWithTheQueryToMake) {
  const struct {
    std::string text;
    std::string says;
  } cases[] = {
      {R"({"status":"error","errorType":"bad_data","error":"1:6: parse error: unclosed left parenthesis"})",
       "Prometheus returned no data: 1:6: parse error: unclosed left parenthesis"},
      {R"({"status":"success","data":{"resultType":"scalar","result":[1783117400,"1"]}})", "is a scalar"},
      {R"({"status":"success","data":{"resultType":"string","result":[1783117400,"up"]}})", "is a string"},
      {R"([1783117400.33,"1"])", "DCGM_FI_DEV_GPU_UTIL[1h]"},
      {R"({"status":"success","data":{"resultType":"matrix","result":[]}})", "holds no series"},
      {R"({"status":"success","data":["__name__","gpu"]})", "holds no series"},
      {Answer(json::array({Series("up", 0, kThree)})).dump(), "no known GPU metric"},
      {Answer(json::array({Series("DCGM_FI_DEV_GPU_UTIL", 0, kThree)})).dump().substr(0, 200), "ends before its last"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(SniffPrometheusJson(c.text)) << c.text;
    const std::string error = Import(c.text)->error;
    EXPECT_NE(error.find(c.says), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(PrometheusJson, HistogramsAndWarningsAreCounted) {
  json answer = Answer(json::array({Series("DCGM_FI_DEV_GPU_UTIL", 0, kThree)}));
  answer["data"]["result"].push_back(
      {{"metric", {{"__name__", "latency"}}}, {"histograms", {{kStart, {{"count", "5"}, {"sum", "1"}}}}}});
  answer["warnings"] = {"remote read was cut short"};
  answer["infos"] = {"metric might not be a counter"};
  const auto in = Import(answer.dump());
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->quality.CountOf(QualityId::kQueryWarning), 2);
  EXPECT_EQ(in->quality.Get(QualityId::kQueryWarning).names.count("remote read was cut short"), 1U);
  EXPECT_EQ(in->quality.Get(QualityId::kUnknownMetric).names.count("histograms (not gauge readings)"), 1U);
}

TEST(PrometheusJson, PointsThatAreNoneAreCounted) {
  json points = kThree;
  points.push_back({kStart + 45, 90});
  points.push_back({"1783117380", "90"});
  points.push_back(json::array({kStart + 60}));
  points.push_back(7);
  points.push_back({kStart + 75, "9 0"});
  const auto in = Import(Answer(json::array({Series("DCGM_FI_DEV_GPU_UTIL", 0, points)})).dump());
  EXPECT_EQ(in->samples.size(), 3U);
  EXPECT_EQ(in->quality.CountOf(QualityId::kBadRow), 5);
}

TEST(PrometheusJson, AnInstantQueryAndAnEvenGridAreSaid) {
  json vector = json::array();
  for (const int gpu : {0, 1}) {
    vector.push_back({{"metric", Series("DCGM_FI_DEV_GPU_UTIL", gpu, {})["metric"]}, {"value", {kStart, "50"}}});
  }
  const auto instant = Import(Answer(vector, "vector").dump());
  ASSERT_EQ(instant->error, "");
  EXPECT_EQ(instant->samples.size(), 2U);
  EXPECT_EQ(instant->quality.CountOf(QualityId::kInstantQuery), 1);
  EXPECT_EQ(instant->quality.CountOf(QualityId::kEvenGrid), 0);

  json grid = json::array();
  json scraped = json::array();
  for (const int gpu : {0, 1}) {
    json held = json::array();
    json own = json::array();
    for (int i = 0; i < 20; ++i) {
      if (i % 7 != gpu) held.push_back({kStart + 10 * i, "50"});  // steps without a value are left out
      own.push_back({kStart + 15 * i + 0.311 + 0.417 * gpu, "50"});
    }
    grid.push_back(Series("DCGM_FI_DEV_GPU_UTIL", gpu, held));
    scraped.push_back(Series("DCGM_FI_DEV_GPU_UTIL", gpu, own));
  }
  EXPECT_EQ(Import(Answer(grid).dump())->quality.CountOf(QualityId::kEvenGrid), 1);
  EXPECT_EQ(Import(Answer(scraped).dump())->quality.CountOf(QualityId::kEvenGrid), 0);
}

TEST(PrometheusJson, LabelsAreTextWhateverIsInThem) {
  json odd = Series("DCGM_FI_DEV_GPU_UTIL", 0, kThree);
  odd["metric"]["pod"] = "a\"b\\c\n}d,e";
  odd["metric"]["ключ.1"] = "x";
  const auto in = Import(Answer(json::array({odd})).dump());
  ASSERT_EQ(in->error, "");
  EXPECT_EQ(in->samples.size(), 3U);
  ASSERT_EQ(in->owners.SharesOf(0).size(), 1U);
  EXPECT_EQ(in->owners.SharesOf(0)[0].owner, "pod a\"b\\c\n}d,e");
}

TEST(PrometheusJson, OtherDocumentsAreNotTakenForIt) {
  for (const char* text : {"", "{}", "[]", R"({"MetricDataResults": []})", "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 5",
                           R"({"schemaVersion": 1, "traceEvents": []})", R"({"card0": {"Temperature": "5"}})"}) {
    EXPECT_FALSE(SniffPrometheusJson(text)) << text;
  }
}

}  // namespace
}  // namespace idleburn
