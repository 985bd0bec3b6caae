#pragma once

#include <string>
#include <vector>

#include "audit/audit_report.h"
#include "report/report_page.h"

namespace idleburn {

// The audit in sentences and tables for people. Text, Markdown and HTML print this one view, so they cannot disagree.
// JSON and CSV take exact figures from the report instead.
//
// Strings may hold names from the inputs, unescaped. Each writer escapes every string it prints, because each format
// has rules of its own. Escaping here was rejected: a text that is escaped twice is as wrong as one that is not
// escaped.
//
// A table without rows is one that the audit has no data for, and writers leave it out.
struct AuditView {
  std::string title;              // which GPUs, which window, and the ids of the run
  std::string headline;           // one sentence: what was paid and how much of it was waste
  std::string verdict;            // the headline, and the largest slices of the bill
  std::vector<std::string> why;   // the findings that matter, one line each
  std::vector<std::string> next;  // what to do first, what it saves and how to check it
  std::string runs_line;          // runs of a log and the time between them; empty for one run
  ReportTable runs;               // no rows for one run
  ReportTable phases;             // the bill by slice; no rows if no reading covers time, or for traces alone
  ReportTable gpus;
  ReportTable rates;     // no rows if every GPU has the same rate
  ReportTable owners;    // no rows if no input names owners
  ReportTable measured;  // mean, p95 and peak of every signal; no rows if none was read
  ReportTable trace;     // no rows without a trace; the same for `idle`
  ReportTable idle;
  std::vector<ReportTable> traced_time;  // by kernel, operator, module, ..., and the roofline
  ReportTable findings;
  ReportTable recommendations;
  ReportTable try_first;  // no rows if no pattern suggests anything
  ReportTable declined;
  ReportTable quality;
  std::vector<std::string> money;    // price, unit costs, projections, combined saving
  std::vector<std::string> signals;  // energy, throttling, bursts
  std::vector<std::string> system;   // the machine, as far as it is known
  std::vector<std::string> basis;    // how the figures were made: counter, reading rule, limits, inputs
};

// Rows of the table of GPUs in HTML and Markdown, which scroll.
inline constexpr std::size_t kPageGpuRows = 64;
// How much of a table a format has room for. A terminal prints 16 GPUs; HTML and Markdown print more.
struct ViewLimits {
  std::size_t gpus = 16;  // rows of the table of GPUs; the rest is counted in one note
};
// Builds the view. A live run that measured no GPU gets a view without figures: a table of zeros would look like a
// measurement.
AuditView ViewOf(const AuditReport& report, const ViewLimits& limits);

}  // namespace idleburn
