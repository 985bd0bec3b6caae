// `idleburn run` when something is wrong: the workload, the driver, the disk, the command line.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "places.h"
#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/recorded_log.h"
#include "support/stall_watch.h"
#include "telemetry/run_facts.h"
#include "text/time_zone.h"

namespace idleburn::testing {
namespace {

using nlohmann::json;

const std::string kPriced = "--price 3600 --format json -o $F/live --recording $F/kept.idleburn ";

// What a program prints on each stream is there, whole, on its own stream; ours comes after it on standard error.
TEST(RunOutputTest, BothStreamsAreThoseOfTheCommand) {
  const LiveMachine machine("gpu 0\n");
  const std::string words =
      "python3 -c 'import os, random; r = random.Random(5); "
      "[os.write(1 + (i % 4 == 0), r.randbytes(r.randrange(1, 9000))) for i in range(400)]; os._exit(6)'";
  const ProgramRun without = machine.Run(words);
  ASSERT_GT(without.out.size(), 1'000'000U);
  for (const std::string flags : {"", "--plain "}) {
    const ProgramRun with = machine.Run("$I run --no-recording -o $F/report " + flags + "-- " + words);
    EXPECT_EQ(with.code, 6);
    EXPECT_TRUE(with.out == without.out);
    ASSERT_TRUE(with.err.substr(0, without.err.size()) == without.err);
    const std::string ours = with.err.substr(without.err.size());
    EXPECT_EQ(LinesWith(ours, "idleburn: "), std::count(ours.begin(), ours.end(), '\n'));
    EXPECT_EQ(LinesWith(ours, "the command ended with exit 6"), 1);
  }
  EXPECT_FALSE(std::filesystem::exists(machine.Path("data/idleburn/recordings")));
}

// Without standard descriptors, as some daemons start programs: the command finds them closed as without us, and no
// file of ours gets their numbers and with them our messages.
TEST(RunOutputTest, ClosedDescriptorsStayClosedAndTheRecordingIsWhole) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=50\n");
  const std::string command = "sh -c 'read x; echo out || exit 4; echo err >&2 || exit 5; sleep 1.2; exit 6' ";
  const auto audited = [&](const char* recording) {
    return Seconds(machine.Audit(recording, "--price 2")["gpu_hours"]["window"]);
  };
  for (int closed = 0; closed < 8; ++closed) {
    const std::string so =
        std::string(closed & 1 ? "<&- " : "</dev/null ") + (closed & 2 ? ">&- " : "") + (closed & 4 ? "2>&- " : "");
    const ProgramRun run = machine.Run("cd $F; rm -f *.idleburn; (" + command + ") " + so + "; echo $? >native; " +
                                       "($I run --recording run.idleburn -- " + command + ") " + so +
                                       "; echo $? >ours; ($I record --for 1s -o rec.idleburn) " + so + "; echo $?>rec");
    EXPECT_EQ(ReadText(machine.Path("ours")), ReadText(machine.Path("native"))) << so << run.err;
    EXPECT_EQ(ReadText(machine.Path("rec")), closed & 2 ? "1\n" : "0\n") << so;  // its report has nowhere to go
    EXPECT_GT(audited("run.idleburn"), 0) << so;
    EXPECT_GE(audited("rec.idleburn"), 1) << so;
  }
}

TEST(RunEndTest, AQuietRunSaysOnlyWhatIsWrong) {
  const LiveMachine machine("gpu 0\n");
  const std::string quiet = "$I run --quiet --price 2 --recording ";
  const ProgramRun run = machine.Run(quiet + "$F/a.idleburn -- sh -c 'echo theirs >&2; sleep 1.2'");
  EXPECT_EQ(run.err, "theirs\n");
  EXPECT_TRUE(std::filesystem::exists(machine.Path("a.idleburn")));
  const ProgramRun gated = machine.Run(quiet + "$F/a.idleburn --fail-on 'waste>20' -o $F/report -- sleep 1.2");
  EXPECT_EQ(gated.code, 3);
  EXPECT_EQ(std::count(gated.err.begin(), gated.err.end(), '\n'), 2) << gated.err;
  EXPECT_EQ(LinesWith(gated.err, "idleburn: --fail-on waste>20: waste is 100.0 %"), 1);
  EXPECT_EQ(LinesWith(gated.err, "a.idleburn: already exists"), 1);
  EXPECT_EQ(ReadText(machine.Path("report")).rfind("You paid ", 0), 0U);
}

TEST(RunEndTest, AKilledCommandIsToldWithItsSignal) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run("$I run -- sh -c 'sleep 0.3; kill -9 $$'");
  EXPECT_EQ(run.code, 137);
  EXPECT_EQ(LinesWith(run.err, "idleburn: the command ended with signal 9 (SIGKILL)"), 1);
}

