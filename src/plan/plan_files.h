#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "plan/plan_words.h"

namespace idleburn {

// Files that people already have and that describe a run or its model. Each reader translates into the words of a plan
// and lists what it did not use, so that nobody believes an ignored key was counted.

// A file that describes a run or its model, in the words of a plan.
struct PlanFile {
  PlanWords words;
  // Keys that no plan knows, as the file writes them.
  std::vector<std::string> unused;
};

// Reads a file by the ending of its name: .json is a model's config.json, .yaml or .yml a training configuration, and
// all else TOML.
Result<PlanFile> ReadPlanFile(ByteSource& in, const std::string& name);

// Reads a config.json of Hugging Face. Fails if it is no JSON object or names no layers.
Result<PlanFile> ReadHfConfig(std::string_view text, const std::string& name);

// Reads a training configuration of axolotl, LLaMA-Factory, torchtune or TRL. It is a best effort; keys that are not
// understood are listed.
Result<PlanFile> ReadTrainingYaml(const std::string& text, const std::string& name);

// Reads a plan in TOML, which has the names of PlanKeys at the top level.
Result<PlanFile> ReadPlanToml(std::string_view text, const std::string& name);

}  // namespace idleburn
