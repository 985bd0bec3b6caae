// What is not a good recording: each case ends with one clear line and exit code 1 or 2, or is audited with a counted
// row of data quality. Never a crash, a hang, or a silently wrong number.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn {
namespace {

using nlohmann::json;
using testing::AuditJsonOf;
using testing::MustRunTool;
using testing::ProgramRun;
using testing::RunIdleburn;
using testing::TempFolder;

const std::string kHeader = "timestamp, index, name, utilization.gpu [%], power.draw [W], memory.used [MiB]\n";

const std::string kCells = "50 %, 300.00 W, 20000 MiB";
const std::string kName = "NVIDIA H100 80GB HBM3";

// Rows of one GPU, a second apart from 10:00:00.
std::string Rows(int count, const std::string& cells = kCells, const std::string& name = kName, int from = 0) {
  std::string text;
  for (int i = from; i < from + count; ++i) {
    std::array<char, 40> stamp{};
    std::snprintf(stamp.data(), stamp.size(), "2026/03/02 %02d:%02d:%02d.000", 10 + i / 3600, i / 60 % 60, i % 60);
    text += std::string(stamp.data()) + ", 0, " + name + ", " + cells + "\n";
  }
  return text;
}

class BadInput : public ::testing::Test {
 protected:
  // One line on standard error that says `what`, nothing on standard output, and the code.
  void ExpectRefused(const std::string& arguments, const std::string& what, int code = 1) {
    const ProgramRun run = RunIdleburn("audit " + arguments);
    EXPECT_EQ(run.code, code) << arguments << "\n" << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.err.rfind("idleburn: ", 0), 0U) << run.err;
    EXPECT_NE(run.err.find(what), std::string::npos) << run.err << "lacks: " << what;
    EXPECT_EQ(run.out, "") << arguments;
  }
  std::string Write(const std::string& name, const std::string& text) { return folder_.Write(name, text); }
  // The count of a data-quality row of an audit that went through.
  static std::int64_t Doubt(const json& audit, const std::string& id) {
    for (const json& row : audit["data_quality"]) {
      if (row["id"] == id) return row["count"].get<std::int64_t>();
    }
    return 0;
  }

  TempFolder folder_;
};

