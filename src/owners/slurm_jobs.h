#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "owners/gres_text.h"

namespace idleburn {

// A job of Slurm that has resources of this node.
struct SlurmJob {
  std::string id;      // as people write it: "4711", "4711_3" of an array, "4711+1" of a heterogeneous job
  std::string raw_id;  // the number that control groups and SLURM_JOB_ID have
  std::string cluster;
  std::string user;
  std::string account;
  std::string name;  // hostile text
  Instant start;
  std::vector<GresUse> gres;  // of this node
};

// What squeue tells of one node. A job that runs or is suspended holds its resources. A job that is completing has
// ended, as in accounting (sacct's End); its GPUs may still be in the epilog.
struct SlurmQueue {
  std::vector<SlurmJob> jobs;  // those that hold something
  bool completing = false;     // some job of the node is in its epilog
  // Jobs of this node with an entry that could not be read, one line each. Which GPUs they hold is not known.
  std::vector<std::string> faults;
};

// Reads what `squeue --json` writes, of Slurm 22.05 to 25.11. Their forms differ: a time is a number or an object with
// `set` and `number`, a state is a text or a list. JSON and not `scontrol show job`, because a job's name may contain
// newlines there: "x\n JobState=RUNNING" would forge a line.
//
// Fails if the text is no such document; nothing is then known. `text` is consumed.
Result<SlurmQueue> ParseSqueue(std::string text, std::string_view node);

// The resources of a node, from `scontrol show node -d`. Everybody may read them, also where PrivateData hides jobs.
struct SlurmNode {
  std::vector<GresUse> has;   // Gres=
  std::vector<GresUse> used;  // GresUsed=
};
// Fails if one of the lines is missing or has another form.
Result<SlurmNode> ParseScontrolNode(std::string_view text);

}  // namespace idleburn
