#pragma once

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace idleburn::testing {

// What the program said and how it ended.
struct ProgramRun {
  int code = -1;  // -1: it did not exit by itself
  std::string out;
  std::string err;
};

// A folder of its own for a test, removed with all it holds when the test ends.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Writes a file there; its path.
  [[nodiscard]] std::string Write(const std::string& name, std::string_view content) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The words of a text, with one blank between them: a page without its line breaks.
std::string Unwrapped(const std::string& text);
// Why a test that needs these programs is skipped: names the first that is missing. Empty: all are there.
std::string WithoutPrograms(std::initializer_list<const char*> programs);
// Runs words of the shell in a folder of their own, without any configuration of the user's.
ProgramRun RunShell(const std::string& words);
// The built program itself, to be run from another place.
std::string ProgramBytes();
// Runs the built program by the shell, without any configuration of the user's.
ProgramRun RunIdleburn(const std::string& arguments);
// Runs a tool of the system; the test fails unless it ends with 0.
void MustRunTool(const std::string& command);
// `idleburn audit ... --format json`; the test fails unless it is one document.
nlohmann::json AuditJsonOf(const std::string& arguments);

}  // namespace idleburn::testing
