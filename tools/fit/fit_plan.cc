// Fits the coefficients of `idleburn plan` to the published tables in a folder, and judges them.
//   fit_plan FOLDER                                    prints the accuracy
//   fit_plan FOLDER coefficients.csv plan-accuracy.md plan-accuracy-speed.md
//                                                      also writes the files
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fit/accuracy.h"
#include "fit/calibrate.h"
#include "fit/probe_accuracy.h"

namespace idleburn {
namespace {

// The table whose configurations have steps of several lengths.
constexpr const char* kStepTable = "steptime_qwen.csv";

Result<std::string> ReadTable(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  std::ifstream in(path, std::ios::binary);
  if (!in) return Fail(path + " cannot be read; it is one of the tables that calibrate the plan");
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Result<PublishedRows> ReadFolder(const std::string& folder) {
  PublishedRows published;
  for (const std::string_view file : CalibrationFiles()) {
    std::string text = TRY(ReadTable(folder, std::string(file)));
    TRY(AddTable(published, std::move(text), std::string(file)));
  }
  return published;
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out.good();
}

std::string Document(const AccuracyReport& report) {
  std::string text = R"(# How right the plan is

`idleburn plan --predict runs.csv` predicts rows of your own. This page has the errors on published rows.
`build/release/fit_plan` writes it, and `make accuracy` prints it. Every figure comes from rows that the fit did
not see. The error is |predicted / measured - 1|. Nothing is tuned per row. A framework (for times: a framework on a
GPU) has one set of coefficients. They are positive, and a prior keeps them near those of all others.

Some choices were made while these scores were visible. They are the formulas' constants, the widths of the priors, the
noise of each table, and the share cut off a known framework's intervals. So a table that was never seen may score
worse. A known framework's interval goes from quantile to quantile of its own errors. If it has few rows, the others'
errors fill in.

An unknown framework counts as a draw from frameworks. The center of its interval is the mean of the others' errors, in
logarithms. Its width adds two parts as squares. One is the spread between frameworks: normal, by t on their number. The
other is the spread within them, by its 5 and 95 % quantiles. None of these numbers is fitted, but the method was chosen
by its coverage. Eight frameworks say little about a ninth. Nine tenths of all rows is not nine tenths of each
framework, as the tables below show.

A plan's flags do not state a framework's defaults (loss, adapters' numbers, what stays gathered). Neither does a row of
an unknown framework. So both get their memory interval from rows that were read without their framework. A row that
states less than its table usually does gets an interval half as wide again. litgpt and torchtune do not state how long
their samples are, so 160 tokens are taken.

Rows of Hugging Face training count by the peak that torch allocated, because a device reading holds cache. Rows that
state only a card that was enough do not count. In the last column, an exact binomial test at 1 % says whether a group
of at least 20 rows may have a coverage of 90 %. `data/plan/coefficients.csv` names the tables by their SHA-256.
[plan-accuracy-speed.md](plan-accuracy-speed.md) has the errors of speed by group.

)";
  return text + report.text;
}

std::string SpeedDocument(const AccuracyReport& report) {
  return R"(# How right the speeds of a plan are

`idleburn plan --predict runs.csv` predicts rows of your own. These are its errors of tokens a second on published rows
that the fit did not see. [plan-accuracy.md](plan-accuracy.md) explains the columns and has the errors of memory.

)" + report.speed;
}

int FitPlan(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1 && arguments.size() != 4) {
    std::fputs("usage: fit_plan FOLDER [COEFFICIENTS.csv ACCURACY.md SPEED.md]\n", stderr);
    return 2;
  }
  const Result<PublishedRows> published = ReadFolder(arguments[0]);
  if (!published) {
    std::fprintf(stderr, "fit_plan: %s\n", published.error().message.c_str());
    return 1;
  }
  for (const std::string& row : published->skipped) std::fprintf(stderr, "fit_plan: skipped %s\n", row.c_str());
  const Result<std::string> steps = ReadTable(arguments[0], kStepTable);
  const Result<ProbeErrors> probes = steps ? JudgeProbes(*steps, kStepTable) : tl::unexpected<Error>(steps.error());
  if (!probes) {
    std::fprintf(stderr, "fit_plan: %s\n", probes.error().message.c_str());
    return 1;
  }
  AccuracyReport report = JudgeAccuracy(*published);
  report.speed += ProbeSection(*probes);
  std::fputs((report.text + "\n## Throughput\n\n" + report.speed).c_str(), stdout);
  if (arguments.size() == 1) return 0;
  const bool written = Write(arguments[1], CalibrationCsv(Calibrate(*published))) &&
                       Write(arguments[2], Document(report)) && Write(arguments[3], SpeedDocument(report));
  if (!written) std::fprintf(stderr, "fit_plan: cannot write %s or a page beside it\n", arguments[1].c_str());
  return written ? 0 : 1;
}

}  // namespace
}  // namespace idleburn

int main(int argc, char** argv) { return idleburn::FitPlan({argv + 1, argv + argc}); }
