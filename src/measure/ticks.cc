#include "measure/ticks.h"

namespace idleburn {

void Ticks::Served(Nanos now) {
  const std::int64_t late = now < next_ ? 0 : (now - next_) / period_;
  missed_ += late;
  next_ += period_ * (late + 1);
}

}  // namespace idleburn
