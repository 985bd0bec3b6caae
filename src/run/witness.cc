#include "run/witness.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "os/kept_file.h"

namespace idleburn {

std::unique_ptr<Witness> Witness::Start() {
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::unique_ptr<Witness> witness(new Witness(new (memory) Counts()));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // before the fork: it must not miss the first
  const pid_t parent = getpid();
  witness->pid_ = fork();
  if (witness->pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    Watch(*witness->counts_);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (witness->pid_ < 0) return nullptr;
  return witness;
}

Witness::~Witness() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  munmap(counts_, sizeof(Counts));
}

bool Witness::SawToo(int signal) {
  const auto index = static_cast<std::size_t>(signal);
  for (int waited = 0; waited <= kPendingPatienceMilliseconds; ++waited) {
    const bool over = waited >= kPatienceMilliseconds && !IsPending(signal);
    const std::uint32_t now = counts_->received[index].load();
    if (now != known_[index]) {
      known_[index] = now;
      return true;
    }
    if (over) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// The kernel marks a signal for all of a group at once, however late each gets to run. A witness that does not sleep is
// about to count one.
bool Witness::IsPending(int signal) const {
  const std::string status = FileText("/proc/" + std::to_string(pid_) + "/status");
  constexpr std::string_view kState = "\nState:\t";
  const std::size_t state = status.find(kState);
  if (state == std::string::npos) return false;
  const char now = status[state + kState.size()];
  if (now == 'Z' || now == 'X') return false;
  if (now != 'S') return true;
  for (const char* const name : {"\nSigPnd:\t", "\nShdPnd:\t"}) {
    const std::size_t at = status.find(name);
    if (at == std::string::npos) continue;
    const std::uint64_t pending = std::strtoull(status.c_str() + at + std::strlen(name), nullptr, 16);
    if ((pending >> (signal - 1) & 1) != 0) return true;
  }
  return false;
}

void Witness::Watch(Counts& counts) {
  // Of another name, so that a signal sent to every "idleburn" does not count as sent to the group.
  prctl(PR_SET_NAME, "signal-witness");
  close_range(0, ~0U, 0);  // it must not hold a pipe open that others read to its end
  sigset_t all;
  sigfillset(&all);
  while (true) {
    const int signal = sigwaitinfo(&all, nullptr);
    if (signal > 0) ++counts.received[static_cast<std::size_t>(signal)];
  }
}

}  // namespace idleburn
