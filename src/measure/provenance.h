#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// Where a run comes from: its job and experiment, by the environment, and its code, by git. The facts let history
// group runs, and a reader compare only runs of the same code.

// Looks up one environment variable. Absent if it is not set.
using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

// The job, run and rank that the environment names, as facts "env.NAME". It asks only for the names of a fixed list,
// and none of these holds a secret. The environment as a whole is never read, stored or hashed. Values are cut to 256
// bytes and have no control characters. Of an address only host and port remain, because the rest may hold a
// password.
std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup);

// The version of the code in a folder, as facts. "git.commit" is the commit. "git.tree" is "clean", or "changed" if a
// tracked file is missing or has another size or time than the index says. It reads the files of .git and starts no
// program: git may be absent, and it may lock or refresh the index of a running job. So it does not see staged
// changes. There are no facts outside a repository. A fact that cannot be found is left out, for a very large
// repository or an unknown index format for example.
std::vector<RunFact> GitFacts(const std::string& folder);

// A file's entry in the index: its state when it was staged.
struct StagedFile {
  std::string path;
  std::uint32_t mode = 0;
  std::uint32_t size = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;
  bool checked = true;  // false: git was told not to check it
};
// Reads .git/index, versions 2 and 3, of repositories with SHA-1. False if it is damaged, of another version, or has
// more than `most` files. Git's own document of the format is gitformat-index(5).
bool ReadGitIndex(std::string_view index, std::size_t most, std::vector<StagedFile>* files);

}  // namespace idleburn