TEST_F(BadInput, FilesThatAreNone) {
  ExpectRefused(Write("empty.csv", "") + " --price 2", "empty.csv: is empty");
  std::mt19937 random(7);
  std::string junk(200'000, '\0');
  for (char& c : junk) c = static_cast<char>(random());
  ExpectRefused(Write("junk.bin", junk), "junk.bin: is binary data in an unknown format");
  ExpectRefused("/bin/true", "/bin/true: is binary data");
  ExpectRefused(folder_.path().string(), "no file in a known format");
  ExpectRefused("no_such_file.csv", "no_such_file.csv: cannot be opened: No such file or directory; check the path");
  ExpectRefused(Write("prose.txt", "hello\nworld\n"), "prose.txt: is text in an unknown format");
  ExpectRefused(Write("header.csv", kHeader), "header.csv: has a header but no rows");
  ExpectRefused(Write("torn.csv", kHeader + "2026/03/02 10:00:0"), "torn.csv: has a header but no rows");
}

TEST_F(BadInput, AFileThatMayNotBeRead) {
  const std::string file = Write("secret.csv", kHeader + Rows(10));
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  if (getuid() != 0) {
    ExpectRefused(file, "cannot be opened: Permission denied; ask its owner");
    return;
  }
  // Root may read everything, so the program is run as nobody, from a place nobody may enter.
  const std::string program = Write("idleburn", testing::ProgramBytes());
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  const ProgramRun run = testing::RunShell("setpriv --reuid 65534 --clear-groups " + program + " audit " + file);
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_NE(run.err.find("secret.csv: cannot be opened: Permission denied; ask its owner"), std::string::npos)
      << run.err;
}

TEST_F(BadInput, CutCompressedFilesAreAuditedUpToThere) {
  const std::string whole = Write("whole.csv", kHeader + Rows(3000));
  for (const std::string tool : {"gzip", "xz", "zstd"}) {
    const std::string cut = (folder_.path() / ("cut." + tool)).string();
    MustRunTool(tool + " -c " + whole + " > " + cut + ".all && head -c $(( $(stat -c %s " + cut + ".all) * 3 / 4 )) " +
                cut + ".all > " + cut);
    const json audit = AuditJsonOf(cut + " --price 2");
    EXPECT_EQ(Doubt(audit, "truncated_input"), 1) << tool;
    EXPECT_GT(audit["gpu_hours"]["observed"].get<double>(), 0) << tool;
    EXPECT_LT(audit["gpu_hours"]["observed"].get<double>(), 2999 / 3600.0) << tool;
    ExpectRefused(Write("head." + tool, testing::ReadText(cut).substr(0, 6)), "cut off before the first byte");
  }
  // Only the header is left, of whatever format: it is the copy that is at fault and not the recorder.
  for (const std::string& header : {kHeader, std::string("<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n")}) {
    const std::string cut = (folder_.path() / "header.gz").string();
    MustRunTool("gzip -c " + Write("header", header) + " | head -c -8 > " + cut);
    ExpectRefused(cut, "header.gz: its compressed data is cut off; copy the file again (the part that is left: ");
  }
}

// A good log, of which the first 20 rows are read, and then one row again and again: 1.2 GB of it in some kilobytes.
TEST_F(BadInput, ADecompressionBombIsRefused) {
  const std::string head = Write("head", kHeader + Rows(20));
  const std::string row = Write("row", Rows(1, kCells, kName, 20));
  const std::string log = Write("small.csv.zst", "");
  const std::string bomb = Write("bomb.csv.zst", "");
  const auto pack = [&](const std::string& bytes, const std::string& into) {
    MustRunTool("(cat " + head + "; yes \"$(cat " + row + ")\" | head -c " + bytes + ") | zstd -q > " + into);
  };
  pack("1000000", log);
  EXPECT_NEAR(AuditJsonOf(log + " --price 2")["gpu_hours"]["observed"].get<double>(), 20 / 3600.0, 1e-9);
  pack("1200000000", bomb);
  ASSERT_LT(std::filesystem::file_size(bomb), 1'000'000U);
  ExpectRefused(bomb + " --price 2",
                "bomb.csv.zst: unpacks to more than 1000 times its size, which looks like a decompression bomb");
}

TEST_F(BadInput, ColumnsAndLinesOutOfShape) {
  ExpectRefused(
      Write("changes.csv", kHeader + Rows(20) + "timestamp, index, power.draw [W]\n2026/03/02 11:00:00.000, 0, 5 W\n"),
      "changes.csv:22: the columns change here");
  ExpectRefused(Write("appended.csv", kHeader + Rows(20) + Rows(20, kCells + ", 1980 MHz", kName, 20)),
                "appended.csv:22: the columns change here without a header");
  std::string wide = "timestamp";
  for (int i = 0; i < 1'000'000; ++i) wide += ",x";
  ExpectRefused(Write("wide.csv", wide + "\n1\n"), "wide.csv: is text in an unknown format");
  ExpectRefused(Write("wide_row.csv", kHeader + wide + "\n"), "wide_row.csv:2: a line is longer than");
  ExpectRefused(Write("long.csv", kHeader + std::string(50'000'000, '5')), "long.csv:2: a line is longer than");
}

TEST_F(BadInput, ImpossibleReadingsAreUnobservedAndCounted) {
  for (const std::string cell : {"300 %", "-7 %", "1e30 %"}) {
    const json audit = AuditJsonOf(
        Write("range.csv", kHeader + Rows(60) + Rows(60, cell + ", 300.00 W, 20000 MiB", kName, 60)) + " --price 2");
    EXPECT_EQ(Doubt(audit, "out_of_range"), 60) << cell;
    EXPECT_NEAR(audit["mean_utilization_percent"].get<double>(), 50, 1e-9) << cell;
    EXPECT_NEAR(audit["gpu_hours"]["unobserved"].get<double>(), 59 / 3600.0, 1e-9) << cell;
  }
  for (const std::string cell : {"nan", "inf %"}) {
    const json audit =
        AuditJsonOf(Write("nan.csv", kHeader + Rows(60) + Rows(60, cell + ", 300.00 W, 20000 MiB", kName, 60)));
    EXPECT_EQ(Doubt(audit, "not_finite"), 60) << cell;
    EXPECT_NEAR(audit["mean_utilization_percent"].get<double>(), 50, 1e-9) << cell;
  }
}

TEST_F(BadInput, ClocksAndRepeats) {
  const json back =
      AuditJsonOf(Write("back.csv", kHeader + Rows(600, kCells, kName, 3600) + Rows(600)) + " --price 3.6");
  EXPECT_EQ(Doubt(back, "clock_step"), 1);
  EXPECT_NEAR(back["gpu_hours"]["window"].get<double>(), 1199 / 3600.0, 1e-9);
  EXPECT_EQ(back["cost"]["total"], "1.20");
  const json twice = AuditJsonOf(Write("twice.csv", kHeader + Rows(300) + Rows(1, "99 %, 1 W, 1 MiB", kName, 299)));
  EXPECT_EQ(Doubt(twice, "duplicate_row"), 1);
  EXPECT_NEAR(twice["mean_utilization_percent"].get<double>(), 50, 1e-9);
  ExpectRefused(Write("ages.csv", kHeader + "1500/01/01 00:00:00.000, 0, G, 5 %, 1 W, 1 MiB\n"),
                "its time '1500/01/01 00:00:00.000' differs from nvidia-smi's form");
}

double WindowSeconds(const json& audit) { return audit["gpu_hours"]["window"].get<double>() * 3600; }

// What no clock explains: pieces of a log in another order than they were written, and a log put behind itself.
TEST_F(BadInput, PiecesOutOfOrder) {
  const auto piece = [](int k) { return kHeader + Rows(300, kCells, kName, 300 * k); };
  const std::string glued = piece(0) + piece(2) + piece(1) + piece(3);
  ExpectRefused(Write("glued.csv", glued),
                "glued.csv: the row of 2026-03-02T10:05:00Z follows later rows and lies in a gap between them; give "
                "pieces of a log as separate files");
  ExpectRefused(Write("rotated.csv", piece(0) + piece(3) + piece(1) + piece(2)), "lies in a gap");
  std::string order = "0123";
  do {
    std::string files;
    for (int k = 0; k < 4; ++k) {
      files += Write(std::string(1, order[static_cast<std::size_t>(k)]) + ".csv", piece(k)) + " ";
    }
    EXPECT_NEAR(WindowSeconds(AuditJsonOf(files)), 1199, 1e-6) << order;
  } while (std::next_permutation(order.begin(), order.end()) && order[0] < '2');
  // Beside another file the rows are sorted anyway.
  const std::string power =
      "timestamp, index, name, power.limit [W]\n2026/03/02 10:00:00.000, 0, " + kName + ", 700 W\n";
  EXPECT_NEAR(WindowSeconds(AuditJsonOf(Write("glued.csv", glued) + " " + Write("limit.csv", power))), 1199, 1e-6);
  const json twice = AuditJsonOf(Write("twice.csv", kHeader + Rows(1199) + kHeader + Rows(1199)));
  EXPECT_NEAR(WindowSeconds(twice), 1198, 1e-6);
  EXPECT_EQ(Doubt(twice, "duplicate_row"), 1199);
  EXPECT_EQ(Doubt(twice, "clock_step"), 0);
}

// A clock that was wrong for a moment: the rest is billed as it was.
TEST_F(BadInput, AMomentaryStepOfTheClock) {
  std::string yesterday = Rows(1, kCells, kName, 300);
  yesterday.replace(yesterday.find("/02"), 3, "/01");
  const json audit = AuditJsonOf(Write("day.csv", kHeader + Rows(300) + yesterday + Rows(299, kCells, kName, 301)));
  EXPECT_NEAR(WindowSeconds(audit), 599, 1e-6);
  EXPECT_EQ(Doubt(audit, "clock_step"), 2);
}

// A table with a row for each reading, as long formats have it, in either order.
TEST_F(BadInput, ARowForEachReading) {
  for (const bool power_first : {false, true}) {
    std::string rows;
    for (int s = 0; s < 600; ++s) {
      const std::string start = std::to_string(1'772'445'600 + s) + ",0,";
      rows += power_first ? start + ",300\n" + start + "95,\n" : start + "95,\n" + start + ",300\n";
    }
    const json audit = AuditJsonOf(Write("long.csv", "timestamp,gpu,util,power\n" + rows) +
                                   " --columns time=timestamp,gpu=gpu,util=util,power=power");
    EXPECT_NEAR(audit["gpu_hours"]["observed"].get<double>() * 3600, 599, 1e-6);
    EXPECT_NEAR(audit["mean_utilization_percent"].get<double>(), 95, 1e-9);
    EXPECT_NEAR(audit["energy_kwh"].get<double>(), 0.3 * 599 / 3600, 1e-6);
  }
}

// Newest first, as databases export: nearly every row would be dropped as older than the one before it.
TEST_F(BadInput, RowsThatRunBackwardsAreRefused) {
  std::string rows;
  for (int i = 99; i >= 0; --i) rows += Rows(1, kCells, kName, i);
  ExpectRefused(Write("newest.csv", kHeader + rows), "newest.csv: most rows are older than the row before");
  // Through --columns they are sorted.
  const json sorted = AuditJsonOf(folder_.Write("other.csv", kHeader + rows) +
                                  " --columns 'time=timestamp,gpu=index,util=utilization.gpu [%]'");
  EXPECT_NEAR(sorted["gpu_hours"]["observed"].get<double>(), 99 / 3600.0, 1e-9);
}

// A clock that was set only after some rows, and a row with a broken date: 56 years would be priced, and 9.
TEST_F(BadInput, YearsThatNobodySawAreNotPriced) {
  const std::string cells = ", 0, " + kName + ", " + kCells + "\n";
  const std::string early = "1970/01/01 00:00:0";
  std::string rows;
  for (int i = 0; i < 9; ++i) rows += early + std::to_string(i) + ".000" + cells;
  ExpectRefused(
      Write("unset.csv", kHeader + rows + Rows(100)) + " --price 8",
      "unset.csv: its times, from 1970-01-01T00:00:00Z to 2026-03-02T10:01:39Z, have a gap of more than a year");
  ExpectRefused(Write("odd.csv", kHeader + Rows(100) + "2036/01/01 00:00:00.000" + cells),
                "have a gap of more than a year");
  // Months apart are two runs; what is named as rented is billed, without readings too.
  const std::string june = Write("june.csv", kHeader + Rows(20) + "2026/06/02 10:00:00.000" + cells);
  EXPECT_EQ(AuditJsonOf(june)["runs"].size(), 2U);
  const json months = AuditJsonOf(june + " --window 2026-03-02T10:00:00Z..2026-06-02T10:00:00Z");
  EXPECT_NEAR(months["unobserved"]["gpu_hours"].get<double>(), 92 * 24 - 21.5 / 3600, 1e-6);
}

// The hour that the end of daylight saving repeats, in a log of one row an hour: which pass a row is of cannot be told
// by order. What is lost is counted.
TEST_F(BadInput, AnHourlyLogInARepeatedHourSaysWhatItLost) {
  std::string rows;
  for (const char* stamp : {"24 23", "25 00", "25 01", "25 02", "25 02", "25 03", "25 04"}) {
    rows += "2026/10/" + std::string(stamp) + ":00:00.000, 0, G, 50 %, 1 W, 1 MiB\n";
  }
  const json audit = AuditJsonOf(Write("hours.csv", kHeader + rows) + " --timezone Europe/Berlin");
  EXPECT_EQ(Doubt(audit, "timezone_ambiguous"), 2);
  EXPECT_EQ(Doubt(audit, "duplicate_row"), 1);
  EXPECT_NEAR(audit["gpu_hours"]["observed"].get<double>(), 6, 1e-9);  // 21:00 to 03:00 UTC
}

// Without uuid or bus id nobody can tell which GPU fell off the bus, and which one has its index now.
TEST_F(BadInput, AnIndexThatMayMeanTwoGpusIsRefused) {
  const auto sweeps = [](int from, int to, int gpus) {
    std::string text;
    for (int i = from; i < to; ++i) {
      const std::string stamp = Rows(1, "", "", i).substr(0, 23);
      for (int gpu = 0; gpu < gpus; ++gpu) text += stamp + ", " + std::to_string(gpu) + ", G, 50 %, 300.00 W, 9 MiB\n";
    }
    return text;
  };
  const std::string log = kHeader + sweeps(0, 60, 8) + sweeps(60, 120, 7);
  ExpectRefused(Write("lost.csv", log) + " --price 2", "lost.csv:482: GPU 7 is missing from the rows from here on");
  ExpectRefused(Write("came.csv", kHeader + sweeps(0, 60, 7) + sweeps(60, 120, 8)),
                "came.csv:429: GPU 7 is missing from the rows before");
  const json whole = AuditJsonOf(Write("whole.csv", kHeader + sweeps(0, 60, 8)));
  EXPECT_EQ(whole["per_gpu"].size(), 8U);
}

TEST_F(BadInput, WhatIsGivenInPlaceOfALogIsSaid) {
  ExpectRefused(Write("table.txt", "+---+\n| NVIDIA-SMI 590.48.01     Driver Version: 590.48.01 |\n"),
                "is nvidia-smi's human-readable output; record nvidia-smi --query-gpu");
  ExpectRefused(Write("failed.csv", "NVIDIA-SMI has failed because it couldn't communicate with the driver.\n"),
                "nothing was recorded");
  // An archive of a log begins with its name, then the log: without the archive's end it reads like one.
  const std::string log = Write("gpu.csv", kHeader + Rows(60));
  MustRunTool("tar czf " + log + ".tgz -C " + folder_.path().string() + " gpu.csv");
  ExpectRefused(log + ".tgz", "is a tar archive; unpack it");
  const std::string bare = Write("noheader.csv", Rows(60, "50 %", "G"));
  ExpectRefused(bare, "--columns time=#1,gpu=#2,util=#3");
  EXPECT_NEAR(AuditJsonOf(bare + " --columns time=#1,gpu=#2,util=#4")["mean_utilization_percent"].get<double>(), 50,
              1e-9);
  const json talk = AuditJsonOf(Write("nohup.csv", "nohup: ignoring input\n" + kHeader + Rows(60)));
  EXPECT_EQ(Doubt(talk, "bad_row"), 1);
  EXPECT_NEAR(talk["gpu_hours"]["observed"].get<double>(), 59 / 3600.0, 1e-9);
}

// What `nvidia-smi ... > log.csv` leaves in Windows PowerShell.
TEST_F(BadInput, ALogInUtf16IsRead) {
  const json plain = AuditJsonOf(Write("utf8.csv", kHeader + Rows(300)));
  std::string wide = "\xFF\xFE";
  for (const char c : kHeader + Rows(300)) {
    if (c == '\n') wide.append("\r\0", 2);
    wide.append({c, '\0'});
  }
  const json read = AuditJsonOf(Write("utf16.csv", wide));
  EXPECT_EQ(read["phases"], plain["phases"]);
  EXPECT_EQ(read["energy_kwh"], plain["energy_kwh"]);
  EXPECT_EQ(read["per_gpu"][0]["name"], kName);
}

TEST_F(BadInput, PricesAndGpusNobodyKnows) {
  const std::string log = Write("log.csv", kHeader + Rows(100, "50 %, 1 W, 1 MiB", "Voodoo 5 6000"));
  ExpectRefused(log + " --price=-1", "'-1' is negative", 2);
  for (const std::string price : {"1e30", "nan", "'8 dollars'", "aws:p5.48xlage@us-east-1"})
    ExpectRefused(log + " --price " + price, "--price", 2);
  ExpectRefused(log + " --price 9000000000000", "too large", 2);
  ExpectRefused(Write("long.csv", kHeader + Rows(4000)) + " --price 9000000000", "--price 9000000000: ", 1);
  const json dear = AuditJsonOf(log + " --price 9000000000");  // the year is beyond all money, the 100 s are not
  EXPECT_EQ(dear["cost"]["hourly"], "9000000000.00");
  EXPECT_EQ(dear["cost"]["yearly_reason"], "beyond_range");
  for (const std::string currency : {"eur", "XYZ"})
    ExpectRefused(log + " --price 2 --currency " + currency, "three capital letters", 2);
  // A script's unset variable is no price, and no "none given" either.
  for (const std::string empty : {"--price ''", "--price=", "--price 2 --currency ''", "--owned ''", "-o ''"})
    ExpectRefused(log + " " + empty, "has an empty value", 2);
  const ProgramRun part = RunIdleburn("prices list --gpu h100");
  EXPECT_EQ(part.code, 1);
  EXPECT_EQ(part.out, "");
  EXPECT_EQ(part.err, "idleburn: prices: 'h100' matches several products: say H100-80GB-SXM, H100-94GB-NVL\n");
  const ProgramRun family = RunIdleburn("prices list --gpu 'Tesla V100'");
  EXPECT_EQ(family.code, 1) << family.out;
  EXPECT_EQ(
      family.err,
      "idleburn: prices: 'Tesla V100' matches several products: say V100-16GB-PCIe, V100-16GB-SXM, V100-32GB-SXM\n");
  const json audit = AuditJsonOf(log);
  EXPECT_TRUE(audit["cost"]["total"].is_null());
  EXPECT_EQ(audit["cost"]["total_reason"], "no_price");
  const ProgramRun text = RunIdleburn("audit " + log);
  EXPECT_EQ(text.out.find('$'), std::string::npos) << text.out;
}

TEST_F(BadInput, HostileNamesDoNothing) {
  const std::string name = "=cmd|' /C calc'!A0 \x1b[31m<script>alert(1)</script>";
  const std::string log = Write("hostile.csv", kHeader + Rows(100, "50 %, 1 W, 1 MiB", name));
  for (const std::string format : {"text", "json", "html", "csv", "markdown"}) {
    const ProgramRun run = RunIdleburn("audit " + log + " --price 2 --format " + format);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out.find('\x1b'), std::string::npos) << format;
    if (format == "html") {
      EXPECT_EQ(run.out.find("<script>alert"), std::string::npos);
    }
    if (format == "csv") {
      EXPECT_EQ(run.out.find("\n="), std::string::npos);
      EXPECT_EQ(run.out.find(",="), std::string::npos);
    }
  }
  const ProgramRun refused = RunIdleburn("audit \"$(printf 'no\\033[31mfile')\"");
  EXPECT_EQ(refused.err.find('\x1b'), std::string::npos);
}

TEST_F(BadInput, OtherFormatsThatAreBroken) {
  ExpectRefused(Write("other.prom", "# TYPE up gauge\nup 1 1772445600000\n"), "no known GPU metric");
  ExpectRefused(Write("bad.json", "{\"MetricDataResults\": [{\"Label\": "), "bad.json");
  std::string bomb = "<?xml version=\"1.0\"?><!DOCTYPE nvidia_smi_log [<!ENTITY a \"aaaaaaaaaa\">";
  for (char c = 'b'; c < 'k'; ++c)
    bomb += std::string("<!ENTITY ") + c + " \"" +
            std::string(10, '&').replace(0, 10, "&" + std::string(1, static_cast<char>(c - 1)) + ";") + "\">";
  ExpectRefused(Write("bomb.xml", bomb + "]><nvidia_smi_log><gpu id=\"0\"><uuid>&j;</uuid></gpu></nvidia_smi_log>"),
                "bomb.xml");
}

TEST_F(BadInput, OutputsThatCannotBeWritten) {
  const std::string log = Write("log.csv", kHeader + Rows(100));
  ExpectRefused(log + " --price 2 -o /dev/full", "/dev/full: cannot be written: No space left on device");
  ExpectRefused(log + " --price 2 -o " + folder_.path().string() + "/missing/report.html",
                "cannot be written: No such file or directory");
  const ProgramRun full = testing::RunShell(std::string(IDLEBURN_PROGRAM) + " audit " + log + " --price 2 > /dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find("standard output cannot be written"), std::string::npos) << full.err;
}

TEST_F(BadInput, WordsThatAreWrong) {
  const std::string log = Write("log.csv", kHeader + Rows(100));
  ExpectRefused(log + " --prise 2", "unknown flag --prise; did you mean --price?", 2);
  ExpectRefused(log + " --format pdf", "--format", 2);
  ExpectRefused(log + " --fail-on 'wast>5'", "--fail-on", 2);
  ExpectRefused(log + " --work samples=-1", "--work", 2);
  ExpectRefused(log + " --timezone Mars/Olympus", "--timezone: unknown zone", 2);
  const std::string site = Write("site.toml", "[price]\nrate = \"-8\"\n");
  const ProgramRun wrong = RunIdleburn("config validate --config " + site);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("site.toml:2: '-8' is negative"), std::string::npos) << wrong.err;
  const ProgramRun nowhere =
      RunIdleburn("config validate --config " + Write("z.toml", "[import]\ntimezone=\"Mars\"\n"));
  EXPECT_NE(nowhere.err.find("z.toml:2: unknown zone 'Mars'"), std::string::npos) << nowhere.err;
  const ProgramRun unknown = RunIdleburn("adit " + log);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean audit?"), std::string::npos);
}

TEST_F(BadInput, GatesEndWithThreeAndTheReportIsStillWritten) {
  const std::string log = Write("log.csv", kHeader + Rows(3601));
  const ProgramRun waste = RunIdleburn("audit " + log + " --price 2 --fail-on 'waste>20' --fail-on 'cost>5'");
  EXPECT_EQ(waste.code, 3);
  EXPECT_NE(waste.err.find("waste is 50.0 %"), std::string::npos) << waste.err;
  EXPECT_FALSE(waste.out.empty());
  EXPECT_EQ(RunIdleburn("audit " + log + " --price 2 --fail-on 'waste>50' --fail-on 'cost>2'").code, 0);
  EXPECT_EQ(RunIdleburn("audit " + log + " --price 2 --fail-on 'cost>1.99'").code, 3);
}

}  // namespace
}  // namespace idleburn
