#include <fmt/format.h>

#include <array>

#include "report/command_pages.h"

namespace idleburn {
namespace {

struct ManualExample {
  std::string_view words;  // as typed
  std::string_view purpose;
};

// At least one for each command. The words after "idleburn" name the command.
constexpr auto kExamples = std::to_array<ManualExample>({
    {"idleburn run --price 2.50 -- python train.py", "Run a training, then print what it cost and why."},
    {"idleburn run --fail-on 'waste>90' -- python train.py", "Exit with 3 if more than 90 % of the cost was waste."},
    {"idleburn record --for 2s --price 2.50", "Record this machine for two seconds, then print the audit."},
    {"idleburn top --for 3s", "Show what the GPUs do and cost for three seconds."},
    {"idleburn agent --for 2s --web.listen-address 127.0.0.1:0 --textfile idleburn.prom",
     "Count this node's GPU-seconds for two seconds, and write the counters to a file."},
    {"idleburn audit gpu.csv --price 2.50", "Audit a log of nvidia-smi at 2.50 USD per GPU-hour."},
    {"idleburn audit gpu.csv -o report.html", "Write the same audit as a web page."},
    {"idleburn combine --waste 40% --fix loader=20% --fix 10%", "Add up two savings that overlap."},
    {"idleburn claim before*.csv -o claim.json --boundary 'train resnet' --measure num_workers --predicted 20% "
     "--unit step",
     "Write down a saving before the change."},
    {"idleburn compare before*.csv --vs after*.csv --price 2.50", "Verify a saving from runs before and after it."},
    {"idleburn tco init scenario.toml", "Write a scenario with comments."},
    {"idleburn tco tco.toml", "Print what the scenarios of a file cost."},
    {"idleburn isolate --for 2s --rounds 1 --knob cpu_affinity -- python train.py",
     "Measure a training with all CPUs and with half of them."},
    {"idleburn history list --since 7d", "List the runs of the last week."},
    {"idleburn ledger", "Print the savings that were claimed and verified."},
    {"idleburn drill --scratch --rounds 1 --after-steps 20 -- python train.py",
     "Interrupt a training once, resume it, and check that nothing is lost."},
    {"idleburn fleet dashboards -o dashboards", "Write the Grafana dashboards of a cluster to a folder."},
    {"idleburn bill validate focus.csv", "List the rules of FOCUS that a billing export breaks."},
    {"idleburn plan --model llama-3.1-8b --method lora --seq-len 4096 --gpu h100 --samples 100000",
     "Print the memory and time of a training before it starts."},
    {"idleburn export gpu.csv -o samples.csv", "Write the samples of a log as CSV."},
    {"idleburn prices list --gpu H100-80GB-SXM", "List the prices of one GPU model."},
    {"idleburn doctor", "Print what idleburn can measure on this machine."},
    {"idleburn demo", "Audit the recording that ships with the program."},
    {"idleburn config print", "Print every setting and where its value comes from."},
    {"idleburn completion bash > idleburn.bash", "Write the completions of bash to a file."},
    {"idleburn man audit > idleburn-audit.1", "Write the page of one command to a file."},
});

// Text of a man page, where a backslash and a leading dot or quote have a meaning. A bare "-" may become a hyphen,
// which cannot be pasted into a shell.
std::string Roff(std::string_view text) {
  std::string escaped = !text.empty() && (text.front() == '.' || text.front() == '\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '-') {
      escaped += "\\-";
    } else if (c == '\\') {
      escaped += "\\e";
    } else if (c == '\'') {
      escaped += "\\(aq";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// A page's heading and name. `name` is "idleburn-audit".
std::string Head(const std::string& name, std::string_view summary) {
  std::string upper = name;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return fmt::format(".TH {} 1 \"\" \"idleburn {}\" \"idleburn manual\"\n.SH NAME\n{} \\- {}\n", Roff(upper),
                     IDLEBURN_VERSION, Roff(name), Roff(summary));
}

std::string Entry(std::string_view bold, std::string_view rest, std::string_view help) {
  return fmt::format(".TP\n\\fB{}\\fR{}{}\n{}\n", Roff(bold), rest.empty() ? "" : " ", Roff(rest), Roff(help));
}

constexpr std::string_view kExitStatus =
    ".SH \"EXIT STATUS\"\n"
    ".TP\n0\nSuccess.\n.TP\n1\nSomething failed. The error is one line on standard error.\n"
    ".TP\n2\nThe command line or a setting is wrong; \\fBdoctor\\fR: a check failed.\n"
    ".TP\n3\nA limit of \\fB\\-\\-fail\\-on\\fR does not hold.\n.PP\n"
    "\\fBrun\\fR and \\fBplan \\-\\-launch\\fR return the exit status of the user\\(aqs command. \\fBisolate\\fR, "
    "\\fBdrill\\fR and \\fBplan \\-\\-probe\\fR return 128 + the number of the signal that ended them. "
    "\\fBdoctor\\fR returns 0 for warnings.\n";

}  // namespace

std::string ManualPage(const CommandHelp& command) {
  std::string operands;
  std::string options;
  for (const ListedFlag& flag : command.table.flags) {
    if (!flag.name.starts_with('-')) operands += fmt::format(" [\\fI{}\\fR]", Roff(flag.name));
    const std::string repeat = flag.kind == ListedFlag::Kind::kList && flag.name.starts_with('-') ? " ..." : "";
    options += Entry(flag.name, flag.value + repeat, flag.help);
  }
  std::string examples;
  bool runs = false;  // a command of the user's
  const std::string start = "idleburn " + std::string(command.name);
  for (const ManualExample& example : kExamples) {
    if (example.words != start && !example.words.starts_with(start + " ")) continue;
    runs = runs || example.words.find(" -- ") != std::string_view::npos;
    examples += fmt::format("{}{}\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", examples.empty() ? "" : ".PP\n",
                            Roff(example.purpose), Roff(example.words));
  }
  if (runs) operands += " [\\-\\- \\fICMD\\fR...]";
  return Head("idleburn-" + std::string(command.name), command.summary) +
         fmt::format(".SH SYNOPSIS\n\\fBidleburn {}\\fR [\\fIflags\\fR]{}\n", command.name, operands) +
         fmt::format(".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}.SH EXAMPLES\n{}", Roff(command.table.about), options,
                     examples) +
         std::string(kExitStatus) + ".SH \"SEE ALSO\"\n\\fBidleburn\\fR(1)\n";
}

std::string MainManualPage(const std::vector<CommandHelp>& all) {
  std::string commands;
  std::string pages;
  for (const CommandHelp& command : all) {
    commands += Entry("idleburn " + std::string(command.name), "", command.summary);
    pages += fmt::format("{}\\fBidleburn\\-{}\\fR(1)", pages.empty() ? "" : ",\n", command.name);
  }
  return Head("idleburn", "shows where GPU dollars went, why, and what would save them") +
         ".SH SYNOPSIS\n\\fBidleburn\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.SH COMMANDS\n" + commands +
         ".SH EXAMPLES\n.nf\n.RS\nidleburn demo\nidleburn audit gpu.csv \\-\\-price 2.50\n.RE\n.fi\n" +
         ".SH ENVIRONMENT\n.TP\n\\fBIDLEBURN_CFG_\\fISECTION\\fB_\\fIKEY\\fR\nSets one setting of idleburn.toml. "
         "A flag wins over it.\n.TP\n\\fBNO_COLOR\\fR\nPrints plain text.\n"
         ".SH FILES\n.TP\n\\fIidleburn.toml\\fR\nSettings of this folder.\n"
         ".TP\n\\fI~/.config/idleburn/idleburn.toml\\fR\nSettings of the user.\n" +
         std::string(kExitStatus) + ".SH \"SEE ALSO\"\n" + pages + "\n";
}

}  // namespace idleburn
