#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"
#include "verify/work_csv.h"

namespace idleburn {

// When a recording says work was done, as rows for a comparison.
class RecordedWork final : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> /*samples*/) override {}
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& /*note*/) override {}
  void OnFact(const RunFact& fact) override;

  // Rows from one change of a count to the next, each of a second or more, with all GPUs allocated throughout; what
  // comes after the last change belongs to the run as well. They are cut where no reading of a GPU came for two
  // seconds; the row across is in no piece, but its time and work are in the totals. Work of before the recording is
  // not counted: of a command from its start, else from the first mark.
  // Into `counted`: start, end, gpu_seconds, total, pieces, and doubts about the counts.
  void Fill(double gpus, CountedRun& counted) const;

 private:
  struct At {
    Instant time;
    WorkCount done;  // of all ranks
  };
  [[nodiscard]] WorkCount All() const;

  RunWindow window_;
  bool of_command_ = false;
  std::optional<Instant> first_sample_, last_sample_;
  std::vector<Instant> gaps_;  // when each began
  std::map<std::int32_t, WorkMark> ranks_;
  std::vector<At> changes_;
  std::string doubt_;
};

}  // namespace idleburn
