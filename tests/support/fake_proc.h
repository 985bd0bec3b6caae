#pragma once

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace idleburn::test {

// A folder that looks like the root of a machine, for readers of /proc and /sys/fs/cgroup. Files are rewritten in
// place, as readers keep them open.
class FakeRoot {
 public:
  explicit FakeRoot(const std::filesystem::path& below = std::filesystem::temp_directory_path()) {
    std::string name = (below / "idleburn-root-XXXXXX").string();
    path_ = mkdtemp(name.data()) == nullptr ? std::string() : name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  // A folder in memory, if there is space and programs can run there. Ten thousand folders take seconds on some disks.
  static std::filesystem::path InMemory() {
    constexpr const char* kMemory = "/dev/shm";
    constexpr std::uint64_t kEnough = std::uint64_t{1} << 30;
    struct statvfs at = {};
    const bool fits = access(kMemory, W_OK | X_OK) == 0 && statvfs(kMemory, &at) == 0 && (at.f_flag & ST_NOEXEC) == 0 &&
                      at.f_bavail * at.f_frsize >= kEnough;
    return fits ? std::filesystem::path(kMemory) : std::filesystem::temp_directory_path();
  }

  void Write(const std::string& file, std::string_view text) const {
    const std::filesystem::path at = path_ + file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << text;
  }
  void Remove(const std::string& file) const { std::filesystem::remove_all(path_ + file); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One process of a FakeRoot.
struct FakeProcess {
  int parent = 1;
  std::int64_t cpu_ticks = 0;
  std::int64_t waited_ticks = 0;
  std::int64_t waited_faults = 0;
  std::int64_t read_bytes = 0;  // what it waited for included, as the kernel counts
  char state = 'S';
  int session = 1;
  std::int64_t threads = 1;
  std::int64_t start = 100;
  std::int64_t wait_ns = 0;
  std::string name = "python (worker) 1";
};

// The kernel's part: what ends is added to its parent, if that waits for it.
class FakeProcesses {
 public:
  // `adopter` becomes the parent of orphans.
  explicit FakeProcesses(const FakeRoot& root, int adopter = 1) : root_(root), adopter_(adopter) {}

  FakeProcess& operator[](int pid) { return processes_[pid]; }
  // Writes the files of all of them.
  void Publish() {
    for (const auto& [pid, process] : processes_) Publish(pid, process);
  }
  void End(int pid, bool waited_for = true) {
    const FakeProcess ended = processes_.at(pid);
    const std::string folder = "/proc/" + std::to_string(pid);
    root_.Write(folder + "/stat", "");  // who has it open must not read it either
    root_.Remove(folder);
    std::erase_if(written_, [&](const auto& file) { return file.first.starts_with(folder + "/"); });
    processes_.erase(pid);
    const auto parent = processes_.find(ended.parent);
    if (waited_for && parent != processes_.end()) {
      parent->second.waited_ticks += ended.cpu_ticks + ended.waited_ticks;
      parent->second.waited_faults += 50;
      parent->second.read_bytes += ended.read_bytes;
    }
    for (auto& [other, process] : processes_) {
      if (process.parent == pid) process.parent = adopter_;
    }
    Publish();
  }
  [[nodiscard]] bool Has(int pid) const { return processes_.count(pid) != 0; }
  [[nodiscard]] const std::map<int, FakeProcess>& all() const { return processes_; }

 private:
  void Publish(int pid, const FakeProcess& p) {
    const std::string folder = "/proc/" + std::to_string(pid);
    const auto text = [](auto n) { return std::to_string(n) + " "; };
    Write(folder + "/stat", text(pid) + "(" + p.name + ") " + p.state + " " + text(p.parent) + text(pid) +
                                text(p.session) + "0 -1 0 10 " + text(p.waited_faults) + "0 0 " + text(p.cpu_ticks) +
                                "0 " + text(p.waited_ticks) + "0 20 0 " + text(p.threads) + "0 " + text(p.start) +
                                "1000000 250 0\n");
    Write(folder + "/io", "rchar: " + text(2 * p.read_bytes) + "\nwchar: 7\nsyscr: 1\nsyscw: 1\nread_bytes: " +
                              text(p.read_bytes) + "\nwrite_bytes: 0\ncancelled_write_bytes: 0\n");
    Write(folder + "/task/" + std::to_string(pid) + "/schedstat", "1000 " + text(p.wait_ns) + "3\n");
  }

  void Write(const std::string& file, const std::string& text) {
    std::string& written = written_[file];
    if (written != text) root_.Write(file, text);
    written = text;
  }

  const FakeRoot& root_;
  int adopter_;
  std::map<int, FakeProcess> processes_;
  std::map<std::string, std::string> written_;
};

}  // namespace idleburn::test
