#include "plan/frozen_base.h"

namespace idleburn {

void StoreBaseIn(BaseFormat format, RunConfig& run) {
  constexpr double kInt8 = 1;
  constexpr double kNf4 = 0.515875;  // double quantised (QLoRA paper)
  if (format == BaseFormat::kAsIs) return;
  run.method = format == BaseFormat::kNf4 ? TuneMethod::kQlora : TuneMethod::kLora;
  run.bytes.frozen = format == BaseFormat::kNf4 ? kNf4 : kInt8;
  run.bytes.frozen_vocab = 4;
}

}  // namespace idleburn
