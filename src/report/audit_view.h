#pragma once

#include <string>
#include <vector>

#include "audit/audit_report.h"
#include "report/report_page.h"

namespace idleburn {

// An audit in sentences and tables for people: the text, Markdown and HTML writers print the same view. Strings
// may hold names as the inputs spelled them; each writer escapes every string it prints.
struct AuditView {
  std::string title;              // what was measured: window, GPUs
  std::string verdict;            // one sentence: money, hours, how much of it did work
  std::vector<std::string> why;   // the findings that matter, one line each
  std::vector<std::string> next;  // what to do first, what it saves and how to check it
  std::string runs_line;          // where a log holds several runs: how much lies between them; else empty
  ReportTable runs;               // no rows for one run
  ReportTable phases;             // no rows if no reading covers time, or there are only traces
  ReportTable gpus;
  ReportTable rates;     // no rows if every GPU has the same
  ReportTable owners;    // no rows if no input names owners
  ReportTable measured;  // mean, p95 and peak of every signal; no rows if none was read
  ReportTable trace;     // no rows without a trace; so idle
  ReportTable idle;
  ReportTable findings;
  ReportTable recommendations;
  ReportTable try_first;  // no rows if no pattern suggests anything
  ReportTable declined;
  ReportTable quality;
  std::vector<std::string> money;    // price, unit costs, projections, combined saving
  std::vector<std::string> signals;  // energy, throttling, bursts
  std::vector<std::string> system;   // the machine, as far as it is known
  std::vector<std::string> basis;    // how the figures came about: counter, reading rule, bands, inputs
};

struct ViewLimits {
  std::size_t gpus = 16;  // rows; the rest is counted
};
AuditView ViewOf(const AuditReport& report, const ViewLimits& limits);

}  // namespace idleburn
