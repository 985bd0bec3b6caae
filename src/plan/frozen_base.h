#pragma once

#include "plan/run_config.h"

namespace idleburn {

// In what the weights under a LoRA are stored.
enum class BaseFormat : std::uint8_t { kAsIs, kInt8, kNf4 };

// Stores the linear layers of the body in 8 or 4 bits, as bitsandbytes does; embedding and head, which PEFT raises for
// such training (prepare_model_for_kbit_training), in fp32. Four bits make the run a QLoRA, whose layers are unpacked
// while they are used; eight multiply as they are.
void StoreBaseIn(BaseFormat format, RunConfig& run);

}  // namespace idleburn
