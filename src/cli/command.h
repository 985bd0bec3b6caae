#pragma once

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// What a command may touch of the world around the process.
struct Environment {
  Instant now;
  bool terminal_out = false;  // standard output is a terminal
  bool terminal_err = false;
  int columns = 100;  // of the terminal
  bool no_color = false;
  bool utf8 = true;  // what the locale says that terminals show

  // Of what is printed: the terminal's, and `least` on a narrower one; where there is none, `elsewhere`.
  [[nodiscard]] int Width(int elsewhere = 100, int least = 0) const {
    return terminal_out ? std::max(columns, least) : elsewhere;
  }
};

// One command of `idleburn COMMAND ...`.
struct Command {
  std::string_view name;
  std::string_view summary;  // for the list in the help
  // Runs with the words after the command's name; the exit code, or an error (1, or 2 for a wrong use).
  Result<int> (*run)(const std::vector<std::string>& arguments, const Environment& environment);
};

// All commands, in the order of the help.
std::span<const Command> Commands();

// Prints to standard output; an error if it cannot be written whole (a full disk, a closed pipe).
Result<void> Print(std::string_view text);
// To standard error, where standard output belongs to somebody else. Nobody is left to be told if that fails.
void PrintAside(std::string_view text);
// As Print, to the file at `path` ("" or "-": standard output). The file appears whole or not at all.
Result<void> WriteOutput(const std::string& path, std::string_view text);

inline constexpr int kExitGate = 3;  // a gate asked for with --fail-on did not hold

// The whole program: finds the command, runs it, says what went wrong in one line. Returns the exit code.
int RunProgram(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
