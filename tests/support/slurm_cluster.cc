#include "support/slurm_cluster.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "support/service.h"

namespace idleburn::testing {
namespace {

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

std::string SlurmCluster::WhyNot(SlurmJobs jobs) {
  if (jobs == SlurmJobs::kInCgroups && (getuid() != 0 || access("/sys/fs/cgroup/freezer", W_OK) != 0)) {
    return "control groups of version 1 that may be written are missing, or the rights of root";
  }
  return Trimmed(RunShell("for p in munged slurmctld slurmd squeue sbatch scontrol setpriv; do PATH=$PATH:/usr/sbin "
                          "command -v $p >/dev/null || echo \"$p is missing\"; done")
                     .out);
}

void SlurmCluster::WriteConfiguration() {
  const bool groups = jobs_ == SlurmJobs::kInCgroups;
  const std::string r = folder_.path().string();
  const std::string port = std::to_string(FreePort());
  const std::string node_port = std::to_string(FreePort());
  const std::string ctld_log = "SlurmctldLogFile=" + r + "/log/slurmctld.log\n";
  (void)folder_.Write(
      "slurm.conf",
      "ClusterName=idleburn\nSlurmctldHost=" + node_ + "(127.0.0.1)\nSlurmctldPort=" + port + "\nSlurmdPort=" +
          node_port + "\nAuthType=auth/munge\nAuthInfo=socket=" + r + "/run/munge.sock\nSlurmUser=" + user_ +
          "\nSlurmdUser=" + (groups ? "root" : user_) + "\nStateSaveLocation=" + r + "/ctld\nSlurmdSpoolDir=" + r +
          "/d\nSlurmctldPidFile=" + r + "/run/slurmctld.pid\nSlurmdPidFile=" + r + "/run/slurmd.pid\n" + ctld_log +
          "SlurmdLogFile=" + r + "/log/slurmd.log\n" +
          (groups ? "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
                  : "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n") +
          "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nGresTypes=gpu,shard\n"
          "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
          "MailProg=/bin/true\nSlurmdParameters=config_overrides\n"
          "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\nNodeName=" +
          node_ +
          " NodeAddr=127.0.0.1 CPUs=8 RealMemory=500 Gres=gpu:h100:4,shard:h100:16 State=UNKNOWN\n"
          "PartitionName=gpu Nodes=" +
          node_ + " Default=YES MaxTime=INFINITE State=UP\n");
  (void)folder_.Write("gres.conf", "Name=gpu Type=h100 File=" + r + "/gpu/nvidia[0-3]\nName=shard Count=16\n");
  (void)folder_.Write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n");
  // Plain files stand in for devices: nothing opens them.
  RunShell("cd " + r + " && mkdir ctld d log gpu run bin && touch gpu/nvidia0 gpu/nvidia1 gpu/nvidia2 gpu/nvidia3 && " +
           "head -c 1024 /dev/urandom >munge.key && chmod 400 munge.key && chmod 755 .");
  for (const char* name : {"squeue", "scontrol"}) {
    const std::string program = folder_.Write(std::string("bin/") + name,
                                              "#!/bin/sh\nSLURM_CONF=" + r + "/slurm.conf exec " + name + " \"$@\"\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all | std::filesystem::perms::group_exec |
                                              std::filesystem::perms::group_read | std::filesystem::perms::others_exec |
                                              std::filesystem::perms::others_read);
  }
}

SlurmCluster::SlurmCluster(SlurmJobs jobs) : jobs_(jobs) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  node_ = std::string(name.data()).substr(0, std::string(name.data()).find('.'));
  const bool root = getuid() == 0;
  const passwd* user = root ? getpwnam("nobody") : getpwuid(getuid());
  user_ = user == nullptr ? "nobody" : user->pw_name;
  if (root) as_user_ = "setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs ";
  WriteConfiguration();
  const std::string r = folder_.path().string();
  if (root) MustRunTool("chown -R nobody:nogroup " + r);
  const auto begin = [&](const std::string& command, const std::string& log, const std::string& as) {
    RunShell("export PATH=$PATH:/usr/sbin SLURM_CONF=" + r + "/slurm.conf; " + as + command + " >" + r + "/log/" + log +
             " 2>&1 </dev/null & echo $! >>" + r + "/pids");
  };
  begin("munged -F --force --key-file=" + r + "/munge.key --socket=" + r + "/run/munge.sock --pid-file=" + r +
            "/run/munged.pid --log-file=" + r + "/log/munged.log --seed-file=" + r + "/run/munge.seed --num-threads=2",
        "munged.out", as_user_);
  RunShell("for i in $(seq 100); do [ -S " + r + "/run/munge.sock ] && break; sleep 0.1; done");
  begin("slurmctld -D", "slurmctld.out", as_user_);
  begin("slurmd -D -N " + node_, "slurmd.out", jobs_ == SlurmJobs::kInCgroups ? "" : as_user_);
  ready_ = Run("for i in $(seq 300); do s=$(sinfo -h -o %T 2>/dev/null); [ \"$s\" = idle ] && break; sleep 0.1; done; "
               "echo $s") == "idle";
}

SlurmCluster::~SlurmCluster() {
  // Jobs end first, because only the controller ends them; then the daemons, the last one started first.
  if (ready_) {
    (void)Run(
        "kill -0 $(cat run/slurmctld.pid) && { scancel --me; for i in $(seq 50); do "
        "[ -z \"$(squeue -h -t R,CG)\" ] && break; sleep 0.1; done; }");
  }
  RunShell("for p in $(tac " + Path("pids") + "); do kill $p 2>/dev/null; for i in $(seq 100); do kill -0 $p " +
           "2>/dev/null || break; sleep 0.1; done; kill -9 $p 2>/dev/null; done");
  // slurmd leaves its empty groups behind.
  if (jobs_ == SlurmJobs::kInCgroups) {
    RunShell("find /sys/fs/cgroup/*/slurm_" + node_ +
             " /sys/fs/cgroup/*/slurm -depth -type d -exec rmdir {} + "
             "2>/dev/null");
  }
}

std::string SlurmCluster::Logs() const { return RunShell("tail -n 15 " + Path("log") + "/*").out; }

std::string SlurmCluster::Run(const std::string& words) const {
  const std::string script = folder_.Write("run.sh", "cd " + folder_.path().string() + "\n" + words + "\n");
  return Trimmed(RunShell("SLURM_CONF=" + Path("slurm.conf") + " " + as_user_ + "sh " + script).out);
}

std::string SlurmCluster::Program(const std::string& name) const { return Path("bin/" + name); }

}  // namespace idleburn::testing
