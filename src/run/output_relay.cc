#include "run/output_relay.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <utility>

#include "os/held_signals.h"
#include "os/output_file.h"

namespace idleburn {
namespace {

// Bytes of one reading: as much as a pipe holds by default.
constexpr std::size_t kOutputBlock = 64 * 1024;
// How much is copied after the workload's end. No pipe or pseudo-terminal holds more by default.
constexpr std::size_t kMostLeft = 1024 * 1024;
// A pseudo-terminal delivers at most 4095 bytes and wakes its reader for every line. While lines come quickly, the
// reader waits this long before the next reading, so that it gets many lines. The kernel buffers 64 KiB meanwhile. The
// first line after a pause never waits. Nor does the rest after a full reading, because the kernel still has bytes.
constexpr std::size_t kFullReading = 2048;
constexpr std::int64_t kFloodNs = 1'000'000;
constexpr long kGatherNs = 500'000;
// How long idleburn waits at its end for heirs that copy instead of threads.
constexpr int kMostHeirLooks = 400;
constexpr int kHeirLookMilliseconds = 5;
// How often the modes of a silent terminal are checked.
constexpr int kModesLookMilliseconds = 100;

// Whether two descriptors are the same file, terminal or pipe.
bool SameFile(int a, int b) {
  struct stat x {};
  struct stat y {};
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Whether the workload would have this descriptor without idleburn.
bool IsInherited(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

// Copies the size of a window. An equal size is not set, because setting it sends a signal to the terminal's jobs.
void CopySize(int from_terminal, int to_terminal) {
  winsize size{};
  winsize old{};
  if (ioctl(from_terminal, TIOCGWINSZ, &size) != 0 || ioctl(to_terminal, TIOCGWINSZ, &old) != 0) return;
  if (std::memcmp(&size, &old, sizeof size) != 0) ioctl(to_terminal, TIOCSWINSZ, &size);
}

// What a copying thread waits for. kNobodyReads: the reader of idleburn's output closed it.
enum class Ready : std::uint8_t { kBytes, kStop, kNobodyReads, kNothing };

// Waits up to `timeout` until `from` or `stop` is readable, or until nobody reads `to` any more.
Ready WaitReady(int from, int to, int stop, int timeout) {
  std::array<pollfd, 3> waits = {{{from, POLLIN, 0}, {stop, POLLIN, 0}, {to, 0, 0}}};
  while (poll(waits.data(), waits.size(), timeout) < 0 && errno == EINTR) continue;
  if ((waits[2].revents & POLLERR) != 0) return Ready::kNobodyReads;
  if ((waits[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) return Ready::kBytes;
  return waits[1].revents != 0 ? Ready::kStop : Ready::kNothing;
}

std::int64_t MonotonicNanos() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Delays a reading if readings are small and frequent, so that the next one gets more lines; see kFullReading.
class Gathering {
 public:
  void OnReading(std::size_t bytes) {
    const std::int64_t now = MonotonicNanos();
    const bool flood = now - std::exchange(last_, now) < kFloodNs;
    const bool full = bytes >= kFullReading;
    const bool follows_full = std::exchange(full_, full);
    if (!flood || full || follows_full) return;
    const timespec gather{0, kGatherNs};
    nanosleep(&gather, nullptr);
    last_ = MonotonicNanos();
  }

 private:
  std::int64_t last_ = 0;
  bool full_ = false;  // the last reading
};

// Copies until nobody is left to write. It runs in a process forked from several threads, so it uses only system calls.
[[noreturn]] void CopyAlone(int from, int to) {
  dup2(from, STDIN_FILENO);
  dup2(to, STDOUT_FILENO);
  close_range(STDERR_FILENO, ~0U, 0);
  std::array<char, 4096> block;
  while (true) {
    const ssize_t n = read(STDIN_FILENO, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || WriteAll(STDOUT_FILENO, {block.data(), static_cast<std::size_t>(n)}) != 0) _exit(0);
  }
}

// The heir: waits until idleburn is dead, which closes `life`, and then copies. It closes everything else, so that
// idleburn's locks and files end with idleburn.
[[noreturn]] void WaitToInherit(int from, int to, int life, TerminalModes* modes) {
  prctl(PR_SET_NAME, "output-heir");
  dup2(from, STDIN_FILENO);
  dup2(to, STDOUT_FILENO);
  dup2(life, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  char none = 0;
  while (read(STDERR_FILENO, &none, 1) < 0 && errno == EINTR) continue;
  if (modes != nullptr) modes->TakeBackAlone(STDOUT_FILENO);
  CopyAlone(STDIN_FILENO, STDOUT_FILENO);
}

}  // namespace

// What the copying threads share. They hold it by a shared_ptr, because an abandoned thread outlives the relay.
struct OutputRelay::Shared {
  Shared(ServedCommand& s, OutputWatcher* w)
      : served(s), watcher(w), stop(eventfd(0, EFD_CLOEXEC)), done(eventfd(0, EFD_CLOEXEC)) {}
  ~Shared() {
    close(stop);
    close(done);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  // The heir ends now: if it kept the pipe open, the workload would never learn that nobody reads.
  void DismissHeir(std::size_t i) {
    const std::scoped_lock lock(mutex);
    if (heirs[i].ended) return;
    heirs[i].ended = true;
    kill(heirs[i].pid, SIGKILL);
    waitpid(heirs[i].pid, nullptr, 0);
  }

  ServedCommand& served;
  std::mutex mutex;        // of what follows
  OutputWatcher* watcher;  // null where nobody watches, once abandoned, or once it could not take what it was shown
  bool abandoned = false;
  std::string failure;
  std::vector<Channel> left;  // those that others may still write to
  struct Heir {
    pid_t pid = -1;
    bool ended = true;
  };
  std::array<Heir, 2> heirs;  // of each channel
  std::size_t running = 0;
  bool handed_over = false;  // threads could not be had: the heirs copy
  const int stop;            // readable once the workload has ended
  const int done;
};

// Opens the pseudo-terminal or pipe for one stream. Output processing is off, because the user's terminal does it.
Result<void> OutputRelay::AddChannel(int stream, int to) {
  Channel channel;
  channel.to = to;
  channel.stream = stream;
  if (isatty(to) == 1) {
    termios modes{};
    tcgetattr(to, &modes);
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // the user's terminal does it
    winsize size{};
    ioctl(to, TIOCGWINSZ, &size);
    if (openpty(&channel.from, &channel.child_end, nullptr, &modes, &size) != 0) {
      return Fail("no pseudo-terminal for the workload's progress: " + std::string(std::strerror(errno)));
    }
    fcntl(channel.from, F_SETFD, FD_CLOEXEC);
    fcntl(channel.child_end, F_SETFD, FD_CLOEXEC);
    tcgetattr(channel.child_end, &modes);
    CarriedModes& carried = served_.channels[channels_.size()].modes;
    carried = {modes, modes, {}, {}, {}, {}, {}};
    channel.modes = std::make_shared<TerminalModes>(carried);
  } else {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return Fail("no pipe for the workload's progress: " + std::string(std::strerror(errno)));
    }
    channel.from = ends[0];
    channel.child_end = ends[1];
  }
  child_[stream - 1] = channel.child_end;
  channel.heir = channels_.size();
  channels_.push_back(channel);
  ServedChannel& kept = served_.channels[channel.heir];
  kept.to = to;
  kept.child_end = channel.modes == nullptr ? -1 : channel.child_end;
  kept.stream = stream;
  kept.terminal = channel.modes != nullptr;
  kept.heir = -1;
  kept.from = channel.from;
  return {};
}

OutputRelay::OutputRelay(ServedCommand& served, OutputWatcher* watcher)
    : served_(served), shared_(std::make_shared<Shared>(served, watcher)) {}

std::unique_ptr<OutputRelay> OutputRelay::TakeUp(ServedCommand& served) {
  std::unique_ptr<OutputRelay> relay(new OutputRelay(served, nullptr));
  for (std::size_t i = 0; i < served.channels.size(); ++i) {
    ServedChannel& kept = served.channels[i];
    if (kept.from < 0) continue;
    relay->shared_->heirs[i] = {kept.heir, kept.heir < 0 || waitpid(kept.heir, nullptr, WNOHANG) != 0};
    kept.holder = 0;
    Channel channel{kept.from, kept.to, kept.child_end, kept.stream, nullptr, i};
    if (kept.terminal) channel.modes = std::make_shared<TerminalModes>(kept.modes);
    for (const int fd : {channel.from, channel.child_end, served.life}) {
      if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    relay->channels_.push_back(std::move(channel));
  }
  if (relay->channels_.empty()) return nullptr;
  relay->life_ = served.life;
  relay->shared_->running = relay->channels_.size();
  relay->StartCopying();
  return relay;
}

Result<std::unique_ptr<OutputRelay>> OutputRelay::Open(OutputWatcher& watcher, ServedCommand& served, int into) {
  std::unique_ptr<OutputRelay> relay(new OutputRelay(served, &watcher));
  if (into >= 0) {
    TRY(relay->AddChannel(STDOUT_FILENO, into));
    relay->child_[1] = relay->child_[0];
    return relay;
  }
  if (IsInherited(STDOUT_FILENO)) TRY(relay->AddChannel(STDOUT_FILENO, STDOUT_FILENO));
  if (IsInherited(STDERR_FILENO)) {
    if (relay->child_[0] >= 0 && SameFile(STDOUT_FILENO, STDERR_FILENO)) {
      relay->child_[1] = relay->child_[0];
    } else {
      TRY(relay->AddChannel(STDERR_FILENO, STDERR_FILENO));
    }
  }
  return relay;
}

OutputRelay::~OutputRelay() {
  Finish();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  for (const Channel& channel : channels_) {
    if (channel.child_end >= 0) close(channel.child_end);
    if (threads_.empty()) close(channel.from);
  }
  for (const Channel& channel : channels_) shared_->DismissHeir(channel.heir);
  if (life_ >= 0) close(life_);
  const std::scoped_lock lock(shared_->mutex);
  for (const Channel& channel : shared_->left) close(channel.from);
}

// Starts an heir for each channel. Without a free process there is none.
void OutputRelay::AppointHeirs() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  life_ = ends[1];
  served_.life = life_;
  const int life = fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(ends[0]);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const Channel& channel = channels_[i];
    const pid_t pid = fork();
    if (pid == 0) WaitToInherit(channel.from, channel.to, life, channel.modes.get());
    if (pid <= 0) continue;
    shared_->heirs[i] = {pid, false};
    served_.channels[i].heir = pid;
  }
  close(life);
}

std::vector<pid_t> OutputRelay::helpers() const {
  const std::scoped_lock lock(shared_->mutex);
  return {shared_->heirs[0].pid, shared_->heirs[1].pid};
}

bool OutputRelay::HeirEnded(pid_t pid) {
  const std::scoped_lock lock(shared_->mutex);
  for (Shared::Heir& heir : shared_->heirs) {
    if (heir.pid != pid) continue;
    heir.ended = true;
    return true;
  }
  return false;
}

void OutputRelay::Start() {
  shared_->running = channels_.size();
  if (channels_.empty()) eventfd_write(shared_->done, 1);
  AppointHeirs();
  for (Channel& channel : channels_) {
    // A pipe ends when its last writer is gone, so this end closes. A pseudo-terminal that nobody has open returns
    // errors, so its end stays open.
    if (channel.modes == nullptr) CloseChildEnd(channel);
  }
  StartCopying();
}

void OutputRelay::StartCopying() {
  std::unique_lock lock(shared_->mutex);  // none copies before all are there
  try {
    for (const Channel& channel : channels_) threads_.emplace_back(Copy, channel, shared_);
  } catch (const std::exception&) {  // no memory for its stack, or too many threads
    shared_->handed_over = true;
  }
  lock.unlock();
  if (shared_->handed_over) HandOver();
}

void OutputRelay::CloseChildEnd(Channel& channel) {
  if (channel.child_end >= 0) close(channel.child_end);
  channel.child_end = -1;
}

// Hands copying over to the heirs, as if idleburn had been killed. From here on nobody watches the output. Closing
// `life_` is what wakes them.
void OutputRelay::HandOver() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (ServedChannel& kept : served_.channels) kept.from = -1;
  for (Channel& channel : channels_) CloseChildEnd(channel);
  if (life_ >= 0) close(life_);
  life_ = -1;
}

// Waits for heirs after the workload ended. They end when nobody is left to write. It does not wait for one that
// serves processes left behind.
void OutputRelay::AwaitHeirs() {
  const auto ended = [this] {
    const std::scoped_lock lock(shared_->mutex);
    for (Shared::Heir& heir : shared_->heirs) {
      heir.ended = heir.ended || waitpid(heir.pid, nullptr, WNOHANG) != 0;
    }
    return shared_->heirs[0].ended && shared_->heirs[1].ended;
  };
  for (int look = 0; look < kMostHeirLooks && !ended(); ++look) poll(nullptr, 0, kHeirLookMilliseconds);
  const std::scoped_lock lock(shared_->mutex);
  for (Shared::Heir& heir : shared_->heirs) heir.ended = true;  // who copies still is left alone
  eventfd_write(shared_->done, 1);
}

bool OutputRelay::CopyWindowSize() const {
  bool any = false;
  for (const Channel& channel : channels_) {
    if (channel.modes == nullptr) continue;
    CopySize(channel.to, channel.child_end);
    any = true;
  }
  return any;
}

// Looks until nothing is readable and no thread holds bytes, for 200 ms at most: the terminal may accept nothing.
void OutputRelay::Settle() const {
  constexpr int kMostLooks = 40;
  constexpr int kLookMilliseconds = 5;
  const auto is_idle = [this](const Channel& channel) {
    pollfd wait{channel.from, POLLIN, 0};
    return poll(&wait, 1, 0) == 0 && served_.channels[channel.heir].holder == 0;
  };
  bool idle = false;
  for (int look = 0; look < kMostLooks && !idle; ++look) {
    poll(nullptr, 0, kLookMilliseconds);
    idle = std::all_of(channels_.begin(), channels_.end(), is_idle);
  }
}

void OutputRelay::TakeBackModes() const {
  for (const Channel& channel : channels_) {
    if (channel.modes != nullptr) channel.modes->TakeBack(channel.to);
  }
}

void OutputRelay::ResumeModes() const {
  for (const Channel& channel : channels_) {
    if (channel.modes != nullptr) channel.modes->Resume();
  }
}

void OutputRelay::Finish() {
  eventfd_write(shared_->stop, 1);
  if (shared_->handed_over) AwaitHeirs();
}

int OutputRelay::done_fd() const { return shared_->done; }

// The threads are inside a write that blocks. They are left behind, and done_fd becomes readable without them.
void OutputRelay::Abandon() {
  TakeBackModes();
  const std::scoped_lock lock(shared_->mutex);
  shared_->watcher = nullptr;
  shared_->abandoned = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.detach();
  }
  eventfd_write(shared_->done, 1);
}

std::string OutputRelay::failure() const {
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->handed_over) return "no thread for the workload's output, so its progress is not known";
  return shared_->failure;
}

// A channel that still has a writer, or bytes, gets a process of its own that copies on.
void OutputRelay::LeaveCopiers() {
  for (Channel& channel : channels_) CloseChildEnd(channel);
  const std::scoped_lock lock(shared_->mutex);
  for (const Channel& channel : shared_->left) {
    pollfd wait{channel.from, POLLIN, 0};
    const bool writers = poll(&wait, 1, 0) == 0 || (wait.revents & POLLIN) != 0;
    if (writers && fork() == 0) CopyAlone(channel.from, channel.to);
    close(channel.from);
  }
  shared_->left.clear();
}

// Copies the terminal modes. If memory lacks, it does so later: output must continue in any case.
void OutputRelay::FollowModes(const Channel& channel) {
  try {
    channel.modes->Follow(channel.from, channel.to);
  } catch (const std::exception&) {
    return;
  }
}

// Shows output to the watcher. If the watcher fails, the error is reported and copying continues.
void OutputRelay::Show(int stream, std::string_view bytes, Shared& shared) {
  const std::scoped_lock lock(shared.mutex);
  if (shared.watcher == nullptr) return;
  try {
    shared.watcher->OnOutput(stream, bytes);
  } catch (const std::exception&) {
    shared.watcher = nullptr;
  }
}

// Copies one channel until the workload ended and its output is copied, or until somebody tells it to stop. `holder`
// says which thread has bytes that are not written yet. The crash guard waits for it.
//
// Bytes are written before the watcher sees them, so the user never waits for idleburn.
void OutputRelay::Copy(Channel channel, const std::shared_ptr<Shared>& shared) {
  {
    const std::scoped_lock lock(shared->mutex);
    if (shared->handed_over) return;
  }
  const SignalStack signals;
  const pid_t self = gettid();
  std::atomic<pid_t>& holder = shared->served.channels[channel.heir].holder;
  std::array<char, kOutputBlock> block;
  Gathering gathering;
  std::size_t left = kMostLeft;
  int error = 0;
  bool stopped = false;
  while (left > 0 && error == 0) {
    const int timeout = stopped ? 0 : channel.modes != nullptr ? kModesLookMilliseconds : -1;
    const Ready ready = WaitReady(channel.from, channel.to, shared->stop, timeout);
    if (ready == Ready::kNobodyReads || (stopped && ready != Ready::kBytes)) break;
    stopped = stopped || ready == Ready::kStop;
    if (channel.modes != nullptr) FollowModes(channel);  // before what is shown in them
    if (ready != Ready::kBytes) continue;
    holder = self;
    if (shared->served.handing_over) {  // asked once it holds: who hands over looks for holders after saying so
      holder = 0;
      poll(nullptr, 0, kHeirLookMilliseconds);
      continue;
    }
    const ssize_t n = read(channel.from, block.data(), block.size());
    if (n <= 0) holder = 0;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::string_view bytes(block.data(), static_cast<std::size_t>(n));
    if (channel.modes != nullptr) CopySize(channel.to, channel.from);  // a job in the background hears of no new size
    error = WriteAll(channel.to, bytes);
    holder = 0;
    if (stopped) left -= std::min(left, bytes.size());
    if (error == 0) Show(channel.stream, bytes, *shared);
    if (channel.modes != nullptr && !stopped) gathering.OnReading(bytes.size());
  }
  if (channel.modes != nullptr) channel.modes->TakeBack(channel.to);
  shared->DismissHeir(channel.heir);
  const std::scoped_lock lock(shared->mutex);
  if (stopped && error == 0 && !shared->abandoned) {
    shared->left.push_back(channel);
  } else {
    shared->served.channels[channel.heir].from = -1;
    close(channel.from);  // from here on writes fail, as they would without us
  }
  if (error != 0 && error != EPIPE) {
    shared->failure = std::string(channel.stream == STDOUT_FILENO ? "standard output" : "standard error") +
                      " cannot be written: " + std::strerror(error);
  }
  if (--shared->running == 0) eventfd_write(shared->done, 1);
}

}  // namespace idleburn
