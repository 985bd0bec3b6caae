#include "support/program.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "places.h"
#include "support/all_signals.h"
#include "support/read_inputs.h"

namespace idleburn::testing {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "idleburn-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder " << name;
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempFolder::Write(const std::string& name, std::string_view content) const {
  const std::filesystem::path file = path_ / name;
  std::ofstream(file, std::ios::binary) << content;
  return file.string();
}

namespace {

// As wait() tells it. In a session of its own: if something there is stopped, or left behind, the kernel's hangup for
// it does not reach the tests, whoever started those (cron, a container, `setsid make test`).
int EndOfShell(const std::string& command) {
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    MindAllSignals();
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

}  // namespace

std::string Unwrapped(const std::string& text) {
  std::istringstream in(text);
  std::string words;
  for (std::string word; in >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

ProgramRun RunShell(const std::string& words) {
  const TempFolder folder;  // holds what it prints, and no configuration
  const std::string home = folder.path().string();
  const std::string command = "cd " + home + " && export XDG_CONFIG_HOME=" + home + " XDG_DATA_HOME=" + home +
                              " && { " + words + "; } 2>err </dev/null >out";
  const int status = EndOfShell(command);
  ProgramRun run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.out = ReadText(folder.path() / "out");
  run.err = ReadText(folder.path() / "err");
  return run;
}

std::string WithoutPrograms(std::initializer_list<const char*> programs) {
  for (const char* program : programs) {
    if (RunShell(std::string("command -v ") + program).code != 0) {
      return std::string(program) + " is missing (tools/install_deps.sh test)";
    }
  }
  return "";
}

ProgramRun RunIdleburn(const std::string& arguments) {
  return RunShell("timeout 120 " + std::string(IDLEBURN_PROGRAM) + " " + arguments);
}

std::string ProgramBytes() { return ReadText(IDLEBURN_PROGRAM); }

void MustRunTool(const std::string& command) { EXPECT_EQ(std::system(command.c_str()), 0) << command; }

nlohmann::json AuditJsonOf(const std::string& arguments) {
  const ProgramRun run = RunIdleburn("audit --format json " + arguments);
  EXPECT_EQ(run.code, 0) << arguments << "\n" << run.err;
  nlohmann::json document = nlohmann::json::parse(run.out, nullptr, false);
  EXPECT_EQ(document.value("schema", ""), "idleburn.audit/1") << arguments << "\n" << run.out;
  return document;
}

}  // namespace idleburn::testing
