#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {
// Describes the machine: hardware, limits, and the file systems that hold data. The facts go into the recording, so a
// reader of a report knows on what it was measured.

// A mounted file system, as /proc/PID/mountinfo names it.
struct MountedAt {
  std::string point;
  std::string type;    // "ext4", "nfs4", "overlay"
  std::string source;  // "/dev/nvme0n1p1"
};
// The file systems in /proc/PID/mountinfo that can hold data, without kernel interfaces.
std::vector<MountedAt> MountsOf(std::string_view mountinfo);
// Describes the file system of a path: "/data ext4 (nvme0n1p1)", "/mnt/set nfs4 (over the network)". Empty if there
// is none. The text has no names of users or other hosts, because recordings are handed on.
std::string MountOf(const std::vector<MountedAt>& mounts, std::string_view path);

// The file systems of files that these processes have open for reading, as MountOf writes them, sorted. That tells
// where a job's data lie without knowing its flags. It looks at a limited number of processes and files. `proc` is
// "/proc".
std::string MountsRead(const std::string& proc, std::span<const pid_t> pids);

// Describes this machine as facts "system.*": kernel, CPU, NUMA nodes, memory, disks, container, limits of the control
// group, and the file system of `cwd`. Facts that cannot be read are left out, and none names a host or user. `root` is
// the path before /proc and /sys; empty on a real machine.
std::vector<RunFact> SystemFacts(const std::string& root, const std::string& cwd);

// Whether this process runs in a container, as far as files below `root` tell. Some containers leave no such file.
bool IsContainer(const std::string& root);

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
