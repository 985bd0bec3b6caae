#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// One variable of an environment; absent if it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

// Which job, run and place in it an environment speaks of, as facts "env.NAME". Only the names of a fixed list are
// asked for, none of which holds a secret: an environment as a whole is never read, kept or hashed. Values are cut to
// 256 bytes and freed of control characters; of addresses only the host remains, without user and password.
std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup);

// Which code a folder holds, as facts: "git.commit", and "git.tree": "clean", or "changed" where a tracked file is
// gone or has another size or time than git noted when it staged it. Read from the files of .git, without starting a
// program; what is staged but not committed is not seen. Nothing outside of a repository; what cannot be told (a very
// large one, another form of its index) is left out.
std::vector<RunFact> GitFacts(const std::string& folder);

// A file as git noted it when it was staged.
struct StagedFile {
  std::string path;
  std::uint32_t mode = 0;
  std::uint32_t size = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  bool checked = true;  // false: git was told not to look at it
};
// The files of .git/index, versions 2 and 3. False if it is damaged, of another form, or has more than `most` files.
bool ReadGitIndex(std::string_view index, std::size_t most, std::vector<StagedFile>* files);

}  // namespace idleburn
