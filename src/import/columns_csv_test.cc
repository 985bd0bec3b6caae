#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "import/column_map.h"
#include "import/formats.h"
#include "support/cut_source.h"
#include "support/property.h"
#include "text/line_reader.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

class Collected final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> samples) override { all.insert(all.end(), samples.begin(), samples.end()); }
  std::vector<Sample> all;
};

struct Imported {
  Result<void> result;
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  Collected sink;

  Imported(const std::string& text, std::string_view columns, const char* zone = nullptr) {
    StringSource in(text, "t.csv");
    ImportOptions options;
    if (!columns.empty()) options.columns = ParseColumns(columns).value();
    if (zone != nullptr) options.timezone = TimeZone::Load(zone).value();
    ImportTarget target{devices, quality, owners, sink};
    result = ImportColumnsCsv(in, options, target);
  }
  [[nodiscard]] std::string Message() const { return result ? "no error" : result.error().message; }
  [[nodiscard]] std::int64_t Count(QualityId id) const { return quality.CountOf(id); }
};

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ColumnsCsvTest, ReadsDecimalCommasButNoDoubtfulOnes) {
  const Imported t(
      "time;gpu;util;power\n"
      "2026-03-02T10:00:00Z;0;50,5;312,25 W\n"
      "2026-03-02T10:00:01Z;0;0,125;312,5\n"
      "2026-03-02T10:00:02Z;0;99,75 %;1,312\n"  // or 1312
      "2026-03-02T10:00:03Z;0;7;1.312,5\n"
      "2026-03-02T10:00:04Z;0;8;,5\n",
      "time=time,gpu=gpu,util=util,power=power");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 5U);
  EXPECT_EQ(t.sink.all[0].Get(Signal::kUtilization), 50 * kPercent + kPercent / 2);
  EXPECT_EQ(t.sink.all[0].Get(Signal::kPower), 312'250);
  EXPECT_EQ(t.sink.all[1].Get(Signal::kUtilization), kPercent / 8);
  EXPECT_EQ(t.sink.all[1].Get(Signal::kPower), 312'500);
  EXPECT_EQ(t.sink.all[2].Get(Signal::kUtilization), 99 * kPercent + kPercent * 3 / 4);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_TRUE(t.sink.all[i].Lacks(Signal::kPower)) << i;
  EXPECT_EQ(t.Count(QualityId::kBadRow), 3);
}

TEST(ColumnsCsvTest, GuessesNoCellWithTextBehindItsQuotes) {
  const Imported t(
      "time,gpu,util\n"
      "2026-03-02T10:00:00Z,0,\"40\"0\n"
      "2026-03-02T10:00:01Z,0,\"40\" \n",
      "time=time,gpu=gpu,util=util");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 1U);
  EXPECT_EQ(t.sink.all[0].Get(Signal::kUtilization), 40 * kPercent);
  EXPECT_EQ(t.Count(QualityId::kBadRow), 1);
  const Imported header("time,gpu,\"ut\"il\n2026-03-02T10:00:00Z,0,40\n", "time=time,gpu=gpu,util=util");
  EXPECT_EQ(header.Message(),
            "t.csv:1: text follows the closing quote of a column's name; quote the whole name or nothing");
}

TEST(ColumnsCsvTest, OfACompressedTableThatWasCutTheLastRowIsNone) {
  testing::CutSource in("time,gpu,util\n2026-03-02T10:00:00Z,0,40\n2026-03-02T10:00:01Z,0,4");
  ImportOptions options;
  options.columns = ParseColumns("time=time,gpu=gpu,util=util").value();
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  Collected sink;
  ImportTarget target{devices, quality, owners, sink};
  ASSERT_TRUE(ImportColumnsCsv(in, options, target));
  EXPECT_EQ(sink.all.size(), 1U);
  EXPECT_EQ(quality.CountOf(QualityId::kTornRow), 1);
}

