#include "support/live_command.h"

#include <gtest/gtest.h>

#include <sstream>

#include "places.h"
#include "support/read_inputs.h"

namespace idleburn::testing {

const char* const kNoGpu = "IDLEBURN_NVML_LIBRARY=/proc/no/such/library.so ";

LiveMachine::LiveMachine(const std::string& script, bool live) {
  environment_ = "export F=" + folder_.path().string() + " I=" IDLEBURN_PROGRAM " T=" IDLEBURN_SIMULATED_TRAINING +
                 " XDG_DATA_HOME=" + Path("data") + " NVIDIA_VISIBLE_DEVICES=all" +
                 " IDLEBURN_NVML_LIBRARY=" IDLEBURN_STANDIN +
                 " IDLEBURN_STANDIN_SCRIPT=" + folder_.Write("gpus", script) +
                 (live ? " IDLEBURN_STANDIN_SHM=" + Path("marks") : "") + "; ";
}

ProgramRun LiveMachine::Run(const std::string& words) const { return RunShell(environment_ + words); }

std::future<ProgramRun> LiveMachine::Begin(const std::string& words) const {
  return std::async(std::launch::async, [command = environment_ + words] { return RunShell(command); });
}

nlohmann::json LiveMachine::Json(const std::string& name) const {
  const std::string text = ReadText(Path(name));
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  EXPECT_TRUE(document.is_object()) << name << ": " << text;
  return document;
}

nlohmann::json LiveMachine::Audit(const std::string& name, const std::string& flags) const {
  return AuditJsonOf(flags + " " + Path(name));
}

double Seconds(const nlohmann::json& hours) { return hours.get<double>() * 3600; }

int LinesWith(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  int found = 0;
  for (std::string line; std::getline(in, line);) found += line.find(part) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace idleburn::testing
