#include "agent/state_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "os/digest.h"

namespace idleburn {
namespace {

// Two slots are written in turns. A write that is cut off spoils one of them, and the other is what was exposed last.
constexpr std::size_t kSlotBytes = std::size_t{1} << 19;
constexpr std::size_t kFileBytes = 2 * kSlotBytes;
constexpr std::array<char, 8> kMagic = {'i', 'd', 'l', 'e', 'b', 'u', 'r', '1'};

}  // namespace

// The head of a slot, followed by the state. `sequence` 0: the slot is empty or was being written.
struct StateFile::Slot {
  std::array<char, 8> magic;
  std::uint64_t sequence;
  std::uint64_t length;
  std::uint32_t checksum;  // CRC-32 of the state and of the boot id
  std::uint32_t clean;     // 1: the agent ended in order after this state
  std::array<char, 40> boot_id;

  [[nodiscard]] char* State() { return reinterpret_cast<char*>(this) + sizeof(Slot); }
  [[nodiscard]] std::uint32_t Sum() { return Crc32({State(), length}, Crc32({boot_id.data(), boot_id.size()})); }
  [[nodiscard]] bool Good() {
    return magic == kMagic && sequence != 0 && length <= kSlotBytes - sizeof(Slot) && Sum() == checksum;
  }
};

Result<StateFile> StateFile::Open(const std::string& folder, bool* held_by_other) {
  *held_by_other = false;
  const std::string path = folder + "/agent.state";
  const auto failed = [&](const char* what, int fd) {
    std::string message = path + ": " + what + ": " + std::strerror(errno);
    if (fd >= 0) close(fd);
    return Fail(std::move(message));
  };
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("idleburn could not open the state file", fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    *held_by_other = errno == EWOULDBLOCK;
    return failed("another agent holds this state file", fd);
  }
  if (const int error = posix_fallocate(fd, 0, kFileBytes); error != 0) {
    errno = error;
    return failed("idleburn could not reserve 1 MiB for the state file", fd);
  }
  void* const map = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return failed("idleburn could not map the state file", fd);
  return StateFile(fd, static_cast<char*>(map));
}

StateFile::StateFile(StateFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), map_(std::exchange(other.map_, nullptr)), sequence_(other.sequence_) {}

StateFile::~StateFile() {
  if (map_ != nullptr) munmap(map_, kFileBytes);
  if (fd_ >= 0) close(fd_);
}

StateFile::Slot* StateFile::SlotAt(std::size_t i) const { return reinterpret_cast<Slot*>(map_ + i * kSlotBytes); }

std::optional<std::string> StateFile::Resume(const std::string& boot_id, std::string* why) {
  Slot* newest = nullptr;
  for (std::size_t i = 0; i < 2; ++i) {
    Slot* const slot = SlotAt(i);
    if (slot->Good() && (newest == nullptr || slot->sequence > newest->sequence)) newest = slot;
  }
  if (newest == nullptr) {
    const bool first = SlotAt(0)->magic != kMagic && SlotAt(1)->magic != kMagic;
    *why = first ? "" : "the earlier state is damaged";
    return std::nullopt;
  }
  sequence_ = newest->sequence;
  const bool same_boot = !boot_id.empty() && boot_id == newest->boot_id.data();
  const bool clean = newest->clean == 1;
  std::string state(newest->State(), newest->length);
  // From here on the file says that an agent runs. If the power is cut, the next boot will not trust it.
  for (std::size_t i = 0; i < 2; ++i) SlotAt(i)->clean = 0;
  msync(map_, kFileBytes, MS_SYNC);
  if (same_boot || clean) return state;
  *why = "the machine stopped without an orderly end of the agent, so newer counts may have been exposed";
  return std::nullopt;
}

bool StateFile::Store(const std::string& state, const std::string& boot_id) {
  if (state.size() > kSlotBytes - sizeof(Slot)) return false;
  ++sequence_;
  Slot* const slot = SlotAt(sequence_ % 2);
  slot->sequence = 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  slot->magic = kMagic;
  slot->length = state.size();
  slot->clean = 0;
  slot->boot_id = {};
  boot_id.copy(slot->boot_id.data(), slot->boot_id.size() - 1);
  std::memcpy(slot->State(), state.data(), state.size());
  slot->checksum = slot->Sum();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  slot->sequence = sequence_;
  return true;
}

void StateFile::EndInOrder() {
  msync(map_, kFileBytes, MS_SYNC);
  if (sequence_ == 0) return;
  SlotAt(sequence_ % 2)->clean = 1;
  msync(map_, kFileBytes, MS_SYNC);
}

std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace idleburn
