#include "text/metric_line.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace idleburn {

namespace {

using Kind = PrometheusLine::Kind;

TEST(Prometheus, ReadsASampleOfTheTextFormat) {
  const PrometheusLine line =
      ParsePrometheusLine(R"(DCGM_FI_DEV_GPU_UTIL{gpu="0",modelName="NVIDIA H100"} 95 1772445600000)");
  EXPECT_EQ(line.kind, Kind::kSample);
  EXPECT_EQ(line.name, "DCGM_FI_DEV_GPU_UTIL");
  EXPECT_EQ(line.labels, R"(gpu="0",modelName="NVIDIA H100")");
  EXPECT_EQ(line.series, R"(DCGM_FI_DEV_GPU_UTIL{gpu="0",modelName="NVIDIA H100"})");
  EXPECT_EQ(line.value, "95");
  EXPECT_EQ(line.stamp, "1772445600000");
}

TEST(Prometheus, ReadsBareSamplesAndOddValues) {
  for (const std::string_view value : {"NaN", "+Inf", "-Inf", "2.0780679168e+10", "-3.5", "1e-7"}) {
    const std::string text = "up " + std::string(value);
    const PrometheusLine line = ParsePrometheusLine(text);
    EXPECT_EQ(line.kind, Kind::kSample) << text;
    EXPECT_EQ(line.value, value);
    EXPECT_TRUE(line.stamp.empty());
  }
}

TEST(Prometheus, KeepsBracesQuotesAndBackslashesInsideValues) {
  const PrometheusLine line = ParsePrometheusLine(R"(m{a="C:\\x\\",b="}\" {",c="1",} 2 3)");
  ASSERT_EQ(line.kind, Kind::kSample);
  std::string_view labels = line.labels;
  std::vector<std::pair<std::string, std::string>> got;
  PrometheusLabel label;
  bool bad = false;
  while (TakeLabel(labels, &label, &bad)) got.emplace_back(label.name, UnescapeLabel(label.value));
  EXPECT_FALSE(bad);
  const std::vector<std::pair<std::string, std::string>> want = {{"a", "C:\\x\\"}, {"b", "}\" {"}, {"c", "1"}};
  EXPECT_EQ(got, want);
}

TEST(Prometheus, ReadsMetaLines) {
  const PrometheusLine type = ParsePrometheusLine("# TYPE DCGM_FI_DEV_GPU_UTIL gauge");
  EXPECT_EQ(type.kind, Kind::kType);
  EXPECT_EQ(type.name, "DCGM_FI_DEV_GPU_UTIL");
  EXPECT_EQ(type.text, "gauge");
  EXPECT_EQ(ParsePrometheusLine("# HELP a GPU utilization (in %).").text, "GPU utilization (in %).");
  EXPECT_EQ(ParsePrometheusLine("# UNIT a seconds").kind, Kind::kUnit);
  EXPECT_EQ(ParsePrometheusLine("# EOF").kind, Kind::kEof);
  EXPECT_EQ(ParsePrometheusLine("# anything else").kind, Kind::kComment);
  EXPECT_EQ(ParsePrometheusLine("  \t").kind, Kind::kBlank);
}

TEST(Prometheus, ReadsOpenMetricsExemplars) {
  const PrometheusLine line =
      ParsePrometheusLine(R"(foo_total{a="b"} 17.0 1520879607.789 # {trace_id="x y"} 0.67 1520879606.1)");
  ASSERT_EQ(line.kind, Kind::kSample);
  EXPECT_EQ(line.value, "17.0");
  EXPECT_EQ(line.stamp, "1520879607.789");
  EXPECT_EQ(line.exemplar, R"({trace_id="x y"} 0.67 1520879606.1)");
}

TEST(Prometheus, FindsTheNameWhereverItStands) {
  EXPECT_EQ(SampleName(ParsePrometheusLine(R"(plain{a="b"} 1)")), "plain");
  EXPECT_EQ(SampleName(ParsePrometheusLine(R"({__name__="dumped", a="b"} 1 1772445600000)")), "dumped");
  EXPECT_EQ(SampleName(ParsePrometheusLine(R"({"with.dot",a="b"} 1)")), "with.dot");
}

TEST(Prometheus, RefusesWhatIsNoSample) {
  for (const std::string_view text :
       {"timestamp, index, utilization.gpu [%]", "Fri Jul  3 22:22:01 2026", "name", "name{a=\"b\" 1", "name{a=\"b\"}",
        "name 1 2 3", "name one", "{} 1", "0 1", "    0    70    35", "name{a=\"b\"}1 x"}) {
    EXPECT_EQ(ParsePrometheusLine(text).kind, Kind::kBad) << text;
  }
  std::string_view broken = "a=\"b\" c=\"d\"";
  PrometheusLabel label;
  bool bad = false;
  EXPECT_FALSE(TakeLabel(broken, &label, &bad));
  EXPECT_TRUE(bad);
}