TEST(ColumnsCsvTest, ReadsThePublishedExample) {
  const Imported t(
      "timestamp,container,value,watts,bytes\n"
      "1662859176.0,trainer-a,50,78.28,1073741824\n"
      "1662859176.0,trainer-b,0,60,0\n"
      "1662859233.5,trainer-a,100,300.001,1073741825\n",
      "time=timestamp,gpu=container,util=value,power=watts,memory=bytes");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 3U);
  const Sample& last = t.sink.all[2];
  EXPECT_EQ(last.time.nanos(), 1'662'859'233'500'000'000);
  EXPECT_EQ(last.device, t.sink.all[0].device);
  EXPECT_EQ(last.Get(Signal::kUtilization), kFull);
  EXPECT_EQ(last.Get(Signal::kPower), 300'001);
  EXPECT_EQ(last.Get(Signal::kMemoryUsed), 1'073'741'825);
  ASSERT_EQ(t.devices.size(), 2U);
  EXPECT_EQ(t.devices[1].name, "trainer-b");
  EXPECT_EQ(t.devices[0].counter[Index(Signal::kUtilization)], "csv.value");
  EXPECT_EQ(t.quality.Get(QualityId::kUnitAssumed).names,
            (std::set<std::string>{"timestamp in seconds", "value in percent"}));
  EXPECT_EQ(t.Count(QualityId::kTimezoneAssumed), 0);
}

struct EpochCase {
  std::string flag;
  std::string cell;
  std::int64_t nanos;
};
TEST(ColumnsCsvTest, ReadsTimesOfEveryForm) {
  constexpr std::int64_t kT = 1'751'581'321'444'000'000;
  const std::vector<EpochCase> cases = {
      {"time=t", "1751581321.444", kT},
      {"time=t", "1751581321444", kT},
      {"time=t", "1751581321444000", kT},
      {"time=t", "1751581321444000000", kT},
      {"time=t", "1.751581321444e9", kT},
      {"time=t", "1.751581321444e+12", kT},
      {"time:s=t", "12.5", 12'500'000'000},
      {"time=t:ms", "12.5", 12'500'000},
      {"time=t:us", "7", 7000},
      {"time=t:ns", "7", 7},
      {"time=t", "2025-07-03T22:22:01.444Z", kT},
      {"time=t", "2025-07-04 00:22:01.444+02:00", kT},
      {"time:rfc3339=t", "2025-07-03 22:22:01.444", kT},
      {"time=t", "2025/07/03 22:22:01.444", kT},
      {"time=t", "2025-07-04 00:22:01.444+02", kT},
      {"time=t", "2025-07-03 17:22:01.444 -0500", kT},
      {"time=t", "2025-07-03 22:22:01.444 UTC", kT},
  };
  for (const EpochCase& c : cases) {
    const Imported t("t,u\n" + c.cell + ",5\n", c.flag + ",util=u");
    ASSERT_TRUE(t.result) << c.cell << ": " << t.Message();
    EXPECT_EQ(t.sink.all[0].time.nanos(), c.nanos) << c.flag << " " << c.cell;
  }
}

TEST(ColumnsCsvTest, ReadsATableWithInfluxAnnotations) {
  const std::string text =
      "#group,false,false,true\n#datatype,string,long,dateTime:RFC3339,double,string\n#default,_result,,,,\n"
      ",result,table,_time,_value,index\n,,0,2025-07-03T22:22:01Z,97,0\n,,0,2025-07-03T22:22:02Z,98,0\n";
  EXPECT_TRUE(SniffColumnsCsv(text));
  const Imported t(text, "time=_time,util=_value,gpu=index");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.size(), 2U);
  EXPECT_FALSE(SniffColumnsCsv("# gpu,pwr\n"));
}

TEST(ColumnsCsvTest, SaysHowATimeWithoutAZoneWasRead) {
  const std::string text = "t,u\n2026-07-03 22:00:00,5\n2026-10-25 02:30:00,5\n";
  const Imported utc(text, "time=t,util=u");
  EXPECT_EQ(utc.Count(QualityId::kTimezoneAssumed), 1);
  const Imported berlin(text, "time=t,util=u", "Europe/Berlin");
  EXPECT_EQ(berlin.sink.all[0].time.nanos(), utc.sink.all[0].time.nanos() - 2 * kNanosPerHour);
  EXPECT_EQ(berlin.sink.all[1].time.nanos(), utc.sink.all[1].time.nanos() - 2 * kNanosPerHour);
  EXPECT_EQ(berlin.Count(QualityId::kTimezoneAssumed), 0);
  EXPECT_EQ(berlin.Count(QualityId::kTimezoneAmbiguous), 1);
  const Imported twice("t,u\n2026-10-25 02:59:59,5\n2026-10-25 02:00:00,5\n", "time=t,util=u", "Europe/Berlin");
  EXPECT_EQ((twice.sink.all[1].time - twice.sink.all[0].time).count(), kNanosPerSecond) << "the hour's second pass";
}

TEST(ColumnsCsvTest, RefusesToGuessTimes) {
  EXPECT_TRUE(Contains(Imported("t,u\n12.5,5\n", "time=t,util=u").Message(),
                       "t.csv:2: time '12.5' in column 't' is not an epoch"));
  const Imported mixed("t,u\n1751581321,5\n1751581322000,5\n", "time=t,util=u");
  EXPECT_TRUE(Contains(mixed.Message(), "t.csv:3: time '1751581322000' in column 't' has a different unit"));
  const Imported back("t,u\n1751581321000,5\n1751581322,5\n", "time=t,util=u");
  EXPECT_TRUE(Contains(back.Message(), "t.csv:3: time '1751581322'"));
}

// DCGM 4.6 calls a count from 0 to 100 a ratio.
TEST(ColumnsCsvTest, TheNameOfAMetricIsNotItsUnit) {
  const std::string text = "t,DCGM_FI_DEV_GPU_UTIL_RATIO\n1751581321,1\n1751581322,73\n";
  const Imported t(text, "time=t,util=DCGM_FI_DEV_GPU_UTIL_RATIO");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 2U);
  EXPECT_EQ(t.sink.all[0].Get(Signal::kUtilization), kPercent);
  EXPECT_EQ(t.sink.all[1].Get(Signal::kUtilization), 73 * kPercent);
  EXPECT_EQ(t.Count(QualityId::kOutOfRange), 0);
}

