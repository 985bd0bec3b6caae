#include <algorithm>

#include "cli/cmd_audit.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "os/output_file.h"
#include "report/format_writers.h"
#include "terminal/output.h"

namespace idleburn {

// The build embeds the file, so that the demo needs no network and no installed data.
namespace embedded {
extern const std::string_view example_log;  // examples/finetune_4xh100.csv.gz
}

namespace {

// The recording is invented, and the demo says so, after what it demonstrates. The command is for copying, so a
// terminal that would break its lines gets a pointer instead.
constexpr std::string_view kAboutTheDemo =
    "A demo: 4 H100 GPUs fine-tune a model for 15 minutes in an invented recording. For your own GPUs:\n"
    "nvidia-smi --query-gpu=timestamp,index,uuid,name,utilization.gpu,memory.used,power.draw \\\n"
    "  --format=csv -lms 250 > gpu.csv     then     idleburn audit gpu.csv --price 2.50\n";
constexpr std::string_view kAboutTheDemoInShort =
    "A demo of an invented recording.\n"
    "Your own GPUs: idleburn audit --help\n";
constexpr int kColumnsOfTheCommand = 100;

}  // namespace

Result<int> RunDemo(const std::vector<std::string>& arguments, const Environment& environment) {
  // The demo is an ordinary audit with an input of our own. Its price and time zone are given like flags, so that they
  // win over the user's settings. It neither reads nor writes the history.
  AuditRequest request;
  std::string price = "8";
  CommandFlags flags({"output."});
  flags.Writes(kAuditFormats);
  flags.Add("--price", "RATE", "USD per GPU-hour or a catalogue key (default 8)").text = &price;
  flags.Add("--full", "", kFullHelp).on = &request.report.full;
  flags.Add("--output", "FILE", "write the report to FILE").text = &request.report.output;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  flags.Add("--no-color", "", "plain text").on = &request.report.no_color;
  const bool read = TRY(
      flags.ReadWords("demo", "Audits an invented recording that ships with the program. It needs no GPU.", arguments));
  if (!read) return 0;
  // The audit reads files, so the embedded log becomes one. It takes the same way as a user's log.
  const ScratchFolder folder = TRY(ScratchFolder::Make(""));
  const std::string file = folder.path() + "/finetune_4xh100.csv.gz";
  TRY(WriteFileWhole(file, embedded::example_log));
  request.inputs = {file};
  request.called = "the example recording";
  const Settings settings = TRY(flags.Load({{"--price", price}, {"--timezone", "UTC"}}));
  const ReportFormat format = TRY(ChooseFormat(settings, "demo", request.report.output, kAuditFormats));
  // The introduction is for people who look at the terminal. A format or a file that was asked for stays a clean
  // document.
  const bool asked = settings.Get("output.format").origin == "--format";
  const bool explained = request.report.output.empty() && format == ReportFormat::kText && !asked;
  const bool narrow = environment.terminal_out && environment.columns < kColumnsOfTheCommand;
  const std::string_view about = narrow ? kAboutTheDemoInShort : kAboutTheDemo;
  if (explained) request.report.lines_below = static_cast<std::size_t>(std::count(about.begin(), about.end(), '\n'));
  const int code = TRY(AuditFiles(request, settings, environment));
  if (explained) TRY(Print(about));
  return code;
}

}  // namespace idleburn