// Nothing is started and nothing is kept.
TEST(RunEndTest, WhatCannotStartIsOneLine) {
  const LiveMachine machine("gpu 0\n");
  const std::string data = machine.Path("gpus");
  const struct {
    std::string words;
    int code;
    std::string line;
  } cases[] = {
      {"$I run -- no-such-command-here", 127, "no-such-command-here: command not found"},
      {"$I run -- " + data, 126, data + ": no permission to execute it"},
      {"$I run", 2, "run: no command; put it after two dashes"},
      {"$I run --", 2, "run: no command; put it after two dashes"},
      {"$I run touch $F/started --price 3", 2, "run: --price may belong to idleburn or to the command; put"},
      {"$I run --prise 3 -- touch $F/started", 2, "run: unknown flag --prise; did you mean --price?"},
      {"$I run --price dear -- touch $F/started", 2, "--price: 'dear' is not a decimal number"},
      {"$I run --price aws:none@mars -- touch $F/started", 2, "--price: 'aws:none@mars' is not in the price catalogue"},
      {"$I run --owned cars=3 -- touch $F/started", 2, "--owned: 'cars=3'"},
      {"$I run --prices /proc/no/such/file -- touch $F/started", 1, "/proc/no/such/file: cannot be opened"},
      {"$I run --fail-on luck>1 -- touch $F/started", 2, "--fail-on: 'luck"},
      {"$I run --format pdf -- touch $F/started", 2, "--format is text, json, html, csv or markdown, not 'pdf'"},
      {"$I run --work naps=1 -- touch $F/started", 2, "--work: 'naps=1'"},
      {"$I run --hz 0 -- touch $F/started", 2, "--hz: '0' is not a rate from 1 to 100"},
      {"$I record --for ever", 2, "--for: 'ever' is not a span of time"},
      {"$I record --for 1s --price dear", 2, "--price: 'dear' is not a decimal number"},
  };
  for (const auto& c : cases) {
    const ProgramRun run = machine.Run(c.words);
    EXPECT_EQ(run.code, c.code) << c.words;
    EXPECT_EQ(run.err.substr(0, 10 + c.line.size()), "idleburn: " + c.line) << c.words;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
  const ProgramRun kept = machine.Run("find $XDG_DATA_HOME -type f");
  EXPECT_EQ(kept.out, "");
}

// A gate turns 0 into 3 and no other code into anything.
TEST(RunEndTest, GatesTurnOnlySuccessIntoFailure) {
  const LiveMachine machine("gpu 0\n");
  const auto code = [&](const std::string& gate, const std::string& command) {
    return machine.Begin("$I run --no-recording --price 2 --fail-on '" + gate + "' -- sh -c 'sleep 2.5; " + command +
                         "'");
  };
  auto broken = code("waste>20", "true");
  auto broken_too = code("waste>20", "exit 5");
  auto held = code("cost>9", "true");
  const ProgramRun end = broken.get();
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(LinesWith(end.err, "idleburn: --fail-on waste>20: waste is 100.0 % of observed time"), 1);
  EXPECT_EQ(broken_too.get().code, 5);
  EXPECT_EQ(held.get().code, 0);
}

// The command's code is the command's, and a gate is judged whether or not the report found its place.
TEST(RunEndTest, AReportThatCannotBeWrittenIsSaidAndTheRecordingIsNamed) {
  const LiveMachine machine("gpu 0\n");
  const std::string lost = "mkdir $F/gone; $I run -o $F/gone/report --no-recording ";
  EXPECT_EQ(machine.Run(lost + "-- sh -c 'rmdir $F/gone; sleep 1.2; exit 4'").code, 4);
  const ProgramRun gated = machine.Run(lost + "--fail-on 'waste>20' -- sh -c 'rmdir $F/gone; sleep 1.2'");
  EXPECT_EQ(gated.code, 3);
  EXPECT_EQ(LinesWith(gated.err, "idleburn: --fail-on waste>20: waste is 100.0 %"), 1) << gated.err;
  EXPECT_EQ(LinesWith(gated.err, "idleburn: " + machine.Path("gone/report") + ": cannot be written"), 1);
  const ProgramRun run = machine.Run(
      "mkdir $F/gone; $I run -o $F/gone/report --recording $F/kept.idleburn -- sh -c 'rmdir $F/gone; sleep 0.4'");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(LinesWith(run.err, "idleburn: " + machine.Path("gone/report") + ": cannot be written"), 1);
  EXPECT_EQ(LinesWith(run.err, "idleburn: recording: " + machine.Path("kept.idleburn")), 1);
}

TEST(RunEndTest, AReportWithoutAFolderOrAFormIsRefusedBeforeTheStart) {
  const LiveMachine machine("gpu 0\n");
  for (const char* output : {"/proc/no/such/folder/report.html", "$F/report.pdf"}) {
    const ProgramRun run = machine.Run(std::string("$I run -o ") + output + " --no-recording -- touch $F/started");
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  }
  EXPECT_FALSE(std::filesystem::exists(machine.Path("started")));
}

// As on a machine that has a driver: by the name it is installed under.
TEST(RunLibraryTest, IsFoundByItsOwnName) {
  const LiveMachine machine("gpu 0 name=Of_the_stand-in\nat 0s gpu 0 util=70\n");
  const ProgramRun run = machine.Run("unset IDLEBURN_NVML_LIBRARY; LD_LIBRARY_PATH=$(dirname " IDLEBURN_STANDIN
                                     ") $I run --price 3600 --format json -o $F/live --no-recording -- sleep 1.5");
  EXPECT_EQ(run.code, 0) << run.err;
  const json live = machine.Json("live");
  ASSERT_EQ(live["per_gpu"].size(), 1U) << run.err;
  EXPECT_EQ(live["per_gpu"][0]["name"], "Of_the_stand-in");
  EXPECT_GT(live["gpu_hours"]["observed"], 0);
  const ProgramRun doctor =
      machine.Run("unset IDLEBURN_NVML_LIBRARY; LD_LIBRARY_PATH=$(dirname " IDLEBURN_STANDIN ") $I doctor --price 2");
  EXPECT_NE(doctor.out.find("libnvidia-ml.so.1: has "), std::string::npos) << doctor.out;
}

TEST(RunNoGpuTest, OneLineSaysSoAndTheHostIsReported) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run =
      machine.Run(kNoGpu + std::string("$I run --recording $F/k -- sh -c 'echo out; sleep 0.6; exit 4'"));
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(run.out, "out\n");
  EXPECT_EQ(LinesWith(run.err, "Ran "), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "No GPU was measured: "), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "why   the job used "), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "the machine used "), 1) << run.err;
  EXPECT_TRUE(std::filesystem::exists(machine.Path("k")));
}