// As in every other format.
TEST(ColumnsCsvTest, NoValueIsSpelledAsEverywhere) {
  const Imported t("t,u,n\n1751581321,Not Permitted,Unknown\n1751581322,5,Unknown\n", "time=t,util=u,name=n");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_TRUE(t.sink.all[0].Lacks(Signal::kUtilization));
  EXPECT_EQ(t.sink.all[0].reason, Unobserved::kPermission);
  EXPECT_EQ(t.Count(QualityId::kUnavailableValue), 1);
  EXPECT_EQ(t.Count(QualityId::kBadRow), 0);
  EXPECT_EQ(t.devices[0].name, "");
}

TEST(ColumnsCsvTest, RefusesToGuessRatios) {
  const std::string text = "t,u\n1751581321,0.53\n1751581322,1.0\n1751581323,0\n";
  EXPECT_TRUE(Contains(Imported(text, "time=t,util=u").Message(), "'u' never exceeds 1: percent or ratio?"));
  EXPECT_EQ(Imported(text, "time=t,util:ratio=u").sink.all[0].Get(Signal::kUtilization), 53 * kPercent);
  EXPECT_EQ(Imported(text, "time=t,util=u:percent").sink.all[0].Get(Signal::kUtilization), 530'000);
  EXPECT_TRUE(Imported("t,u\n1751581321,0\n1751581322,1\n", "time=t,util=u").result);  // whole per cents
  EXPECT_TRUE(Imported("t,u\n1751581321,0.0\n1751581322,0.00\n", "time=t,util=u").result);
  EXPECT_TRUE(Imported("t,u\n1751581321,0.5 %\n", "time=t,util=u").result);
}

TEST(ColumnsCsvTest, ConvertsUnits) {
  const Imported t(
      "t,e,c,temp,m,r,p\n"
      "1751581321,0.5,1980 MHz,34.5,1.5,0x44,0.35 kW\n",
      "time=t,energy=e:kwh,sm_clock=c,temperature=temp:c,memory=m:gib,reasons=r,power=p");
  ASSERT_TRUE(t.result) << t.Message();
  const Sample& s = t.sink.all[0];
  EXPECT_EQ(s.Get(Signal::kEnergy), 1'800'000'000);
  EXPECT_EQ(s.Get(Signal::kSmClock), 1'980'000);
  EXPECT_EQ(s.Get(Signal::kTemperature), 34'500);
  EXPECT_EQ(s.Get(Signal::kMemoryUsed), std::int64_t{3} << 29);
  EXPECT_EQ(s.Get(Signal::kEventReasons), 0x44);
  EXPECT_EQ(s.Get(Signal::kPower), 350'000);
}

TEST(ColumnsCsvTest, KeepsWhatHasNoValueApart) {
  const Imported t(
      "t,u,p\n"
      "1751581321,[N/A],5\n"
      "1751581322,NaN,5\n"
      "1751581323,250,5\n"
      "1751581324,2147483632,5\n"
      "1751581325,twelve,5\n"
      "1751581326,,5\n"
      "1751581327,-3,5\n",
      "time=t,util=u,power=p");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 7U);
  for (const Sample& s : t.sink.all) {
    EXPECT_TRUE(s.Lacks(Signal::kUtilization));
    EXPECT_FALSE(s.Has(Signal::kUtilization));
    EXPECT_EQ(s.Get(Signal::kPower), 5000);
  }
  EXPECT_EQ(t.sink.all[0].reason, Unobserved::kUnsupported);
  EXPECT_EQ(t.Count(QualityId::kUnavailableValue), 2);
  EXPECT_EQ(t.Count(QualityId::kNotFinite), 1);
  EXPECT_EQ(t.Count(QualityId::kOutOfRange), 2);
  EXPECT_EQ(t.Count(QualityId::kSentinelValue), 1);
  EXPECT_EQ(t.quality.Get(QualityId::kBadRow).first_place, "t.csv:6");
}

TEST(ColumnsCsvTest, CountsRowsThatItCannotRead) {
  const Imported t(
      "t,g,u\n"
      "1751581321,0,5,\n"
      "yesterday,0,5\n"
      "1751581322,,5\n"
      "1751581323,0\n"
      "1751581324,0,5,6\n"
      "t,g,u\n"
      "1751581325,0,7\n"
      "1751581326,0",
      "time=t,gpu=g,util=u");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.size(), 2U);
  EXPECT_EQ(t.Count(QualityId::kBadRow), 4);
  EXPECT_EQ(t.quality.Get(QualityId::kBadRow).first_place, "t.csv:3");
  EXPECT_EQ(t.Count(QualityId::kTornRow), 1);
  EXPECT_TRUE(Contains(Imported("t,u\nx,1\ny,2\n", "time=t,util=u").Message(), "no row has a time"));
  EXPECT_TRUE(Contains(Imported("t,u\n", "time=t,util=u").Message(), "no row has a time"));
  EXPECT_TRUE(Contains(Imported("\n\n", "time=t,util=u").Message(), "t.csv: holds no rows"));
}

TEST(ColumnsCsvTest, ReadsLogsWithoutAHeaderByPosition) {
  const std::string rows =
      "2026/07/03 22:22:01.444, 0, 12 %, 78.28 W\n"
      "2026/07/03 22:22:01.445, 1, 0 %, 61.00 W\n";
  const Imported t(rows, "time=#1,gpu=#2,util=#3,power=#4");
  ASSERT_TRUE(t.result) << t.Message();
  ASSERT_EQ(t.sink.all.size(), 2U);
  EXPECT_EQ(t.sink.all[0].Get(Signal::kUtilization), 12 * kPercent);
  EXPECT_EQ(t.devices[t.sink.all[1].device].index, 1);
  const Imported headed("timestamp, index, utilization.gpu [%], power.draw [W]\n" + rows,
                        "time=#1,gpu=#2,util=#3,power=#4");
  EXPECT_EQ(headed.sink.all.size(), 2U);
  EXPECT_EQ(headed.Count(QualityId::kBadRow), 0);
  EXPECT_TRUE(
      Contains(Imported(rows, "time=timestamp,util=#3").Message(), "no such column (--columns time=timestamp)"));
}

TEST(ColumnsCsvTest, TellsDevicesApart) {
  const Imported t(
      "t,g,h,u\n"
      "1751581321,GPU-5D1E0000-0000-4000-8000-000000ABC000,n1,5\n"
      "1751581321,0,n1,5\n"
      "1751581321,0,n2,5\n"
      "1751581321,0.0,n2,5\n"
      "1751581321,00000000:65:00.0,n1,5\n"
      "1751581321,cuda:0,n1,5\n",
      "time=t,gpu=g,host=h,util=u");
  ASSERT_TRUE(t.result) << t.Message();
  std::vector<DeviceId> ids;
  for (const Sample& s : t.sink.all) ids.push_back(s.device);
  EXPECT_EQ(ids[2], ids[3]);
  EXPECT_EQ(std::set<DeviceId>(ids.begin(), ids.end()).size(), t.devices.size());
  EXPECT_EQ(t.devices[ids[0]].uuid, "GPU-5d1e0000-0000-4000-8000-000000abc000");
  EXPECT_EQ(t.devices[ids[2]].host, "n2");
  EXPECT_EQ(t.devices[ids[4]].bus_id, "0000:65:00.0");
  EXPECT_EQ(t.devices[ids[5]].name, "cuda:0");
  const Imported one("t,u\n1751581321,5\n1751581322,6\n", "time=t,util=u");
  ASSERT_EQ(one.devices.size(), 1U);
  EXPECT_EQ(one.devices[0].index, 0);
  std::string many = "t,g,u\n";
  for (int i = 0; i < 20'001; ++i) many += "1751581321,job-" + std::to_string(i) + ",5\n";
  EXPECT_TRUE(Contains(Imported(many, "time=t,gpu=g,util=u").Message(), "names more than 20000 GPUs"));
}

TEST(ColumnsCsvTest, TwoInputsShareADeviceOfTheSameName) {
  DeviceTable devices;
  DataQuality quality;
  OwnerLedger owners;
  Collected sink;
  ImportTarget target{devices, quality, owners, sink};
  ImportOptions options;
  options.columns = ParseColumns("time=t,gpu=g,util=u").value();
  for (int i = 0; i < 2; ++i) {
    StringSource in("t,g,u\n1751581321,a,5\n1751581321,b,5\n");
    ASSERT_TRUE(ImportColumnsCsv(in, options, target));
  }
  EXPECT_EQ(devices.size(), 2U);
}

TEST(ColumnsCsvTest, SharesCopiesAmongOwners) {
  const Imported t(
      "t,g,o,u\n"
      "1751581321,0,alice,50\n"
      "1751581321,0,bob,50\n"
      "1751581322,0,alice,60\n"
      "1751581323,0,alice,60\n",
      "time=t,gpu=g,owner=o,util=u");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.size(), 3U);
  EXPECT_EQ(t.Count(QualityId::kSharedCopies), 1);
  const auto shares = t.owners.SharesOf(0);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].owner, "alice");
  EXPECT_DOUBLE_EQ(shares[0].fraction, 0.75);
}

