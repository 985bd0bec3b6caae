#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "config/output_format.h"
#include "terminal/environment.h"
#include "text/table.h"

namespace idleburn {

// How a command's answer becomes a document. Each command has one table of writers. The table says which formats
// exist, in --help and in errors, and it is the only place that chooses a writer. A new format of a command is a new
// row.

// Where a text is printed. Other formats do not depend on it.
struct Paper {
  int columns = 100;
  bool color = false;
  bool ascii = false;     // the terminal cannot show UTF-8; `Written` replaces its signs
  bool full = false;      // everything (--full), not one screen
  std::size_t rows = 24;  // lines of one screen
};

// The help of --full.
inline constexpr const char* kFullHelp = "print everything, not one screen";

// How a user wants a text to look.
struct TextWish {
  bool full = false;
  bool no_color = false;
  int elsewhere = 100;  // columns of what does not go to a terminal
};

// The paper of a document that goes to `output`, "" for standard output. A file never depends on the terminal that
// the command runs in.
inline Paper PaperFor(const Environment& environment, const std::string& output, const TextWish& wish = {}) {
  if (!output.empty() || !environment.terminal_out) return {wish.elsewhere, false, false, wish.full};
  const bool ascii = !environment.utf8;
  // "±" takes two columns as ASCII, so such a page is laid out one column narrower.
  return {environment.columns - (ascii ? 1 : 0), !environment.no_color && !wish.no_color, ascii, wish.full};
}

// The same for what goes to standard error, because standard output belongs to the command that runs.
inline Paper PaperAside(Environment environment, const std::string& output, const TextWish& wish = {}) {
  environment.terminal_out = environment.terminal_err;
  return PaperFor(environment, output, wish);
}

// One row of the table: a format, and the function that writes an answer in it.
template <typename Answer>
struct FormatWriter {
  ReportFormat format;
  std::string (*write)(const Answer&, const Paper&);
};

// A writer that does not depend on the paper, as a row of the table: {ReportFormat::kJson, OnAnyPaper<LedgerJson>}.
template <auto kWrite, typename Answer>
std::string OnAnyPaper(const Answer& answer, const Paper& /*paper*/) {
  return kWrite(answer);
}

// The formats of a table, in its order. The first is the command's own.
template <typename Answer, std::size_t kCount>
constexpr std::array<ReportFormat, kCount> FormatsOf(const std::array<FormatWriter<Answer>, kCount>& writers) {
  std::array<ReportFormat, kCount> formats{};
  std::transform(writers.begin(), writers.end(), formats.begin(), [](const auto& row) { return row.format; });
  return formats;
}

// The document. `format` is one of the table, as ChooseFormat returns it. This is the only place that turns a text into
// ASCII. Other formats keep their bytes, because programs read them.
template <typename Answer, std::size_t kCount>
std::string Written(const std::array<FormatWriter<Answer>, kCount>& writers, ReportFormat format, const Answer& answer,
                    const Paper& paper) {
  const auto* row = std::find_if(writers.begin(), writers.end(), [&](const auto& w) { return w.format == format; });
  const std::string text = row == writers.end() ? std::string() : row->write(answer, paper);
  return paper.ascii && format == ReportFormat::kText ? AsciiOnly(text) : text;
}

}  // namespace idleburn
