// The file that keeps an agent's counters over restarts.
//
// The rule is that a counter never steps back for a reader. So the state is written before anything newer is exposed,
// and it is resumed only if nothing newer can have been exposed. The file is mapped into memory: a write survives
// kill -9 at once, because the kernel has it. It does not survive a power cut, so a state of another boot counts only
// if the agent stopped in order. A checkpoint every few seconds was not used: 20 restarts with one made a week's
// increase() 151,621 s too large (docs/agent.md).

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace idleburn {

class StateFile {
 public:
  // Opens or creates FOLDER/agent.state and locks it. Fails if another agent holds it (`held_by_other`), or if the
  // folder cannot be written. Its space is reserved here, so a disk that fills up later does not matter.
  static Result<StateFile> Open(const std::string& folder, bool* held_by_other);
  ~StateFile();
  StateFile(StateFile&& other) noexcept;
  StateFile& operator=(StateFile&& other) = delete;
  StateFile(const StateFile&) = delete;

  // The newest state that may be resumed; absent: none, and *why says why in one line, or is
  // empty if there never was one.
  // From here on an unclean end is noticed after a reboot. `boot_id` is that of this boot.
  std::optional<std::string> Resume(const std::string& boot_id, std::string* why);
  // Stores a state. After it returns, kill -9 does not lose it. False: the state is too large to store.
  bool Store(const std::string& state, const std::string& boot_id);
  // Marks the last state as the end of an orderly run and waits until it is on the disk.
  void EndInOrder();

 private:
  struct Slot;
  StateFile(int fd, char* map) : fd_(fd), map_(map) {}
  [[nodiscard]] Slot* SlotAt(std::size_t i) const;

  int fd_;
  char* map_;
  std::uint64_t sequence_ = 0;  // of the newest slot
};

// The id of this boot: /proc/sys/kernel/random/boot_id; empty if it cannot be read.
std::string BootId();

}  // namespace idleburn
