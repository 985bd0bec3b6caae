#include "measure/provenance.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "os/input_file.h"
#include "os/kept_file.h"
#include "text/line_reader.h"

namespace idleburn {

namespace {

constexpr std::size_t kLongestValue = 256;

// How the value of a variable is kept: as it is, or host and port only.
enum class Form : std::uint8_t { kText, kAddress };
struct NameRow {
  std::string_view name;
  Form form = Form::kText;
};

// The variables that are asked for. A variable whose value may be a secret does not belong here.
constexpr std::array<NameRow, 58> kNames = {{
    // Slurm
    {"SLURM_JOB_ID"},
    {"SLURM_ARRAY_JOB_ID"},
    {"SLURM_ARRAY_TASK_ID"},
    {"SLURM_STEP_ID"},
    {"SLURM_JOB_NAME"},
    {"SLURM_JOB_USER"},
    {"SLURM_JOB_ACCOUNT"},
    {"SLURM_JOB_PARTITION"},
    {"SLURM_CLUSTER_NAME"},
    {"SLURM_PROCID"},
    {"SLURM_NTASKS"},
    {"SLURM_JOB_NUM_NODES"},
    {"SLURM_JOB_GPUS"},
    {"SLURM_STEP_GPUS"},
    {"SLURM_SHARDS_ON_NODE"},
    // Kubernetes, as pods commonly name what the downward API gives them
    {"KUBERNETES_NAMESPACE"},
    {"POD_NAME"},
    {"POD_NAMESPACE"},
    {"POD_UID"},
    {"NODE_NAME"},
    {"JOB_NAME"},
    {"JOB_COMPLETION_INDEX"},
    // torchrun and MPI
    {"RANK"},
    {"WORLD_SIZE"},
    {"LOCAL_RANK"},
    {"LOCAL_WORLD_SIZE"},
    {"GROUP_RANK"},
    {"TORCHELASTIC_RUN_ID"},
    {"TORCHELASTIC_RESTART_COUNT"},
    {"OMPI_COMM_WORLD_RANK"},
    {"OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK"},
    {"PMIX_RANK"},
    // Ray, MLflow, Weights & Biases
    {"RAY_JOB_ID"},
    {"MLFLOW_RUN_ID"},
    {"MLFLOW_EXPERIMENT_ID"},
    {"MLFLOW_EXPERIMENT_NAME"},
    {"MLFLOW_TRACKING_URI", Form::kAddress},
    {"WANDB_RUN_ID"},
    {"WANDB_RUN_GROUP"},
    {"WANDB_PROJECT"},
    {"WANDB_ENTITY"},
    {"WANDB_NAME"},
    {"WANDB_SWEEP_ID"},
    // batch systems of the clouds
    {"AWS_BATCH_JOB_ID"},
    {"SM_TRAINING_ENV_JOB_NAME"},
    {"TRAINING_JOB_NAME"},
    {"CLOUD_ML_JOB_ID"},
    {"LSB_JOBID"},
    {"PBS_JOBID"},
    // GPUs
    {"CUDA_VISIBLE_DEVICES"},
    {"NVIDIA_VISIBLE_DEVICES"},
    {"ROCR_VISIBLE_DEVICES"},
    {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
    // our own
    {"IDLEBURN_RUN_ID"},
    {"IDLEBURN_EXPERIMENT"},
    {"IDLEBURN_TEAM"},
    {"IDLEBURN_UNIT"},
}};

// Reduces an address to host and port: "https://user:word@host:5000/path?token=x" gives "host:5000". A local path gives
// nothing.
std::string HostOf(std::string_view address) {
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = address.substr(scheme + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  const std::size_t user = host.rfind('@');
  return std::string(user == std::string_view::npos ? host : host.substr(user + 1));
}

// Cuts a value and replaces control characters, which could change the screen of whoever prints a recording.
std::string Clean(std::string_view value) {
  std::string text(value.substr(0, kLongestValue));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

}  // namespace

std::vector<RunFact> ExperimentFacts(const VariableLookup& lookup) {
  std::vector<RunFact> facts;
  for (const NameRow& row : kNames) {
    const std::optional<std::string> value = lookup(row.name);
    if (!value || value->empty()) continue;
    const std::string text = Clean(row.form == Form::kAddress ? HostOf(*value) : *value);
    if (!text.empty()) facts.push_back({"env." + std::string(row.name), text});
  }
  return facts;
}

namespace {

// Limits that keep the start of a run quick, and the file modes of git.
constexpr std::size_t kMostIndexedFiles = 20'000;  // some 20 ms of lstat
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
constexpr int kMostLinks = 5;  // of a reference to a reference
constexpr std::uint32_t kSubmodule = 0160000;
constexpr std::uint32_t kKindOfFile = 0170000;

namespace fs = std::filesystem;

// Whether a text is a commit's name, of SHA-1 or SHA-256.
bool IsCommit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The text of a file of .git. Empty if it cannot be read or is too large.
std::string WholeFile(const std::string& path) {
  const auto file = OpenInput(path);
  if (!file) return {};
  Result<std::string> text = ReadAll(**file, kMostBytes);
  return text ? std::move(*text) : std::string();
}

// The folders in which a repository keeps its data.
struct Repository {
  fs::path tree;
  fs::path git;     // of this working tree
  fs::path common;  // of all of them
};

// Looks for .git in the folder and upwards. In a worktree or submodule .git is a file that names the folder.
std::optional<Repository> FindRepository(const fs::path& folder) {
  std::error_code failed;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    const fs::path git = at / ".git";
    if (fs::is_directory(git, failed)) return Repository{at, git, git};
    const std::string link = FileText(git.string());
    if (link.starts_with("gitdir: ")) {
      Repository found{at, at / link.substr(8), {}};
      const std::string common = FileText((found.git / "commondir").string());
      found.common = common.empty() ? found.git : found.git / common;
      return found;
    }
    if (at == at.parent_path()) break;
  }
  return std::nullopt;
}

// The commit of a reference that `git pack-refs` moved into one file. A line is "<commit> <reference>".
std::string InPackedRefs(const Repository& repository, const std::string& name) {
  const std::string packed = WholeFile((repository.common / "packed-refs").string());
  const std::size_t at = packed.find(" " + name + "\n");
  if (at == std::string::npos) return {};
  const std::size_t begin = packed.rfind('\n', at) + 1;  // npos + 1 is 0
  return packed.substr(begin, at - begin);
}

// Follows HEAD to a commit. Empty for a branch without a commit. A name that leads out of .git is not followed.
std::string CommitOf(const Repository& repository) {
  std::string text = FileText((repository.git / "HEAD").string());
  for (int link = 0; link < kMostLinks && text.starts_with("ref: "); ++link) {
    const std::string name = text.substr(5);
    if (!name.starts_with("refs/") || name.find("..") != std::string::npos) return {};
    text = FileText((repository.git / name).string());
    if (text.empty()) text = FileText((repository.common / name).string());
    if (text.empty()) text = InPackedRefs(repository, name);
  }
  return IsCommit(text) ? text : std::string();
}

// Whether a file has the size and time of the index. git asks the same before it compares contents. Submodules and
// files that git was told not to check count as unchanged. Some indices have no nanoseconds; then the second decides.
bool IsAsStaged(const StagedFile& file, const fs::path& tree) {
  if (!file.checked || (file.mode & kKindOfFile) == kSubmodule) return true;
  struct stat now {};
  if (lstat((tree / file.path).c_str(), &now) != 0) return false;
  return static_cast<std::uint32_t>(now.st_size) == file.size && now.st_mtim.tv_sec == file.modified_s &&
         (file.modified_ns == 0 || now.st_mtim.tv_nsec == file.modified_ns);
}

// Reads a big-endian number of the index.
std::uint32_t Number(std::string_view bytes, std::size_t at, int size) {
  std::uint32_t number = 0;
  for (int i = 0; i < size; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

}  // namespace

// Offsets are those of the format: 12 bytes of head, then entries of at least 62 bytes with times, mode, size,
// object, flags and a name. Each entry is padded with zero bytes to a multiple of eight.
bool ReadGitIndex(std::string_view index, std::size_t most, std::vector<StagedFile>* files) {
  constexpr std::size_t kHead = 12;
  constexpr std::size_t kFixed = 62;  // of an entry, up to its name, with SHA-1
  constexpr std::uint32_t kExtended = 0x4000;
  if (index.size() < kHead || index.substr(0, 4) != "DIRC") return false;
  const std::uint32_t version = Number(index, 4, 4);
  const std::uint32_t count = Number(index, 8, 4);
  if (version < 2 || version > 3 || count > most) return false;
  std::size_t at = kHead;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (index.size() - at < kFixed) return false;
    const std::uint32_t flags = Number(index, at + 60, 2);
    const bool extended = version == 3 && (flags & kExtended) != 0;
    const std::size_t name = at + kFixed + (extended ? 2 : 0);
    const std::size_t end = name < index.size() ? index.find('\0', name) : std::string_view::npos;
    if (end == std::string_view::npos || end == name) return false;
    StagedFile file;
    file.path = index.substr(name, end - name);
    file.modified_s = Number(index, at + 8, 4);
    file.modified_ns = Number(index, at + 12, 4);
    file.mode = Number(index, at + 24, 4);
    file.size = Number(index, at + 36, 4);
    const bool skip_worktree = extended && (Number(index, at + kFixed, 2) & 0x4000) != 0;
    file.checked = (flags & 0x8000) == 0 && !skip_worktree;
    files->push_back(std::move(file));
    at += (end - at + 8) / 8 * 8;  // one to eight zero bytes follow
    if (at > index.size()) return false;
  }
  return true;
}

std::vector<RunFact> GitFacts(const std::string& folder) {
  const std::optional<Repository> repository = FindRepository(folder);
  if (!repository) return {};
  std::vector<RunFact> facts;
  const std::string commit = CommitOf(*repository);
  if (!commit.empty()) facts.push_back({"git.commit", commit});
  std::vector<StagedFile> files;
  if (!ReadGitIndex(WholeFile((repository->git / "index").string()), kMostIndexedFiles, &files)) return facts;
  const bool clean = std::all_of(files.begin(), files.end(),
                                 [&](const StagedFile& file) { return IsAsStaged(file, repository->tree); });
  facts.push_back({"git.tree", clean ? "clean" : "changed"});
  return facts;
}

}  // namespace idleburn
