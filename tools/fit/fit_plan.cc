// Fits the coefficients of `idleburn plan` to the published tables in a folder, and judges them.
//   fit_plan FOLDER                                    prints the accuracy
//   fit_plan FOLDER coefficients.csv plan-accuracy.md  also writes both files
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fit/accuracy.h"
#include "fit/calibrate.h"

namespace idleburn {
namespace {

Result<PublishedRows> ReadFolder(const std::string& folder) {
  PublishedRows published;
  for (const std::string_view file : CalibrationFiles()) {
    const std::string path = folder + "/" + std::string(file);
    std::ifstream in(path, std::ios::binary);
    if (!in) return Fail(path + " cannot be read; it is one of the tables that calibrate the plan");
    TRY(AddTable(published, std::string(std::istreambuf_iterator<char>(in), {}), std::string(file)));
  }
  return published;
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return out.good();
}

std::string Document(const PublishedRows& published, const AccuracyReport& report) {
  std::string text =
      "# How right the plan is\n\n"
      "Written by `build/release/fit_plan`; `make accuracy` prints the same. Every figure is of rows that the fit did "
      "not see.\nThe error is |predicted / measured - 1|. Nothing is tuned per row: a framework (for times: a "
      "framework on a GPU) has\none set of coefficients, positive and held near those of all others by a prior.\n\n"
      "The formulas' constants, the widths of the priors, the noise of each table and the share that is cut off the "
      "intervals\nof a known framework were chosen while these scores were looked at, so a table that nobody here has "
      "seen may score\nworse. A known framework's interval is from quantile to quantile of its own errors; of one with "
      "few rows the others' stand\nfor the missing ones.\n\n"
      "A framework never seen is a draw from frameworks: its interval is the mean of the others' errors (in "
      "logarithms),"
      " and\naround it, added up as squares, what lies between frameworks (normal, by t on as many as there are) and "
      "the "
      "5 and 95 %\nquantiles of what lies within them. No number in that is fitted, but the way itself was chosen: "
      "weightings of rows and\nframeworks were compared with their coverage in view, and eight frameworks say little "
      "of a "
      "ninth. Nine tenths of all rows\nis not nine tenths of each framework: the least covered are in the tables "
      "below.\n\n"
      "A plan's flags, and a row of a framework that nobody knows, do not say what the framework does unless it is "
      "told "
      "otherwise\n(loss, adapters' numbers, what stays gathered). The memory interval of both is therefore from the "
      "same "
      "rows read without\nknowing their framework. Of a row that does not say what its table's rows say, an interval "
      "is "
      "half as wide again (chosen).\nlitgpt and torchtune do not state how long their samples are: 160 tokens are "
      "taken.\n\n";
  text += report.text + "\n## Data\n\n| table | SHA-256 |\n|---|---|\n";
  for (const CalibrationTable& table : published.tables) text += "| " + table.file + " | `" + table.sha256 + "` |\n";
  return text;
}

int FitPlan(const std::vector<std::string>& arguments) {
  if (arguments.size() != 1 && arguments.size() != 3) {
    std::fputs("usage: fit_plan FOLDER [COEFFICIENTS.csv ACCURACY.md]\n", stderr);
    return 2;
  }
  const Result<PublishedRows> published = ReadFolder(arguments[0]);
  if (!published) {
    std::fprintf(stderr, "fit_plan: %s\n", published.error().message.c_str());
    return 1;
  }
  for (const std::string& row : published->skipped) std::fprintf(stderr, "fit_plan: skipped %s\n", row.c_str());
  const AccuracyReport report = JudgeAccuracy(*published);
  std::fputs(report.text.c_str(), stdout);
  if (arguments.size() == 1) return 0;
  const bool written =
      Write(arguments[1], CalibrationCsv(Calibrate(*published))) && Write(arguments[2], Document(*published, report));
  if (!written) std::fprintf(stderr, "fit_plan: cannot write %s or %s\n", arguments[1].c_str(), arguments[2].c_str());
  return written ? 0 : 1;
}

}  // namespace
}  // namespace idleburn

int main(int argc, char** argv) { return idleburn::FitPlan({argv + 1, argv + argc}); }