// A driver that was upgraded under its kernel module: one line says what and what to do, and the command runs.
TEST(RunNoGpuTest, ALibraryOfAnotherVersionThanTheDriverIsSaidInOneLine) {
  const LiveMachine machine("gpu 0\nfail nvmlInit_v2 18\n");
  const ProgramRun run = machine.Run("$I run --no-recording -- sh -c 'echo out; sleep 0.3; exit 4'");
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(run.out, "out\n");
  EXPECT_EQ(LinesWith(run.err, "No GPU was measured: "), 1) << run.err;
  EXPECT_EQ(LinesWith(run.err, "NVML says 18: the driver was upgraded and its kernel module was not: reboot"), 1);
}

// A gate that nothing can be judged by does not pass in silence, and turns no other code into its own.
TEST(RunNoGpuTest, GatesThatCannotBeJudgedDoNotHold) {
  const LiveMachine machine("gpu 0\n");
  const std::string gates = "--no-recording --fail-on 'waste>20' --fail-on 'cost>9' --fail-on 'unobserved>5' ";
  const ProgramRun run = machine.Run(kNoGpu + std::string("$I run ") + gates + "-- sleep 0.3");
  EXPECT_EQ(run.code, 3);
  for (const char* gate : {"waste>20", "cost>9", "unobserved>5"}) {
    EXPECT_EQ(LinesWith(run.err, std::string("idleburn: --fail-on ") + gate + ": not judged: no GPU was measured"), 1)
        << run.err;
  }
  EXPECT_EQ(machine.Run(kNoGpu + std::string("$I run ") + gates + "-- sh -c 'exit 5'").code, 5);
  EXPECT_EQ(machine.Run(kNoGpu + std::string("$I record --for 1s -o $F/k --fail-on 'waste>20'")).code, 3);
  const LiveMachine blind("gpu 0 gpm=0\nfail nvmlDeviceGetSamples 3\nfail nvmlDeviceGetUtilizationRates 3\n");
  const ProgramRun unseen = blind.Run("$I run --no-recording --price 2 --fail-on 'waste>20' -- sleep 1.5");
  EXPECT_EQ(unseen.code, 3);
  EXPECT_EQ(LinesWith(unseen.err, "--fail-on waste>20: not judged: no time was observed"), 1) << unseen.err;
}

// In every form, with what is known: the host, and how the command ended.
TEST(RunNoGpuTest, AReportThatIsAskedForIsWritten) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run(kNoGpu + std::string("$I run --no-recording --price 2 --format json -o $F/live "
                                                          "-- sh -c 'sleep 0.6; exit 4'"));
  EXPECT_EQ(run.code, 4);
  const json live = machine.Json("live");
  EXPECT_EQ(live["schema"], "idleburn.audit/1");
  EXPECT_EQ(live["run"]["exit"], "exit 4");
  EXPECT_EQ(live["run"]["command"], "sh -c 'sleep 0.6; exit 4'");
  EXPECT_NE(live["run"]["no_gpu"].get<std::string>().find("/proc/no/such/library.so"), std::string::npos);
  EXPECT_GE(live["host"]["workload"]["watched_s"].get<double>(), 0.3);
  EXPECT_GE(live["host"]["machine"]["cpus"].get<int>(), 1);
  EXPECT_EQ(live["cost"]["total"], nullptr);
  EXPECT_EQ(live["cost"]["total_reason"], "nothing_measured");
  EXPECT_EQ(live["cost"]["rate_per_gpu_hour"], "2.00");
  EXPECT_EQ(live["window"]["start"], nullptr);
  EXPECT_EQ(live["per_gpu"], json::array());
  for (const std::string form : {"text", "html", "csv", "markdown"}) {
    const ProgramRun other =
        machine.Run(kNoGpu + ("$I run --no-recording --format " + form + " -o $F/" + form + " -- sleep 0.2"));
    EXPECT_EQ(other.code, 0) << other.err;
    const std::string text = ReadText(machine.Path(form));
    EXPECT_NE(text, "") << form;
    if (form != "csv") {
      EXPECT_NE(text.find("No GPU was measured: "), std::string::npos) << text;
    }
  }
}

