#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

namespace idleburn::testing {

// What the machine did between two looks.
class MachineWatch {
 public:
  MachineWatch() { Look(&first_); }
  void Stop() { Look(&last_); }
  [[nodiscard]] bool HasPressure() const { return first_.cpu_some >= 0; }
  // CPUs in use, of all that are online.
  [[nodiscard]] double Busy() const { return static_cast<double>(last_.busy - first_.busy) / Ticks(); }
  [[nodiscard]] double CpuSome() const { return static_cast<double>(last_.cpu_some - first_.cpu_some) / Micros(); }
  [[nodiscard]] double IoFull() const { return static_cast<double>(last_.io_full - first_.io_full) / Micros(); }

 private:
  struct Reading {
    std::chrono::steady_clock::time_point at;
    std::int64_t busy = 0;  // ticks
    std::int64_t cpu_some = -1;
    std::int64_t io_full = -1;
  };
  static std::int64_t Total(const char* file, const std::string& line) {
    std::ifstream in(file);
    for (std::string text; std::getline(in, text);) {
      const std::size_t at = text.find("total=");
      if (text.rfind(line, 0) == 0 && at != std::string::npos) return std::stoll(text.substr(at + 6));
    }
    return -1;
  }
  static void Look(Reading* reading) {
    reading->at = std::chrono::steady_clock::now();
    std::ifstream in("/proc/stat");
    std::string name;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0;
    in >> name >> user >> nice >> system >> idle >> wait >> irq >> soft;
    reading->busy = user + nice + system + irq + soft;
    reading->cpu_some = Total("/proc/pressure/cpu", "some");
    reading->io_full = Total("/proc/pressure/io", "full");
  }
  [[nodiscard]] double Micros() const {
    return static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(last_.at - first_.at).count());
  }
  [[nodiscard]] double Ticks() const { return Micros() * static_cast<double>(sysconf(_SC_CLK_TCK)) / 1e6; }

  Reading first_;
  Reading last_;
};

}  // namespace idleburn::testing
