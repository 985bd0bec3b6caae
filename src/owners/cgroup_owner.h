#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// What the path of a process's control group tells of its owner.
enum class GroupKind : std::uint8_t {
  kNone,        // nothing: the machine's own group, or a service
  kSlurm,       // a job of Slurm
  kSlurmOther,  // below Slurm's scope, but in no form that names a job: the job is unknown, not absent
  kPod,         // a pod of Kubernetes
  kContainer,   // a container outside Kubernetes
  kUser         // a login session
};

struct GroupOwner {
  GroupKind kind = GroupKind::kNone;
  std::string job;                    // Slurm: the number of the job
  std::string step;                   // Slurm: "batch", "interactive", "extern", "0"
  std::string host;                   // the slurmd of the job where a machine runs several; else empty
  std::string pod;                    // UID with dashes; of a static pod 32 digits without
  std::string container;              // id of 64 hexadecimal digits
  std::string engine;                 // "docker", "podman", "containerd", "crio"
  std::optional<std::uint32_t> user;  // of a login session
};

// Reads the path of one control group. Paths by system and version:
//
//     Slurm, v1       /slurm/uid_1000/job_211/step_0/task_0, with several slurmd /slurm_<host>/uid_.../job_...
//     Slurm, v2       /system.slice/slurmstepd.scope/job_211/step_batch/user/task_0, or <host>_slurmstepd.scope
//     cgroupfs        /kubepods/burstable/pod<UID>/<container>
//     systemd         /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<UID_>.slice/<engine>-<id>.scope
//     docker, podman  /docker/<id>, /system.slice/docker-<id>.scope, /machine.slice/libpod-<id>.scope
//     login           /user.slice/user-1000.slice/session-3.scope
GroupOwner OwnerOfGroup(std::string_view path);

// Reads /proc/PID/cgroup, which has a path for each hierarchy. The most telling one counts: a job of Slurm before a
// pod, a container and a login.
GroupOwner OwnerOfGroups(std::string_view text);

// Control groups on this machine, below a root such as /sys/fs/cgroup, in version 1 or 2.
struct LiveGroups {
  bool slurm = false;                                          // a folder of Slurm is visible
  bool pods = false;                                           // a folder of Kubernetes is visible
  std::map<std::string, bool, std::less<>> jobs;               // numbers of jobs with a group
  std::map<std::string, bool, std::less<>> pod_has_processes;  // by UID
};
// Looks at the folders of Slurm and Kubernetes. It reads some hundred folders, so it is not done every second.
LiveGroups FindLiveGroups(const std::string& root);

}  // namespace idleburn
