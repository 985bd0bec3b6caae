#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"
#include "owners/cgroup_owner.h"
#include "owners/environ_keys.h"

namespace idleburn {

// What /proc tells of the owner of one process.
struct ProcessFacts {
  bool found = false;  // false: the process ended, or another process has its pid now
  std::optional<std::uint32_t> user;
  GroupOwner group;
  EnvironValues values;         // listed keys of its environment; of its nearest ancestor that names a job or run
  bool environ_denied = false;  // its environment may not be read: only root and its own user may
};

// Reads who owns processes that hold GPUs, and remembers it. A process is (pid, start), since pids are reused. The
// start is read before and after the other files; if it differs, nothing that was read counts.
//
// Reading ten thousand processes takes about half a second, so facts are read again only after `max_age`: a process
// changes its control group rarely, and its environment only at exec. Workers of one launcher share what is read of it.
class ProcessReader {
 public:
  ProcessReader(std::string proc, EnvironKeys keys, Nanos max_age)
      : proc_(std::move(proc)), keys_(std::move(keys)), max_age_(max_age) {}

  // The facts of a process, valid until Forget.
  const ProcessFacts& FactsOf(std::int64_t pid, std::int64_t start_ticks, Instant now);
  // Forgets processes that were not asked for since `since`.
  void Forget(Instant since);
  [[nodiscard]] const EnvironKeys& keys() const { return keys_; }
  // The login name of a user, else its number.
  const std::string& NameOfUser(std::uint32_t user);

 private:
  struct Known {
    ProcessFacts facts;
    Instant read_at;
    Instant asked_at;
  };
  // Reads one process without its ancestors.
  [[nodiscard]] ProcessFacts ReadOne(std::int64_t pid, std::int64_t start_ticks) const;
  // A process above one that holds a GPU.
  struct Ancestor {
    std::int64_t parent = 0;
    EnvironValues values;
  };
  const Ancestor& AncestorOf(std::int64_t pid);
  // Takes the values of the nearest ancestor that names a job or run.
  void InheritValues(std::int64_t pid, ProcessFacts* facts);

  std::string proc_;
  EnvironKeys keys_;
  Nanos max_age_;
  std::map<std::pair<std::int64_t, std::int64_t>, Known> known_;
  std::map<std::int64_t, Ancestor> ancestors_;  // by pid, since the last Forget
  std::map<std::uint32_t, std::string> user_names_;
};

// Whether a text can be the id of a job: 1 to 64 letters, digits and "_.+-".
bool IsJobId(std::string_view text);

}  // namespace idleburn
