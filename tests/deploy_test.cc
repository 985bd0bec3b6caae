// The files of deploy/ do what they say: hardened, with the smallest rights, and accepted by the programs that read
// them.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "places.h"
#include "support/program.h"
#include "support/read_inputs.h"

namespace idleburn {
namespace {

using testing::ProgramRun;
using testing::ReadText;
using testing::RunShell;
using testing::TempFolder;
using testing::WithoutPrograms;

std::string Deploy(const std::string& file) { return std::string(IDLEBURN_ROOT) + "/deploy/" + file; }

TEST(Deploy, TheServiceIsHardened) {
  if (!WithoutPrograms({"systemd-analyze"}).empty())
    GTEST_SKIP() << "systemd-analyze is missing (apt-get install systemd)";
  const ProgramRun run = RunShell("systemd-analyze security --offline=true --threshold=19 --no-pager " +
                                  Deploy("systemd/idleburn-agent.service"));
  EXPECT_EQ(run.code, 0) << "the exposure level must be below 2.0\n" << run.out << run.err;
  EXPECT_NE(run.out.find("Overall exposure level"), std::string::npos) << run.err;
}

// The fields that the manifest may use, by the path of their parent. "*" stands for any key.
const std::map<std::string, std::set<std::string>>& AllowedFields() {
  static const std::map<std::string, std::set<std::string>> kAllowed = {
      {"", {"apiVersion", "kind", "metadata", "spec"}},
      {"metadata", {"name", "namespace", "labels", "annotations"}},
      {"spec", {"selector", "updateStrategy", "template"}},
      {"spec.selector", {"matchLabels"}},
      {"spec.updateStrategy", {"type", "rollingUpdate"}},
      {"spec.updateStrategy.rollingUpdate", {"maxUnavailable", "maxSurge"}},
      {"spec.template", {"metadata", "spec"}},
      {"spec.template.metadata", {"labels", "annotations"}},
      {"spec.template.spec",
       {"automountServiceAccountToken", "enableServiceLinks", "hostPID", "runtimeClassName",
        "terminationGracePeriodSeconds", "nodeSelector", "tolerations", "securityContext", "containers", "volumes"}},
      {"spec.template.spec.securityContext", {"seccompProfile"}},
      {"spec.template.spec.securityContext.seccompProfile", {"type"}},
      {"spec.template.spec.tolerations[]", {"key", "operator", "effect", "value"}},
      {"spec.template.spec.containers[]",
       {"name", "image", "args", "env", "ports", "livenessProbe", "readinessProbe", "resources", "securityContext",
        "volumeMounts"}},
      {"spec.template.spec.containers[].env[]", {"name", "value", "valueFrom"}},
      {"spec.template.spec.containers[].env[].valueFrom", {"fieldRef"}},
      {"spec.template.spec.containers[].env[].valueFrom.fieldRef", {"fieldPath"}},
      {"spec.template.spec.containers[].ports[]", {"name", "containerPort"}},
      {"spec.template.spec.containers[].livenessProbe", {"httpGet", "periodSeconds"}},
      {"spec.template.spec.containers[].livenessProbe.httpGet", {"path", "port"}},
      {"spec.template.spec.containers[].readinessProbe", {"httpGet", "periodSeconds"}},
      {"spec.template.spec.containers[].readinessProbe.httpGet", {"path", "port"}},
      {"spec.template.spec.containers[].resources", {"requests", "limits"}},
      {"spec.template.spec.containers[].resources.requests", {"cpu", "memory"}},
      {"spec.template.spec.containers[].resources.limits", {"memory"}},
      {"spec.template.spec.containers[].securityContext",
       {"runAsUser", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "capabilities"}},
      {"spec.template.spec.containers[].securityContext.capabilities", {"drop"}},
      {"spec.template.spec.containers[].volumeMounts[]", {"name", "mountPath", "readOnly"}},
      {"spec.template.spec.volumes[]", {"name", "hostPath"}},
      {"spec.template.spec.volumes[].hostPath", {"path", "type"}},
  };
  return kAllowed;
}

void CheckFields(const YAML::Node& node, const std::string& path) {
  if (node.IsSequence()) {
    for (const YAML::Node& each : node) CheckFields(each, path + "[]");
  }
  if (!node.IsMap()) return;
  const bool free = path.ends_with("labels") || path.ends_with("matchLabels") || path.ends_with("annotations") ||
                    path.ends_with("nodeSelector");
  for (const auto& each : node) {
    const auto key = each.first.as<std::string>();
    if (!free) {
      const auto allowed = AllowedFields().find(path);
      EXPECT_TRUE(allowed != AllowedFields().end() && allowed->second.contains(key)) << path << " has " << key;
    }
    CheckFields(each.second, path.empty() ? key : path + "." + key);
  }
}

TEST(Deploy, TheDaemonSetHasTheSmallestRights) {
  const YAML::Node manifest = YAML::LoadFile(Deploy("kubernetes/daemonset.yaml"));
  CheckFields(manifest, "");
  const YAML::Node pod = manifest["spec"]["template"]["spec"];
  EXPECT_FALSE(pod["automountServiceAccountToken"].as<bool>());
  const YAML::Node container = pod["containers"][0];
  const YAML::Node rights = container["securityContext"];
  EXPECT_FALSE(rights["allowPrivilegeEscalation"].as<bool>());
  EXPECT_TRUE(rights["readOnlyRootFilesystem"].as<bool>());
  EXPECT_EQ(rights["capabilities"]["drop"][0].as<std::string>(), "ALL");
  for (const YAML::Node& mount : container["volumeMounts"]) {
    const bool state = mount["name"].as<std::string>() == "state";
    EXPECT_EQ(mount["readOnly"] && mount["readOnly"].as<bool>(), !state) << mount["name"];
  }
  for (const auto& label : manifest["spec"]["selector"]["matchLabels"]) {
    const auto key = label.first.as<std::string>();
    EXPECT_EQ(manifest["spec"]["template"]["metadata"]["labels"][key].as<std::string>(),
              label.second.as<std::string>());
  }
}

// Every flag in the files of deploy/ is one of the agent's.
TEST(Deploy, ItsFlagsAreTheAgents) {
  const std::string help = testing::RunIdleburn("agent --help").out;
  const std::string args = ReadText(Deploy("kubernetes/daemonset.yaml"));
  const std::regex flag("- (--[a-z.-]+)");
  int flags = 0;
  for (auto at = std::sregex_iterator(args.begin(), args.end(), flag); at != std::sregex_iterator(); ++at, ++flags)
    EXPECT_NE(help.find((*at)[1].str() + " "), std::string::npos) << (*at)[1];
  EXPECT_GE(flags, 5);
}

TEST(Deploy, PrometheusTakesTheScrapeJobs) {
  if (const std::string missing = WithoutPrograms({"promtool"}); !missing.empty()) GTEST_SKIP() << missing;
  for (const char* file : {"prometheus/scrape.yml", "vmagent/scrape.yml"}) {
    const ProgramRun run = RunShell("promtool check config " + Deploy(file));
    EXPECT_EQ(run.code, 0) << run.out << run.err;
  }
}

TEST(Deploy, VmagentTakesItsScrapeJob) {
  if (const std::string missing = WithoutPrograms({"vmagent"}); !missing.empty()) GTEST_SKIP() << missing;
  const ProgramRun run = RunShell("vmagent -dryRun -remoteWrite.url=http://127.0.0.1:1 -promscrape.config=" +
                                  Deploy("vmagent/scrape.yml"));
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST(Deploy, ThePrologWritesAFileForEachGpuAndTheEpilogRemovesThem) {
  const TempFolder folder;
  const std::string smi = folder.Write("smi", "#!/bin/sh\necho GPU-0000000${1#--id=}\n");
  const std::string before = "chmod +x " + smi + "; export IDLEBURN_NVIDIA_SMI=" + smi +
                             " IDLEBURN_JOB_FILES=" + folder.path().string() +
                             "/jobs SLURM_JOB_ID=4711 SLURM_JOB_UID=1000;";
  ASSERT_EQ(RunShell(before + " SLURM_JOB_GPUS=0,3 " + Deploy("slurm/prolog.sh")).code, 0);
  ASSERT_EQ(RunShell(before + " SLURM_JOB_GPUS=GPU-abc SLURM_JOB_ID=12 " + Deploy("slurm/prolog.sh")).code, 0);
  const std::string jobs = folder.path().string() + "/jobs/";
  EXPECT_TRUE(std::regex_match(ReadText(jobs + "GPU-00000003"), std::regex("4711 [0-9]{10} 1000\n")));
  EXPECT_TRUE(std::filesystem::exists(jobs + "GPU-00000000"));
  ASSERT_EQ(RunShell(before + Deploy("slurm/epilog.sh")).code, 0);
  EXPECT_FALSE(std::filesystem::exists(jobs + "GPU-00000000"));
  EXPECT_TRUE(std::filesystem::exists(jobs + "GPU-abc")) << "another job's file stays";
}

TEST(Deploy, PrologAndEpilogNeverFailAJob) {
  for (const char* file : {"slurm/prolog.sh", "slurm/epilog.sh"}) {
    EXPECT_EQ(RunShell("env -i PATH=$PATH " + Deploy(file)).code, 0);
    EXPECT_EQ(
        RunShell("env -i PATH=$PATH SLURM_JOB_ID=1 SLURM_JOB_GPUS=0 IDLEBURN_JOB_FILES=/proc/none " + Deploy(file))
            .code,
        0);
  }
}

}  // namespace
}  // namespace idleburn
