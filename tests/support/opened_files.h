#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace idleburn::test {

// Counts which files are opened, as the kernel tells it. So a test can hold how much is read without a clock.
class OpenedFiles {
 public:
  OpenedFiles() : fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}
  ~OpenedFiles() { close(fd_); }
  OpenedFiles(const OpenedFiles&) = delete;
  OpenedFiles& operator=(const OpenedFiles&) = delete;

  // Watches a folder: its own listing and the files in it, but not its folders. False: the system has no watch left.
  bool Watch(const std::string& folder) {
    const int watch = inotify_add_watch(fd_, folder.c_str(), IN_OPEN);
    if (watch >= 0) folders_[watch] = folder;
    return watch >= 0;
  }
  // What was opened since the last call, "FOLDER/FILE" or "FOLDER/" for a listing. "lost": more than the kernel keeps.
  std::vector<std::string> Take() {
    std::vector<std::string> opened;
    alignas(inotify_event) std::array<char, 1 << 16> buffer;
    for (ssize_t size = 0; (size = read(fd_, buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < size;) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof event);
        const char* const name = event.len > 0 ? buffer.data() + at + sizeof event : "";
        opened.push_back((event.mask & IN_Q_OVERFLOW) != 0 ? "lost" : folders_[event.wd] + "/" + name);
        at += static_cast<ssize_t>(sizeof event + event.len);
      }
    }
    return opened;
  }

 private:
  int fd_;
  std::map<int, std::string> folders_;
};

}  // namespace idleburn::test
