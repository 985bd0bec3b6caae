#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// The short texts in which Slurm tells who has which GPU: lists of generic resources and lists of nodes. The parsers
// take text and give an absent value for any other form, so that a change of Slurm is seen and never guessed.

// One generic resource of a job or a node: "gpu:h100:2(IDX:0-1)", "shard:h100:3(IDX:3)", "shard:2(1/4,1/4)".
struct GresUse {
  std::string name;                   // "gpu", "shard", "mps"
  std::int64_t count = 0;             // in units of the resource: GPUs, or shares of all devices together
  std::vector<std::int64_t> devices;  // numbers of the devices, ascending; empty: not told
  std::vector<std::int64_t> shares;   // shares on each of `devices`, if the text tells them
};

// Reads a list of resources, as `gres_detail` and GresUsed have it. Commas inside brackets do not separate. Absent if
// any part has another form, or if a list of GPUs has not as many numbers as its count says. An empty list, "(null)"
// and "N/A" are no resources.
std::optional<std::vector<GresUse>> ParseGres(std::string_view text);

// Reads a list of numbers: "0-2,5" gives 0, 1, 2 and 5. Absent if it is no such list, not ascending, or has more than
// 1024 numbers.
std::optional<std::vector<std::int64_t>> ParseIndexList(std::string_view text);

// Where a node stands in a list of nodes: "gpu[01-03,07]" has gpu03 at position 2 of 4.
struct NodePlace {
  std::optional<std::size_t> position;  // absent: the node is not in the list
  std::size_t nodes = 0;
};
// Absent if the text is no list of nodes, or has more than 100,000.
std::optional<NodePlace> FindNode(std::string_view list, std::string_view node);

}  // namespace idleburn