// What the command cannot see is no part of what it cost; what is left may be nothing.
TEST(RunHiddenTest, ACommandThatSeesNoGpuHasNoCost) {
  const LiveMachine machine("gpu 0\ngpu 1\n");
  const ProgramRun run = machine.Run(
      "CUDA_VISIBLE_DEVICES= $I run --price 2 --format json -o $F/live --recording $F/k.idleburn -- sleep 1.2");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(
      LinesWith(run.err, "no GPU was measured: no GPU was visible to the command (an empty CUDA_VISIBLE_DEVICES)"), 1)
      << run.err;
  EXPECT_EQ(machine.Json("live")["cost"]["total_reason"], "nothing_measured");
  const ProgramRun audit = machine.Run("$I audit $F/k.idleburn");
  EXPECT_EQ(audit.code, 1);
  EXPECT_EQ(LinesWith(audit.err, "no GPU to audit: no GPU was visible to the command"), 1) << audit.err;
  EXPECT_EQ(machine.Audit("k.idleburn", "--all-gpus --price 2")["per_gpu"].size(), 2U);
  const ProgramRun all = machine.Run(
      "CUDA_VISIBLE_DEVICES= $I run --all-gpus --no-recording --price 2 --format json -o $F/all -- sleep 1.2");
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(machine.Json("all")["per_gpu"].size(), 2U);
}

TEST(RunHiddenTest, GpusAndInstancesAreSeenByUuid) {
  const std::string uuid = "GPU-5d0ca1e5-0000-4000-8000-00000000100";
  const LiveMachine machine("gpu 0 uuid=" + uuid + "0\ngpu 1 uuid=" + uuid + "1\ngpu 2 uuid=" + uuid + "2\n" +
                            "mig 2 gi=7 profile=1g.10gb slices=1\nmig 2 gi=2 profile=3g.40gb slices=3\n");
  const auto seen = [&](const std::string& list) {
    const ProgramRun run = machine.Run("CUDA_VISIBLE_DEVICES=" + list +
                                       " $I run --no-recording --price 7 --format json -o $F/live -- sleep 1.2");
    EXPECT_EQ(run.code, 0) << run.err;
    std::vector<std::string> names;
    const json live = machine.Json("live");
    for (const json& gpu : live["per_gpu"]) {
      names.push_back(std::to_string(gpu["index"].get<int>()) +
                      (gpu["mig"].is_null() ? "" : "/" + gpu["mig"]["id"].get<std::string>()));
    }
    return names;
  };
  EXPECT_EQ(seen(uuid + "1"), std::vector<std::string>{"1"});
  // The rest of its board is none of the command's.
  EXPECT_EQ(seen("MIG-" + uuid.substr(4) + "2-2"), std::vector<std::string>{"2/2"});
  EXPECT_EQ(seen("1," + uuid + "0").size(), 5U);  // a number among instances is nobody's for certain
  const json live = machine.Json("live");
  for (const json& row : live["data_quality"]) {
    if (row["id"] != "gpus_unclear") continue;
    EXPECT_NE(row["names"][0].get<std::string>().find("name them by UUID"), std::string::npos) << row;
  }
}

// A board cut in seven at 25,200 an hour: a slice is 1 a second. `hidden`: the driver opens none but the first.
std::string SevenSlices(bool hidden) {
  std::string script = "gpu 0\nat 0s gpu 0 power=600\n";
  for (const char* gi : {"7", "8", "9", "10", "11", "12", "13"}) {
    const bool first = std::string(gi) == "7";
    script += std::string("mig 0 profile=1g.10gb slices=1 gi=") + gi + (hidden && !first ? " hidden=1\n" : "\n") +
              "at 0s gpu 0/" + gi + " util=98\n";
  }
  return script;
}
constexpr const char* kFirstSlice = "CUDA_VISIBLE_DEVICES=MIG-5d0ca1e5-0000-4000-8000-000000001000-7 ";

// What a run on one slice of seven costs: that slice, whether the others are hidden from the command or from all here.
TEST(RunHiddenTest, AJobOnASlicePaysForThatSlice) {
  for (const bool hidden : {false, true}) {
    const LiveMachine machine(SevenSlices(hidden));
    const ProgramRun run =
        machine.Run(std::string(hidden ? "" : kFirstSlice) +
                    "$I run --price 25200 --format json -o $F/live --recording $F/kept.idleburn " + "-- sleep 3");
    EXPECT_EQ(run.code, 0) << run.err;
    const json live = machine.Json("live");
    const auto at = [&](const char* end) { return ParseRfc3339(live["window"][end].get<std::string>())->nanos(); };
    const double seconds = static_cast<double>(at("end") - at("start")) / 1e9;
    EXPECT_GT(seconds, 2.5);
    EXPECT_NEAR(std::stod(live["cost"]["total"].get<std::string>()), seconds, 0.011);
    EXPECT_NEAR(Seconds(live["gpu_hours"]["window"]), seconds / 7, 0.01);
    EXPECT_EQ(live["unallocated"]["gpu_hours"], 0);
    EXPECT_EQ(live["cost"]["hourly"], "3600.00");
    ASSERT_EQ(live["per_gpu"].size(), 1U);
    EXPECT_EQ(live["per_gpu"][0]["mig"]["id"], "7");
    std::string left_out;
    for (const json& row : live["data_quality"]) {
      if (row["id"] == "gpus_left_out") left_out = row["names"].dump();
    }
    EXPECT_NE(left_out.find("the rest of GPU 0"), std::string::npos) << left_out;
    EXPECT_NE(left_out.find(hidden ? "1 of 7 compute slices are visible here" : "GPU 0 MIG 1g.10gb #13"),
              std::string::npos)
        << left_out;
    EXPECT_EQ(machine.Audit("kept.idleburn", "--price 25200")["cost"]["total"], live["cost"]["total"]);
    const json all = machine.Audit("kept.idleburn", "--all-gpus --price 25200");
    EXPECT_NEAR(std::stod(all["cost"]["total"].get<std::string>()), 7 * seconds, 0.08);
    EXPECT_NEAR(Seconds(all["unallocated"]["gpu_hours"]), hidden ? seconds * 6 / 7 : 0, 0.02);
  }
}

