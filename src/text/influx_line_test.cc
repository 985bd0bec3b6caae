#include "text/influx_line.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace idleburn {
namespace {

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
