#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/column_map.h"
#include "import/importer.h"

namespace idleburn {

// Turns the cells of the time column into instants.
class ColumnClock {
 public:
  // The references outlive the clock.
  ColumnClock(const BoundColumn& column, const ImportOptions& options, DataQuality& quality, const std::string& file);

  // Absent if the cell is no time. The unit of an epoch that the user did not give is fixed by the first one; an epoch
  // of another magnitude afterwards, or one that fits no unit, is an error. `line` is the place.
  Result<std::optional<Instant>> FromText(std::string_view cell, std::int64_t line);
  Result<std::optional<Instant>> FromInteger(std::int64_t v, std::int64_t line);
  Result<std::optional<Instant>> FromReal(double v, std::int64_t line);
  // True if no zone was given, so that stamps without one are read as UTC, which is counted once.
  bool LocalIsUtc(std::int64_t line);
  // Whether a time without a zone was read, which a wall clock that is set back may show twice.
  [[nodiscard]] bool local() const { return local_; }
  // A wall-clock time without a zone, as nanoseconds since 1970 on that clock.
  Instant FromLocal(std::int64_t nanos, std::int64_t line);

 private:
  // Epoch units as decimals of a second: 9 for seconds down to 0 for nanoseconds.
  [[nodiscard]] int Decimals() const;
  Result<void> Decide(std::int64_t whole, std::string_view cell, std::int64_t line);
  // `fits`: the epoch lies in the range of an Instant.
  [[nodiscard]] Result<std::optional<Instant>> Checked(std::int64_t nanos, bool fits, std::string_view cell,
                                                       std::int64_t line) const;
  [[nodiscard]] tl::unexpected<Error> Refuse(std::string_view cell, std::int64_t line, std::string_view why) const;
  [[nodiscard]] std::optional<Instant> Civil(std::string_view cell, std::int64_t line);

  const ImportOptions& options_;
  DataQuality& quality_;
  const std::string& file_;
  std::string column_;
  TimeForm form_;
  bool assumed_ = false;  // the form came from the first row
  bool said_utc_ = false;
  bool local_ = false;

  // What the start of the quarter of an hour last used means in the zone: offsets change only between those.
  std::int64_t slot_ = INT64_MIN;
  LocalMeaning slot_meaning_;
  Instant last_local_;
};

}  // namespace idleburn