// A budget is spent by the slice, not by the board: 4 s at 1 a second are within 6, and 2 are spent after 2 s.
TEST(RunHiddenTest, ABudgetCountsTheSliceOfTheJob) {
  const LiveMachine machine(SevenSlices(false));
  const std::string words = std::string(kFirstSlice) + "timeout 60 $I run --price 25200 --no-recording --enforce ";
  const ProgramRun within = machine.Run(words + "--budget 6 --format json -o $F/within -- sleep 4");
  EXPECT_EQ(within.code, 0) << within.err;
  EXPECT_TRUE(machine.Json("within")["run"]["alerts"].empty()) << machine.Json("within")["run"];
  const ProgramRun beyond = machine.Run(words + "--budget 2 --format json -o $F/beyond -- sleep 30");
  EXPECT_EQ(beyond.code, 143) << beyond.err;
  EXPECT_NEAR(std::stod(machine.Json("beyond")["cost"]["total"].get<std::string>()), 2, 1.5);
}

TEST(RunHiddenTest, WhatCannotBeToldIsSaidAndAllAreCounted) {
  const LiveMachine machine("gpu 0\ngpu 1 name=NVIDIA_A2\n");
  const auto audit = [&](const std::string& variables) {
    const ProgramRun run =
        machine.Run(variables + " CUDA_VISIBLE_DEVICES=0 $I run --no-recording --price 2 --format json " +
                    "-o $F/live -- sleep 1.2");
    EXPECT_EQ(run.code, 0) << run.err;
    return machine.Json("live");
  };
  const auto doubt = [](const json& live, const std::string& id) {
    for (const json& row : live["data_quality"]) {
      if (row["id"] == id) return row["names"][0].get<std::string>();
    }
    return std::string();
  };
  const json unclear = audit("");
  EXPECT_EQ(unclear["per_gpu"].size(), 2U);
  EXPECT_EQ(doubt(unclear, "gpus_unclear").find("CUDA_VISIBLE_DEVICES=0 counts the fastest GPU first"), 0U);
  EXPECT_EQ(doubt(unclear, "gpus_left_out"), "");
  const json clear = audit("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  EXPECT_EQ(clear["per_gpu"].size(), 1U);
  EXPECT_EQ(doubt(clear, "gpus_unclear"), "");
  EXPECT_EQ(doubt(clear, "gpus_left_out"), "GPU 1 hidden by CUDA_VISIBLE_DEVICES=0");
}

// Within which all must be done that a driver that never answers has no part in.
constexpr double kWithoutDriver = 10;

double Gap(const json& usage) { return Seconds(usage["unobserved"]["gpu_hours"]); }

// Words of the shell that wait until the recording tells what matches `words`, for minutes at most, and then some
// seconds. It tells the command too, which must not match itself.
std::string After(const std::string& words, const std::string& seconds) {
  return "until grep -aqs \"" + words + "\" $F/kept.idleburn*; do sleep 0.1; n=x$n; [ ${#n} -lt 1200 ] || exit 99; " +
         "done; sleep " + seconds;
}

struct DriverRow {
  const char* name;
  const char* script;
  std::string command;
};
const DriverRow kDrivers[] = {
    {"lost", "gpu 0\ngpu 1\nat 0s gpu 0 util=50\nat 0s gpu 1 util=100\nat 2s gpu 1 lost=1\n",
     "sh -c '" + After("GPU 1 .*NVML says 1[5]", "3") + "; exit 2'"},
    {"hangs", "gpu 0\nat 0s gpu 0 util=50\nhang nvmlDeviceGetClockInfo from=1s\n",
     "sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 1; echo step $i; done; date +%s%N > $F/over; exit 9'"},
    {"unsupported",
     "gpu 0 samples=0 gpm=0\nat 0s gpu 0 util=50 power=300\nfail nvmlDeviceGetUtilizationRates 3\n"
     "fail nvmlDeviceGetMemoryInfo_v2 3\nfail nvmlDeviceGetMemoryInfo 3\n",
     "sleep 2"},
    {"reloaded", "gpu 0\nat 0s gpu 0 util=50 power=300\nat 1500ms reload\n",
     "sh -c '" + After("answers a[g]ain", "4") + "'"},
    {"failed", "gpu 0\ngpu 1\nat 0s gpu 1 lost=1\n", "sleep 1.5"},
    {"slow", "gpu 0\ndelay nvmlDeviceGetClockInfo 30ms\n", "sleep 5"},
    {"never answers", "gpu 0\nhang nvmlInit_v2\n", "sh -c 'date +%s > $F/ran; sleep 1; date +%s%N > $F/over; exit 4'"},
    {"never answers a long run", "gpu 0\nhang nvmlInit_v2\n", "sleep 6"},
    {"loads first", "gpu 0\nat 0s gpu 0 util=50\nhang nvmlInit_v2 for=12s\n", "sleep 18"},
};

// Drivers that fail in all ways, all at once, each on a machine of its own.
class RunDriverTest : public ::testing::Test {
 protected:
  struct Failing {
    explicit Failing(const DriverRow& row)
        : machine(row.script),
          ended(machine
                    .Begin("date +%s > $F/began; $I run " + kPriced + "-- " + row.command +
                           "; code=$?; date +%s%N > $F/left; exit $code")
                    .share()) {}
    LiveMachine machine;
    std::shared_future<ProgramRun> ended;
  };
  static void SetUpTestSuite() {
    stalls_ = new StallWatch;
    runs_ = new std::map<std::string, std::unique_ptr<Failing>>;
    for (const DriverRow& row : kDrivers) (*runs_)[row.name] = std::make_unique<Failing>(row);
  }
  static void TearDownTestSuite() {
    delete runs_;
    delete stalls_;
    runs_ = nullptr;
    stalls_ = nullptr;
  }
  static const LiveMachine& Machine(const std::string& name) { return runs_->at(name)->machine; }
  static ProgramRun Ended(const std::string& name) { return runs_->at(name)->ended.get(); }
  // Seconds from the end of the command to the end of the program; of one that hangs, the test never ends.
  static double Parting(const std::string& name) {
    const auto at = [&](const char* file) { return std::stoll(ReadText(Machine(name).Path(file))); };
    return static_cast<double>(at("left") - at("over")) / 1e9;
  }
  // How often the host, or the workload on it, was read later than so long after the run's start.
  static int ReadingsAfter(double seconds, const std::string& name, HostScope scope) {
    const RecordedLog recorded(Machine(name).Path("kept.idleburn"));
    const LiveLog& log = recorded.log;
    const std::int64_t start = std::stoll(log.Fact(RunWindow::kStartFact).value_or("0"));
    std::set<std::int64_t> times;
    for (const HostSample& sample : log.host) {
      const double since = static_cast<double>(sample.time.nanos() - start) / 1e9;
      if (sample.scope == scope && since > seconds) times.insert(sample.time.nanos());
    }
    return static_cast<int>(times.size());
  }
  // How many readings of ten a second for five seconds must be there, on a machine that let them be taken.
  static int MustBeRead() { return stalls_->longest_seconds() < 0.5 ? 20 : 1; }
  static std::map<std::string, std::unique_ptr<Failing>>* runs_;
  static StallWatch* stalls_;
};
StallWatch* RunDriverTest::stalls_ = nullptr;
std::map<std::string, std::unique_ptr<RunDriverTest::Failing>>* RunDriverTest::runs_ = nullptr;

TEST_F(RunDriverTest, ALostGpuIsUnobservedAndTheOthersGoOn) {
  const ProgramRun run = Ended("lost");
  const LiveMachine& machine = Machine("lost");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(LinesWith(run.err, "idleburn: device lost: "), 1) << run.err;
  const json gpus = machine.Json("live")["per_gpu"];
  EXPECT_GE(Gap(gpus[1]), Gap(gpus[0]) + 1.5);  // three seconds less a reading
  EXPECT_GE(Seconds(gpus[0]["phases"]["underutilized"]["gpu_hours"]), Seconds(gpus[1]["gpu_hours"]["observed"]) + 1.5);
  EXPECT_EQ(gpus[1]["phases"]["idle"]["gpu_hours"], 0);
  json replayed = machine.Audit("kept.idleburn");
  EXPECT_EQ(replayed["per_gpu"], gpus);
}

// What we are not told of is not paid for in silence.
TEST_F(RunDriverTest, AGpuThatFailedBeforeTheRunIsNamedAndItsCostIsSaidToBeMissing) {
  const ProgramRun run = Ended("failed");
  const LiveMachine& machine = Machine("failed");
  EXPECT_EQ(run.code, 0) << run.err;
  const std::string said = "GPU 1: nvmlDeviceGetHandleByIndex_v2: NVML says 15: ";
  EXPECT_EQ(LinesWith(run.err, "idleburn: device lost: " + said), 1) << run.err;
  for (const json& audit : {machine.Json("live"), machine.Audit("kept.idleburn")}) {
    EXPECT_EQ(audit["per_gpu"].size(), 1U);
    const json& rows = audit["data_quality"];
    const auto row = std::find_if(rows.begin(), rows.end(), [](auto& q) { return q["id"] == "gpus_failed"; });
    ASSERT_NE(row, rows.end()) << rows;
    EXPECT_EQ((*row)["count"], 1);
    EXPECT_EQ((*row)["names"][0].get<std::string>().find(said), 0U);
  }
}

// How well it was measured stands in the recording, and in the report of it.
TEST_F(RunDriverTest, WhatMeasuringTookIsRecorded) {
  const ProgramRun run = Ended("slow");
  const LiveMachine& machine = Machine("slow");
  const RecordedLog recorded(machine.Path("kept.idleburn"));
  EXPECT_GE(std::stol(recorded.log.Fact("sampler.ticks").value_or("0")), 10);
  const std::string clock = recorded.log.Fact("sampler.calls.nvmlDeviceGetClockInfo").value_or("");
  std::istringstream numbers(clock);
  std::int64_t calls = 0;
  std::int64_t median = 0;
  numbers >> calls >> median;
  EXPECT_GE(calls, 5) << clock;
  EXPECT_GE(median, 30'000'000) << clock;  // as the driver was told to take
  const json sampler = machine.Audit("kept.idleburn")["run"]["sampler"];
  EXPECT_EQ(sampler, machine.Json("live")["run"]["sampler"]);
  EXPECT_EQ(sampler["ticks"], std::stol(recorded.log.Fact("sampler.ticks").value_or("0")));
  const json& all = sampler["calls"];
  const auto found =
      std::find_if(all.begin(), all.end(), [](auto& c) { return c["function"] == "nvmlDeviceGetClockInfo"; });
  ASSERT_NE(found, all.end()) << sampler;
  EXPECT_EQ((*found)["calls"], calls);
  EXPECT_NEAR((*found)["p50_ms"].get<double>(), static_cast<double>(median) / 1e6, 1e-6);
}

// Work goes on to be counted, the run ends as without us, and what was not measured is unobserved.
TEST_F(RunDriverTest, ACallThatHangsHoldsNothingUp) {
  const ProgramRun run = Ended("hangs");
  const LiveMachine& machine = Machine("hangs");
  EXPECT_EQ(run.code, 9);
  EXPECT_EQ(LinesWith(run.err, "idleburn: driver hang: nvmlDeviceGetClockInfo has not returned"), 1) << run.err;
  const json live = machine.Json("live");
  EXPECT_LE(Seconds(live["gpu_hours"]["observed"]), 3.5);
  EXPECT_GE(Gap(live), 5);
  EXPECT_EQ(live["phases"]["idle"]["gpu_hours"], 0);
  const double total = std::stod(live["cost"]["total_exact"].get<std::string>());
  EXPECT_NEAR(total / std::stod(live["cost"]["per_unit"]["step"].get<std::string>()), 8, 1e-6);
  EXPECT_GE(ReadingsAfter(3, "hangs", HostScope::kMachine), MustBeRead());  // the call hung for seven seconds
  EXPECT_GE(ReadingsAfter(3, "hangs", HostScope::kWorkload), MustBeRead());
}

TEST_F(RunDriverTest, WhatIsNotSupportedIsNotIdle) {
  const ProgramRun run = Ended("unsupported");
  const LiveMachine& machine = Machine("unsupported");
  EXPECT_EQ(run.code, 0) << run.err;
  const json live = machine.Json("live");
  EXPECT_EQ(live["gpu_hours"]["observed"], 0);
  EXPECT_GE(Seconds(live["unobserved"]["by_reason"]["unsupported"]), 1) << live["unobserved"];
  EXPECT_TRUE(live["cost"]["waste"].is_null()) << live["cost"];  // nothing was observed
}

// The counter of energy begins anew; nothing is negative, and nothing of before is lost.
TEST_F(RunDriverTest, ADriverLoadedAnewCountsOn) {
  const ProgramRun run = Ended("reloaded");
  const LiveMachine& machine = Machine("reloaded");
  EXPECT_EQ(run.code, 0) << run.err;
  const json live = machine.Json("live");
  const double joules = live["energy_kwh"].get<double>() * 3.6e6;
  EXPECT_GE(joules, 300 * 0.5);
  EXPECT_LE(joules, 300 * (Seconds(live["gpu_hours"]["window"]) + 0.5));  // the new counter runs since it was loaded
  EXPECT_EQ(live["phases"]["idle"]["gpu_hours"], 0);
  EXPECT_EQ(LinesWith(run.err, "idleburn: device lost: "), 1) << run.err;
  const double observed = Seconds(live["gpu_hours"]["observed"]);
  EXPECT_GE(observed, 1);
  // Ten seconds closed leave nine whole ones without a reading, however late the command began and ended, and what
  // the ring of the new driver says of the time before its first second is over is not trusted.
  EXPECT_LE(observed, Seconds(live["gpu_hours"]["window"]) - 9 + 1e-6);
  EXPECT_EQ(Seconds(live["phases"]["underutilized"]["gpu_hours"]), observed);
}

TEST_F(RunDriverTest, ADriverThatIsSlowIsSaidOnceAndRecorded) {
  const ProgramRun run = Ended("slow");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(LinesWith(run.err, "idleburn: slow driver: the NVIDIA driver took"), 1) << run.err;
  const RecordedLog recorded(Machine("slow").Path("kept.idleburn"));
  EXPECT_EQ(recorded.log.Notes(NoteKind::kSlowDriver).size(), 1U);
}

TEST_F(RunDriverTest, ADriverThatNeverAnswersDoesNotKeepTheCommandFromStarting) {
  const ProgramRun run = Ended("never answers");
  const LiveMachine& machine = Machine("never answers");
  EXPECT_EQ(run.code, 4);
  EXPECT_LE(std::stol(ReadText(machine.Path("ran"))) - std::stol(ReadText(machine.Path("began"))), kWithoutDriver);
  EXPECT_EQ(LinesWith(run.err, "no GPU was measured: the NVIDIA driver has not answered nvmlInit"), 1) << run.err;
  EXPECT_LE(Parting("never answers"), kWithoutDriver - 1.5);  // the command ran for a second of it
  EXPECT_EQ(Ended("never answers a long run").code, 0);
  EXPECT_GE(ReadingsAfter(1, "never answers a long run", HostScope::kMachine), MustBeRead());  // of six seconds
}

// Eight GPUs without persistence mode take a driver longer than that.
TEST_F(RunDriverTest, ADriverThatLoadsForLongIsTakenWhenItAnswers) {
  const ProgramRun run = Ended("loads first");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(LinesWith(run.err, "idleburn: slow driver: the NVIDIA driver has not answered nvmlInit_v2 in 1"), 1)
      << run.err;
  const json live = Machine("loads first").Json("live");
  // Of six seconds two are not believed, and the first and the last may be begun.
  EXPECT_GE(Seconds(live["gpu_hours"]["observed"]), 1) << run.err;
  EXPECT_EQ(Seconds(live["phases"]["underutilized"]["gpu_hours"]), Seconds(live["gpu_hours"]["observed"]));
}

TEST(RunRecordingTest, AFileThatIsThereIsLeftAloneAndTheRunGoesOn) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run("printf mine > $F/mine; $I run --recording $F/mine -- sh -c 'sleep 0.3; exit 5'");
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(LinesWith(run.err, machine.Path("mine") + ": already exists; choose another file with --recording"), 1)
      << run.err;
  EXPECT_EQ(LinesWith(run.err, "the run goes on without a recording"), 1);
  EXPECT_EQ(ReadText(machine.Path("mine")), "mine");
}

