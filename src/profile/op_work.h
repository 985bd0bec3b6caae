#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "profile/profile_names.h"

namespace idleburn {

// The arithmetic of an operator, from the shapes of its inputs. FLOPs count a multiplication and an addition as two.
// Bytes are the least that must move: each input and the output once.
struct OpWork {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
  bool single = false;  // inputs of 32 bits or more: not the work that half-precision peaks are about
  bool fp8 = false;

  friend bool operator==(const OpWork&, const OpWork&) = default;
};

// A call of such an operator.
struct ShapedOp {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  OpWork work;
  NameId name = kNoName;
  std::uint32_t thread = 0;  // index into Profile::threads

  friend bool operator==(const ShapedOp&, const ShapedOp&) = default;
};
static_assert(sizeof(ShapedOp) <= 48);

// Calls that are kept of one file: 48 MiB. Beyond it, nothing is said of the file's arithmetic.
inline constexpr std::size_t kKeptShapedOps = std::size_t{1} << 20;

// What PyTorch records of an operator with record_shapes=True, as JSON text.
struct OpInputs {
  std::string_view dims;      // "Input Dims": [[512], [141, 512], [512, 512], [], []]
  std::string_view types;     // "Input type": ["c10::Half", "float", "Scalar"]
  std::string_view concrete;  // "Concrete Inputs": ["", "", "", "[16, 16]"]
};

// Whether the operator is one whose arithmetic is known: matrix products, convolutions, attention. Asked first, because
// reading shapes costs more than the rest of an entry.
bool HasKnownWork(std::string_view op);

// The work of a call. Absent if a shape, a type or a stride is missing. Formulas are those of PyTorch's
// torch/utils/flop_counter.py: 2 m k n for products; for convolutions 2 x output elements x inputs of one; for
// attention both products in full, causal or not; backward passes as many products as they need.
std::optional<OpWork> WorkOf(std::string_view op, const OpInputs& inputs);

}  // namespace idleburn