TEST(Prometheus, ReadsStampsInTheirUnit) {
  constexpr std::int64_t kTime = 1772445600;
  EXPECT_EQ(ParsePrometheusStamp("1772445600123", false)->nanos(), kTime * 1'000'000'000 + 123'000'000);
  EXPECT_EQ(ParsePrometheusStamp("1772445600.123456789", false)->nanos(), kTime * 1'000'000'000 + 123'456'789);
  EXPECT_EQ(ParsePrometheusStamp("1772445600", true)->nanos(), kTime * 1'000'000'000);
  EXPECT_EQ(ParsePrometheusStamp("1772445600", false)->nanos(), kTime * 1'000'000'000);
  EXPECT_EQ(ParsePrometheusStamp("1.7724456e+09", true)->nanos(), kTime * 1'000'000'000);
  EXPECT_EQ(ParsePrometheusStamp("15000", false)->nanos(), 15'000'000'000);
  EXPECT_EQ(ParsePrometheusStamp("15", true)->nanos(), 15'000'000'000);
  for (const std::string_view none : {"NaN", "-1", "1e30", "9223372036854775807"}) {
    EXPECT_FALSE(ParsePrometheusStamp(none, false)) << none;
  }
}

// As the formats are written.
std::string EscapeLabel(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string_view("\\n") : std::string_view(&c, 1);
  }
  return out;
}

TEST(Prometheus, WhatIsWrittenIsReadBack) {
  const bool held = rc::check("a sample written out is read back the same", [] {
    using Labels = std::vector<std::pair<std::string, std::string>>;
    const auto name_gen = rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))),
                                       [](std::string s) { return s; });
    const std::string name = *name_gen;
    const auto values = rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::elementOf(std::string("\\\"\n{}=, #")), rc::gen::inRange(' ', '~')));
    const Labels labels = *rc::gen::container<Labels>(rc::gen::pair(name_gen, values));
    const auto value = *rc::gen::arbitrary<std::int64_t>();
    const auto stamp = *rc::gen::inRange<std::int64_t>(100'000'000'000, 4'000'000'000'000);
    std::string text = name;
    if (!labels.empty()) text += "{";
    for (const auto& [key, content] : labels) text += key + "=\"" + EscapeLabel(content) + "\",";
    if (!labels.empty()) text += "}";
    text += " " + std::to_string(value) + " " + std::to_string(stamp);

    const PrometheusLine line = ParsePrometheusLine(text);
    RC_ASSERT(line.kind == Kind::kSample);
    RC_ASSERT(line.name == name);
    RC_ASSERT(line.value == std::to_string(value));
    RC_ASSERT(ParsePrometheusStamp(line.stamp, false)->nanos() == stamp * 1'000'000);
    Labels got;
    std::string_view rest = line.labels;
    PrometheusLabel label;
    bool bad = false;
    while (TakeLabel(rest, &label, &bad)) got.emplace_back(label.name, UnescapeLabel(label.value));
    RC_ASSERT(!bad);
    RC_ASSERT(got == labels);
  });
  EXPECT_TRUE(held);
}

TEST(InfluxLine, ReadsTagsFieldsAndStamp) {
  InfluxLine line;
  const std::string text = R"(nvidia_smi,host=a\,b,name=Tesla\ V100,x\=y=1 )"
                           R"(power=12.5,busy=90i,n=7u,on=t,v="a \"b\", c=d" 1783117320000000000)";
  ASSERT_TRUE(ParseInfluxLine(text, &line));
  EXPECT_EQ(line.measurement, "nvidia_smi");
  EXPECT_EQ(line.tags, (InfluxLine::Pairs{{"host", "a,b"}, {"name", "Tesla V100"}, {"x=y", "1"}}));
  EXPECT_EQ(line.fields,
            (InfluxLine::Pairs{{"power", "12.5"}, {"busy", "90"}, {"n", "7"}, {"on", "t"}, {"v", "a \"b\", c=d"}}));
  EXPECT_EQ(line.stamp, "1783117320000000000");
  ASSERT_TRUE(ParseInfluxLine("m v=1", &line));
  EXPECT_EQ(line.stamp, "");
}

TEST(InfluxLine, RefusesWhatIsNone) {
  InfluxLine line;
  for (const char* text :
       {"", "# DML", "m", "m v", "m v=", "m,t v=1", "m,=a v=1", " v=1", "m v=1 x", "m v=1 1.5", "m v=\"a", "m v=1,",
        "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 90 1783117320000", "a, b, c", "{\"a\": 1}", "2026/07/03 22:22:01, 0, 12 %"}) {
    EXPECT_FALSE(ParseInfluxLine(text, &line)) << text;
  }
}

// What the protocol's own escaping writes, whatever is in the names.
RC_GTEST_PROP(InfluxLine, ReadsWhatEscapingWrote, ()) {
  const auto word =
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'Z', ' ', ',', '=', '9', '_')));
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == ' ' || c == ',' || c == '=') out += '\\';
      out += c;
    }
    return out;
  };
  const std::string measurement = "m" + *word;
  const InfluxLine::Pairs tags = *rc::gen::container<InfluxLine::Pairs>(rc::gen::pair(word, word));
  InfluxLine::Pairs fields = *rc::gen::container<InfluxLine::Pairs>(rc::gen::pair(word, word));
  fields.emplace_back("v", "1");
  std::string text = escaped(measurement);
  for (const auto& [key, value] : tags) text += "," + escaped(key) + "=" + escaped(value);
  text += " ";
  bool first = true;
  for (const auto& [key, value] : fields) {
    text += (first ? "" : ",") + escaped(key) + "=\"" + value + "\"";
    first = false;
  }
  text += " 17";
  InfluxLine line;
  RC_ASSERT(ParseInfluxLine(text, &line));
  RC_ASSERT(line.measurement == measurement);
  RC_ASSERT(line.tags == tags);
  RC_ASSERT(line.fields == fields);
  RC_ASSERT(line.stamp == "17");
}

}  // namespace

}  // namespace idleburn