// /proc takes no new folder from anybody, root included.
TEST(RunRecordingTest, AHomeThatCannotBeWrittenIsSaidOnce) {
  const LiveMachine machine("gpu 0\n");
  const ProgramRun run = machine.Run("XDG_DATA_HOME=/proc/home $I run -- sh -c 'sleep 0.3; exit 5'");
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(LinesWith(run.err, "idleburn: /proc/home"), 2) << run.err;  // the recording's folder, and the history's
  EXPECT_NE(Unwrapped(run.err).find("counts (first at /proc/home/idleburn/recordings"), std::string::npos) << run.err;
  EXPECT_TRUE(std::regex_search(run.err, std::regex("\ndoubt 1 of [0-9]+: 1 recording is incomplete"))) << run.err;
  EXPECT_EQ(LinesWith(run.err, "this run is not in the history"), 1);
  EXPECT_EQ(LinesWith(run.err, "the run goes on without a recording"), 1);
  const ProgramRun homeless = machine.Run("unset XDG_DATA_HOME HOME; $I run -- sh -c 'sleep 0.3; exit 5'");
  EXPECT_EQ(homeless.code, 5);
  EXPECT_EQ(LinesWith(homeless.err, "no recording: there is no home folder"), 1);
  EXPECT_EQ(machine.Run("XDG_DATA_HOME=/proc/home $I record --for 1s").code, 1);
}

