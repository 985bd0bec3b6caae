#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/program.h"

namespace idleburn::testing {

// A golden file is a session: commands as a user types them, each with what it came to.
//
//     # Why it is held, if that is not plain.
//     $ idleburn combine --fix .35
//     = exit 0
//     ! a line on standard error
//     | a line on standard output
//
// Its commands run in turn in a folder of their own, which holds examples/, fuzz/ and captures/ (tests/golden/captures,
// all invented). The clock stands: at 2026-11-21T12:00:00Z for the first command, a minute later for the next. Random
// identities repeat, the machine is called "machine", the folder /proc/self/cwd, and nothing of the caller's
// environment counts.

// All golden files below `root`, sorted.
std::vector<std::filesystem::path> GoldenFiles(const std::filesystem::path& root);
// What a command came to, as the lines that follow it. Of what is too long to be read, or no text, its size and its
// SHA-256 stand for it.
std::string Outcome(const ProgramRun& run);
// The session anew: its commands and comments, with what they come to now.
std::string PlayedAnew(std::string_view session);
// Where two sessions differ first, with the command it belongs to; empty: nowhere.
std::string FirstDifference(std::string_view held, std::string_view now);

}  // namespace idleburn::testing
