#include "support/service.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "support/all_signals.h"

namespace idleburn::testing {

Service::Service(const std::string& words, std::string log) : log_(std::move(log)) {
  const std::string command = "exec " + words;
  pid_ = fork();
  if (pid_ != 0) return;
  setsid();
  MindAllSignals();
  const int out = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  dup2(out, 1);
  dup2(out, 2);
  execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  _exit(127);
}

Service::~Service() {
  if (!Runs()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Service::Signal(int signal) const { kill(pid_, signal); }

bool Service::Runs() {
  if (ended_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended_ = true;
  end_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

int Service::Wait() {
  Eventually(std::chrono::seconds(20), [this] { return !Runs(); });
  return end_;
}

std::string Service::Log() const {
  std::ifstream file(log_);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// The inodes of sockets that listen at the port are in /proc/net/tcp; those of the process in its folder of files.
bool Service::ListensAt(int port) const {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream in(line);
      std::string number, local, remote, state, word;
      in >> number >> local >> remote >> state;
      for (int i = 0; i < 6; ++i) in >> word;
      if (state == "0A" && std::stoi(local.substr(local.rfind(':') + 1), nullptr, 16) == port) inodes.insert(word);
    }
  }
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd", ignored)) {
    const std::string target = std::filesystem::read_symlink(each, ignored).string();
    for (const std::string& inode : inodes) {
      if (target == "socket:[" + inode + "]") return true;
    }
  }
  return false;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  close(fd);
  return ntohs(address.sin_port);
}

bool Eventually(std::chrono::milliseconds limit, const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::map<std::string, long long> SamplesOf(const std::string& text) {
  std::map<std::string, long long> samples;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t blank = line.rfind(' ');
    samples[line.substr(0, blank)] = std::llround(std::stold(line.substr(blank + 1)) * 1e6L);
  }
  return samples;
}

}  // namespace idleburn::testing