// No file may grow beyond 16 KiB (32 blocks of 512 bytes to the shell), as if the disk were full: what a small disk of
// its own would show takes rights.
TEST(RunRecordingTest, AFullDiskIsSaidOnceAndKeepsWhatWasWritten) {
  const LiveMachine machine("gpu 0\ngpu 1\ngpu 2\ngpu 3\n");
  const ProgramRun run = machine.Run(
      "(trap '' XFSZ; ulimit -f 32; "
      "$I run --hz 100 --price 3600 --format json --no-history --recording $F/k.idleburn -- "
      "sh -c 'sleep 5; exit 8'; echo $? >$F/code) 2>&1 | cat >$F/said; "
      "$I audit --price 3600 --format json $F/k.idleburn -o $F/replayed; echo $?; ls -l $F >&2");
  EXPECT_EQ(run.out, "0\n") << run.err;
  EXPECT_EQ(ReadText(machine.Path("code")), "8\n");
  const std::string said = ReadText(machine.Path("said"));
  EXPECT_EQ(LinesWith(said, "File too large; idleburn records in memory"), 1) << said;
  const json live = json::parse(said.substr(said.find("\n{") + 1, said.rfind("\n}") + 2 - said.find("\n{")), nullptr,
                                false)["gpu_hours"];
  ASSERT_TRUE(live.is_object()) << said;
  EXPECT_GE(Seconds(live["observed"]), 0.75 * Seconds(live["window"]));
  EXPECT_GE(Seconds(live["window"]), 4 * 5);
  EXPECT_GE(Seconds(machine.Json("replayed")["gpu_hours"]["observed"]), 4 * 0.5);
}

TEST(RunRecordingTest, WhenWeAreKilledTheRecordingStays) {
  const LiveMachine machine("gpu 0\nat 0s gpu 0 util=95\n");
  const ProgramRun run = machine.Run(
      "date +%s; $I run --recording $F/k.idleburn -- sh -c 'echo $$ > $F/pid; exec sleep 60' & us=$!; "
      "until [ -s $F/pid ]; do sleep 0.1; done; until $I audit $F/k.idleburn > /dev/null 2>&1; do sleep 0.2; done; "
      "sleep 2; kill -9 $us; kill $(cat $F/pid); date +%s");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(machine.Path("k.idleburn.journal")));
  const json audit = machine.Audit("k.idleburn");
  EXPECT_GT(audit["gpu_hours"]["observed"], 0);
  EXPECT_EQ(audit["phases"]["compute_bound"]["gpu_hours"], audit["gpu_hours"]["observed"]);
  std::istringstream clock(run.out);
  long began = 0;
  long ended = 0;
  clock >> began >> ended;
  EXPECT_LE(Seconds(audit["gpu_hours"]["window"]), static_cast<double>(ended - began + 1));
}

}  // namespace
}  // namespace idleburn::testing
