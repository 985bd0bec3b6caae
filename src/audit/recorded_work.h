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

// Collects the work that a recording reports over time, as rows for a comparison. A comparison needs rows and not only
// totals, because the spread between rows gives the interval of a saving (docs/verification.md, "The interval").
class RecordedWork final : public LiveSink {
 public:
  void OnSamples(std::span<const Sample> samples) override;
  void OnHost(std::span<const HostSample> /*samples*/) override {}
  void OnWork(const WorkMark& mark) override;
  void OnNote(const Note& /*note*/) override {}
  void OnFact(const RunFact& fact) override;

  // Fills in start, end, gpu_seconds, total, pieces and doubts of `counted`.
  //
  // A row lasts from one change of a count to the next, for at least a second. All `gpus` are allocated throughout.
  // Time after the last change belongs to the run too. Rows are cut into pieces where no GPU was read for two seconds.
  // The row across such a gap is in no piece, but its time and work are in the totals.
  //
  // Work before the recording does not count. The recording of a command holds all of its work. Any other recording
  // counts from the first mark.
  void Fill(double gpus, CountedRun& counted) const;

 private:
  struct At {
    Instant time;
    WorkCount done;  // of all ranks
  };
  // The work of all ranks together.
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
