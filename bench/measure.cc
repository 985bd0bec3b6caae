// Runs a command and writes what it took to FILE: wall seconds, seconds on the processor, peak resident MiB.
//   measure FILE COMMAND...
// A small program, because a child's peak starts at that of the program that started it. Exits as the command does.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace {

double Seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: measure FILE COMMAND...\n", stderr), 2;
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  rusage used{};
  if (child < 0 || wait4(child, &status, 0, &used) != child) return std::perror("measure"), 1;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::FILE* const out = std::fopen(argv[1], "w");
  if (out == nullptr) return std::perror(argv[1]), 1;
  std::fprintf(out, "%.6f %.6f %.1f\n", wall.count(), Seconds(used.ru_utime) + Seconds(used.ru_stime),
               static_cast<double>(used.ru_maxrss) / 1024);
  if (std::fclose(out) != 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