// Two rows a stamp of each owner: those of one are readings, those of the other their copies.
TEST(ColumnsCsvTest, SeveralRowsOfOneOwnerAreReadings) {
  const Imported t(
      "t,g,o,u\n"
      "1751581321,0,alice,0\n"
      "1751581321,0,bob,0\n"
      "1751581321,0,alice,100\n"
      "1751581321,0,bob,100\n"
      "1751581322,0,alice,60\n",
      "time=t,gpu=g,owner=o,util=u");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.sink.all.size(), 3U);
  EXPECT_EQ(t.Count(QualityId::kSharedCopies), 2);
}

// How many times of devices there are: rows of one device and time are readings of one stamp.
std::size_t Stamps(const Imported& t) {
  std::set<std::pair<DeviceId, std::int64_t>> stamps;
  for (const Sample& s : t.sink.all) stamps.emplace(s.device, s.time.nanos());
  return stamps.size();
}

// Two jobs, one written every second and one every ten, which ends with its last row: time counts, and not rows.
TEST(ColumnsCsvTest, OwnersShareTimeAndNotRows) {
  const auto rows = [](std::int64_t from, int step, const std::string& owner) {
    std::string text;
    for (std::int64_t s = from; s < from + 3600; s += step) {
      text += std::to_string(1'751'580'000 + s) + ",0," + owner + ",50\n";
    }
    return text;
  };
  const Imported t("t,g,o,u\n" + rows(0, 1, "alice") + rows(3600, 10, "bob"), "time=t,gpu=g,owner=o,util=u");
  ASSERT_TRUE(t.result) << t.Message();
  const auto shares = t.owners.SharesOf(0);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_DOUBLE_EQ(shares[0].fraction, 3600.0 / 7190);
  EXPECT_FALSE(shares[0].estimated);
  // Grouped by owner, the same hour of one GPU is shared by both.
  const Imported grouped("t,g,o,u\n" + rows(0, 1, "alice") + rows(0, 1, "bob"), "time=t,gpu=g,owner=o,util=u");
  EXPECT_EQ(Stamps(grouped), 3600U);
  ASSERT_EQ(grouped.owners.SharesOf(0).size(), 2U);
  EXPECT_DOUBLE_EQ(grouped.owners.SharesOf(0)[0].fraction, 0.5);
  EXPECT_TRUE(grouped.owners.SharesOf(0)[0].estimated);
}

// A row of two GPUs for each second of each span, `step` apart.
std::string RowsOfTwo(const std::vector<std::pair<int, int>>& spans, bool local, int step = 1) {
  std::string text = "t,g,u\n";
  for (const auto& [from, to] : spans) {
    for (int s = from; s < to; s += step) {
      const std::string stamp = FormatRfc3339(Instant::FromNanos((1'751'580'000LL + s) * kNanosPerSecond));
      const std::string time = local ? stamp.substr(0, 19) : stamp;
      for (const char* gpu : {",0,5\n", ",1,5\n"}) text += time + gpu;
    }
  }
  return text;
}

// A wall clock that was set back among the first rows is no disorder: sorted, what came twice would be of one time.
TEST(ColumnsCsvTest, KeepsTheOrderWhereALocalClockWasSetBack) {
  const auto read = [](const std::vector<std::pair<int, int>>& spans, int step = 1) {
    return Imported(RowsOfTwo(spans, true, step), "time=t,gpu=g,util=u");
  };
  const auto back = [](const Imported& t) {
    std::size_t steps = 0;
    for (std::size_t i = 2; i < t.sink.all.size(); ++i) {
      if (t.sink.all[i].time < t.sink.all[i - 2].time) ++steps;
    }
    return steps;
  };
  EXPECT_EQ(back(read({{0, 600}, {300, 900}})), 2U) << "into its own past";
  EXPECT_EQ(back(read({{1800, 3600}, {0, 3600}}, 5)), 2U) << "by an hour, to before it began";
  const Imported copies = read({{0, 600}, {0, 600}});
  EXPECT_EQ(back(copies), 0U) << "begins anew: groups of copies";
  EXPECT_EQ(Stamps(copies), 1200U);
  const Imported groups = read({{0, 600}, {300, 900}, {500, 1000}});
  EXPECT_EQ(back(groups), 0U) << "goes back again and again: groups of something";
  EXPECT_EQ(Stamps(groups), 2000U);
}

std::vector<std::int64_t> TimesOf(const Imported& t, DeviceId device) {
  std::vector<std::int64_t> times;
  for (const Sample& s : t.sink.all) {
    if (s.device == device) times.push_back(s.time.nanos() / kNanosPerSecond - 1'751'580'000);
  }
  times.erase(std::unique(times.begin(), times.end()), times.end());  // readings of one stamp
  return times;
}

// Stamps of a zone are instants, which come once; and no clock is set back into a gap.
TEST(ColumnsCsvTest, SortsRowsThatNoSetClockExplains) {
  std::vector<std::int64_t> want(900);
  std::iota(want.begin(), want.end(), 0);
  EXPECT_EQ(TimesOf(Imported(RowsOfTwo({{0, 600}, {300, 900}}, false), "time=t,gpu=g,util=u"), 1), want);
  for (const bool local : {false, true}) {
    const std::string text = RowsOfTwo({{0, 200}, {400, 600}, {200, 400}, {600, 900}}, local);
    EXPECT_EQ(TimesOf(Imported(text, "time=t,gpu=g,util=u"), 0), want) << local;
  }
}

// A row for each signal; grouped by signal; and one signal after the other of each time, in either order.
TEST(ColumnsCsvTest, JoinsRowsThatCompleteOneAnother) {
  const auto row = [](int s, const std::string& cells) { return std::to_string(1'751'580'000 + s) + ",0," + cells; };
  std::string grouped;
  std::string by_turns;
  std::string swapped;
  for (int s = 0; s < 600; ++s) grouped += row(s, "95,\n");
  for (int s = 0; s < 600; ++s) {
    const std::string util = row(s, "95,\n");
    const std::string power = row(s, ",300\n");
    grouped += power;
    by_turns += util + power;
    swapped += power + util;
  }
  for (const std::string& text : {grouped, by_turns, swapped}) {
    const Imported t("t,g,u,p\n" + text, "time=t,gpu=g,util=u,power=p");
    ASSERT_EQ(t.sink.all.size(), 600U) << t.Message();
    for (const Sample& s : t.sink.all) {
      ASSERT_EQ(s.Get(Signal::kUtilization), 95 * kPercent);
      ASSERT_EQ(s.Get(Signal::kPower), 300'000);
    }
  }
}

// Rows of times with a zone in any order are what they are in order.
TEST(ColumnsCsvTest, TheOrderOfRowsDecidesNothing) {
  test::ExpectProperty([] {
    std::vector<std::pair<int, int>> rows;  // time and GPU
    int time = 0;
    for (int i = *rc::gen::inRange(2, 300); i > 0; --i) {
      for (int gpu = 0; gpu < 3; ++gpu) rows.emplace_back(time, gpu);
      time += *rc::gen::element(1, 1, 1, 40, 4000);
    }
    const auto read = [](const std::vector<std::pair<int, int>>& written) {
      std::string text = "t,g,u\n";
      for (const auto& [t, g] : written) {
        text +=
            std::to_string(1'751'580'000 + t) + "," + std::to_string(g) + "," + std::to_string((t + g) % 101) + "\n";
      }
      const Imported table(text, "time=t,gpu=g,util=u");
      std::set<std::tuple<std::int64_t, int, std::int64_t>> said;
      for (const Sample& s : table.sink.all) {
        said.emplace(s.time.nanos(), *table.devices[s.device].index, s.Get(Signal::kUtilization));
      }
      RC_ASSERT(said.size() == table.sink.all.size());
      std::map<DeviceId, Instant> latest;
      for (const Sample& s : table.sink.all) {
        const auto [at, first] = latest.try_emplace(s.device, s.time);
        RC_ASSERT(first || s.time > at->second);
        at->second = s.time;
      }
      return said;
    };
    const auto want = read(rows);
    RC_ASSERT(want.size() == rows.size());
    std::vector<std::pair<int, int>> mixed = rows;
    std::shuffle(mixed.begin(), mixed.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
    RC_ASSERT(read(mixed) == want);
    const auto cut = *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(rows));
    std::rotate(rows.begin(), rows.begin() + cut, rows.end());
    RC_ASSERT(read(rows) == want);
  });
}

TEST(ColumnsCsvTest, RefusesATableThatIsOutOfOrderFurtherOn) {
  const std::string columns = "time=t,gpu=g,util=u";
  EXPECT_EQ(Imported(RowsOfTwo({{0, 5000}, {10'000, 15'000}, {5000, 10'000}}, false), columns).Message(),
            "t.csv:20002: rows are not in order of time: this row is older than an earlier row of its GPU; sort the "
            "table by time");
  EXPECT_TRUE(Imported(RowsOfTwo({{0, 5000}, {4998, 10'000}}, false), columns).result) << "a row or two late";
  EXPECT_TRUE(Imported(RowsOfTwo({{0, 5000}, {3000, 10'000}}, true), columns).result) << "a clock that was set back";
  EXPECT_FALSE(Imported(RowsOfTwo({{0, 5000}, {3000, 10'000}}, false), columns).result);
}

TEST(ColumnsCsvTest, SortsATableThatStartsOutOfOrder) {
  std::string text = "t,g,u\n";
  constexpr int kRows = 20'000;
  for (int i = kRows; i > 0; --i) text += std::to_string(1'751'581'321 + i) + "," + std::to_string(i % 2) + ",5\n";
  const Imported t(text, "time=t,gpu=g,util=u");
  ASSERT_EQ(t.sink.all.size(), static_cast<std::size_t>(kRows));
  for (std::size_t i = 1; i < t.sink.all.size(); ++i) ASSERT_LT(t.sink.all[i - 1].time, t.sink.all[i].time);
  // Sorted by GPU is in order for each.
  const Imported grouped("t,g,u\n1751581321,0,1\n1751581322,0,2\n1751581321,1,3\n1751581322,1,4\n",
                         "time=t,gpu=g,util=u");
  EXPECT_EQ(grouped.sink.all[1].Get(Signal::kUtilization), 2 * kPercent);
}

TEST(ColumnsCsvTest, ReadsQuotesSemicolonsAndUsualNames) {
  const Imported t("\"Time\";\"gpu\";\"util\"\n\"2026-07-03T22:22:01Z\";\"a;b\";\"7\"\n", "");
  ASSERT_TRUE(t.result) << t.Message();
  EXPECT_EQ(t.devices[0].name, "a;b");
  EXPECT_TRUE(Contains(Imported("a,b\n1,2\n", "").Message(), "t.csv:1: no known column names"));
}

TEST(ColumnsCsvTest, KnowsATable) {
  for (const std::string_view table :
       {"ts,gpu,util\n1,2,3\n", "a;b\n", "2026/07/03 22:22:01.444, 0, 12 %\n", "\"a\nb\",c\n"}) {
    EXPECT_TRUE(SniffColumnsCsv(table)) << table;
  }
  const std::string_view binary("PAR1\0,a\n", 8);
  for (const std::string_view other : {std::string_view("word\n"), std::string_view("{\"a\":1,\"b\":2}\n"), binary,
                                       std::string_view("# HELP a, b\nts,util\n"), std::string_view()}) {
    EXPECT_FALSE(SniffColumnsCsv(other)) << other;
  }
  EXPECT_TRUE(SniffUsualColumnsCsv("ts,gpu,util\n1,2,3\n"));
  EXPECT_FALSE(SniffUsualColumnsCsv("time,value\n1,2\n"));
  EXPECT_FALSE(SniffUsualColumnsCsv("# HELP x\nts,util\n"));
}

TEST(ColumnsCsvTest, NamesFromFilesCannotActOnATerminal) {
  const Imported t("t,g,u\n1751581321,a\x1b[2Jb,5\n", "time=t,gpu=g,util=u");
  EXPECT_EQ(t.devices[0].name.find('\x1b'), std::string::npos);
}

// Every row written is a row read, whatever the order of columns and however many GPUs.
TEST(ColumnsCsvTest, ReadsBackWhatWasWritten) {
  test::ExpectProperty([] {
    const auto gpus = *rc::gen::inRange(1, 9);
    const auto utils = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(2, 101)));
    const bool time_first = *rc::gen::arbitrary<bool>();
    std::string text = time_first ? "t,g,u,p\n" : "p,u,g,t\n";
    std::int64_t ms = 1'751'581'321'000;
    for (std::size_t i = 0; i < utils.size(); ++i) {
      const std::string t = std::to_string(ms += 107);
      const std::string g = std::to_string(static_cast<int>(i) % gpus);
      const std::string u = std::to_string(utils[i]);
      const std::string p = std::to_string(i) + ".25";
      text += time_first ? t + "," + g + "," + u + "," + p + "\n" : p + "," + u + "," + g + "," + t + "\n";
    }
    const Imported t(text, "time=t,gpu=g,util=u,power=p");
    RC_ASSERT(t.result.has_value());
    RC_ASSERT(t.sink.all.size() == utils.size());
    for (std::size_t i = 0; i < utils.size(); ++i) {
      RC_ASSERT(t.sink.all[i].Get(Signal::kUtilization) == utils[i] * kPercent);
      RC_ASSERT(t.sink.all[i].Get(Signal::kPower) == static_cast<std::int64_t>(i) * 1000 + 250);
      RC_ASSERT(t.devices[t.sink.all[i].device].index == static_cast<int>(i) % gpus);
    }
  });
}

}  // namespace
}  // namespace idleburn
