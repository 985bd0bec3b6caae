// The input is a block of the fleet's ledger, a state of a node, and a name. What is read is written again and read as
// the same.
#include "fleet/ledger_cells.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<idleburn::CellRow> rows;
  if (idleburn::ReadBlock(bytes, &rows)) {
    std::vector<idleburn::CellRow> again;
    CHECK(idleburn::ReadBlock(idleburn::BlockBytes(rows), &again) && again.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(again[i].id == rows[i].id && again[i].time.phases == rows[i].time.phases &&
            again[i].time.reset_ms == rows[i].time.reset_ms);
    }
  }
  if (const auto state = idleburn::StateFrom(3600, bytes))
    CHECK(idleburn::StateFrom(3600, idleburn::StateBytes(*state)) == state);
  if (const auto name = idleburn::NameFrom(idleburn::CellKind::kJob, "n", bytes)) {
    const auto again =
        idleburn::NameFrom(idleburn::CellKind::kJob, "n", idleburn::NameBytes(idleburn::CellKind::kJob, *name));
    CHECK(again && again->owner == name->owner);
  }
  return 0;
}
