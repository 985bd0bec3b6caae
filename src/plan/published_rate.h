#pragma once

#include <optional>
#include <string>

#include "plan/calibration.h"

namespace idleburn {

// Rates of models whose operations are not counted: convolutions, diffusion. They are published per GPU and number
// format (data/plan/rates.csv), and carried over to other GPUs by what these can do.

// Samples a second of one GPU, with the interval between what memory bandwidth and what arithmetic say of the other
// GPU. Absent where no rate of the model in the run's number format is published, or the GPU is not known.
std::optional<LikelyRange> PublishedSamplesPerSecond(const RunRow& row);

// What one sample of that model is: "images of 224 px". Empty where no rate is published.
std::string PublishedSample(const RunRow& row);

}  // namespace idleburn
