#include "profile/op_work.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/int128.h"
#include "text/number.h"

namespace idleburn {
namespace {

using Dims = std::vector<std::int64_t>;

// Longer lists are no shapes.
constexpr std::size_t kMostInputs = 64;
constexpr std::size_t kMostDims = 8;
constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;

// The numbers of "[1, 2]". Absent for anything else, such as nested lists.
std::optional<Dims> ReadDims(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Dims dims;
  while (text.find_first_not_of(" \t\n\r") != std::string_view::npos) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::optional<std::int64_t> n = ParseInteger(Trim(text.substr(0, comma)));
    if (!n || *n < 0 || *n > kLargestDim || dims.size() == kMostDims) return std::nullopt;
    dims.push_back(*n);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return dims;
}

// The elements of a JSON list, without the quotes of strings. Elements may be lists.
std::vector<std::string_view> ReadList(std::string_view text) {
  std::vector<std::string_view> items;
  if (text.size() < 2 || text.front() != '[') return items;
  std::size_t from = 1;
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 1; at < text.size() && items.size() < kMostInputs; ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    const bool ends = depth == 0 && (c == ',' || c == ']');
    if (ends) {
      std::string_view item = Trim(text.substr(from, at - from));
      if (item.size() >= 2 && item.front() == '"') item = item.substr(1, item.size() - 2);
      items.push_back(item);
      from = at + 1;
      if (c == ']') break;
    }
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
  }
  return items;
}

// A product of positive numbers. Absent beyond 2^58: no operator does so much, and sums must not overflow.
std::optional<std::int64_t> Product(std::initializer_list<std::int64_t> factors) {
  constexpr Int128 kMost = Int128{1} << 58;
  Int128 product = 1;
  for (const std::int64_t f : factors) {
    product *= f;
    if (product > kMost) return std::nullopt;
  }
  return static_cast<std::int64_t>(product);
}

std::optional<std::int64_t> Elements(const Dims& dims, std::size_t from = 0) {
  std::int64_t n = 1;
  for (std::size_t i = from; i < dims.size(); ++i) {
    const std::optional<std::int64_t> more = Product({n, dims[i]});
    if (!more) return std::nullopt;
    n = *more;
  }
  return n;
}

// The inputs of one call, read as far as they can be.
struct Call {
  std::vector<std::string_view> dims;
  std::vector<std::string_view> types;
  std::vector<std::string_view> concrete;

  [[nodiscard]] std::optional<Dims> Shape(std::size_t input, std::size_t rank) const {
    const std::optional<Dims> shape = input < dims.size() ? ReadDims(dims[input]) : std::nullopt;
    return shape && (rank == 0 ? shape->size() >= 3 : shape->size() == rank) ? shape : std::nullopt;
  }
  // A list of numbers that was passed, one for each of `count` axes; a single number stands for all.
  [[nodiscard]] std::optional<Dims> Numbers(std::size_t input, std::size_t count) const {
    std::optional<Dims> list = input < concrete.size() ? ReadDims(concrete[input]) : std::nullopt;
    if (list && list->size() == 1) list->resize(count, list->front());
    return list && list->size() == count ? list : std::nullopt;
  }
};

// A product [b] x [m, k] x [k, n], or what comes to as much.
struct MatrixWork {
  std::int64_t flops = 0;
  std::int64_t elements = 0;  // read and written
};

std::optional<MatrixWork> Matrices(std::int64_t b, std::int64_t m, std::int64_t k, std::int64_t n) {
  const auto flops = Product({2, b, m, k, n});
  const auto left = Product({b, m, k});
  const auto right = Product({b, k, n});
  const auto out = Product({b, m, n});
  if (!flops || !left || !right || !out) return std::nullopt;
  return MatrixWork{*flops, *left + *right + *out};
}

// mm (rank 2) and bmm (rank 3); `first` is the index of the left factor.
std::optional<MatrixWork> MatrixProduct(const Call& call, std::size_t first, std::size_t rank) {
  const auto a = call.Shape(first, rank);
  const auto b = call.Shape(first + 1, rank);
  if (!a || !b || (*a)[rank - 1] != (*b)[rank - 2]) return std::nullopt;
  return Matrices(rank == 3 ? (*a)[0] : 1, (*a)[rank - 2], (*a)[rank - 1], (*b)[rank - 1]);
}

// 2 x output positions x channels x the inputs of each; `out` and `in` count elements.
std::optional<MatrixWork> Convolved(const Dims& activations, std::int64_t other, const Dims& weight) {
  const auto positions = Elements(activations, 2);
  const auto window = Elements(weight, 1);
  const auto weights = Elements(weight);
  if (!positions || !window || !weights) return std::nullopt;
  const auto flops = Product({2, activations[0], activations[1], *positions, *window});
  const auto own = Elements(activations);
  if (!flops || !own) return std::nullopt;
  return MatrixWork{*flops, *own + other + *weights};
}

// aten::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
std::optional<MatrixWork> Convolution(const Call& call) {
  const auto input = call.Shape(0, 0);
  const auto weight = call.Shape(1, 0);
  if (!input || !weight || input->size() != weight->size() || call.concrete.size() < 7) return std::nullopt;
  const auto read = Elements(*input);
  if (!read) return std::nullopt;
  if (call.concrete[6] == "True") return Convolved(*input, *read, *weight);
  const std::size_t axes = input->size() - 2;
  const auto stride = call.Numbers(3, axes);
  const auto padding = call.Numbers(4, axes);
  const auto dilation = call.Numbers(5, axes);
  if (!stride || !padding || !dilation) return std::nullopt;
  Dims output = {(*input)[0], (*weight)[0]};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach = (*dilation)[i] * ((*weight)[i + 2] - 1) + 1;
    const std::int64_t room = (*input)[i + 2] + 2 * (*padding)[i] - reach;
    if ((*stride)[i] <= 0 || room < 0) return std::nullopt;
    output.push_back(room / (*stride)[i] + 1);
  }
  return Convolved(output, *read, *weight);
}

// aten::convolution_backward(grad_output, input, weight, ..., output_mask): one product for each gradient that is asked
// for. That of the bias is no product.
std::optional<MatrixWork> ConvolutionBackward(const Call& call) {
  const auto grad = call.Shape(0, 0);
  const auto input = call.Shape(1, 0);
  const auto weight = call.Shape(2, 0);
  if (!grad || !input || !weight || call.concrete.empty()) return std::nullopt;
  const bool transposed = call.concrete.size() > 7 && call.concrete[7] == "True";
  const std::vector<std::string_view> mask = ReadList(call.concrete.back());
  if (mask.size() != 3) return std::nullopt;
  const std::int64_t products = std::count(mask.begin(), mask.begin() + 2, "True");
  const auto other = Elements(transposed ? *grad : *input);
  const auto one = other ? Convolved(transposed ? *input : *grad, *other, *weight) : std::nullopt;
  const auto flops = one ? Product({products, one->flops}) : std::nullopt;
  if (!flops) return std::nullopt;
  return MatrixWork{*flops, one->elements};
}

// Query, key and value of [batch, heads, length, width]. Forward: q k' and the product with v. Backward: five products.
std::optional<MatrixWork> Attention(const Call& call, std::size_t first, bool backward) {
  const auto q = call.Shape(first, 4);
  const auto k = call.Shape(first + 1, 4);
  const auto v = call.Shape(first + 2, 4);
  if (!q || !k || !v) return std::nullopt;
  const auto heads = Product({(*q)[0], (*q)[1]});
  const auto scores = heads ? Matrices(*heads, (*q)[2], (*q)[3], (*k)[2]) : std::nullopt;
  const auto values = heads ? Matrices(*heads, (*q)[2], (*k)[2], (*v)[3]) : std::nullopt;
  const auto read_q = Elements(*q);
  const auto read_k = Elements(*k);
  const auto read_v = Elements(*v);
  if (!scores || !values || !read_q || !read_k || !read_v) return std::nullopt;
  const auto flops = backward ? Product({3, scores->flops}) : std::optional(scores->flops);
  const auto more = backward ? Product({2, values->flops}) : std::optional(values->flops);
  if (!flops || !more) return std::nullopt;
  return MatrixWork{*flops + *more, 2 * *read_q + *read_k + *read_v};
}

// Operators of known work. Those that only call others of the table are not in it, so nothing counts twice.
enum class WorkForm : std::uint8_t {
  kMm,
  kAddmm,
  kBmm,
  kBaddbmm,
  kConv,
  kConvBackward,
  kAttention,
  kAttentionBackward
};
struct KnownOp {
  std::string_view name;
  WorkForm form;
};
constexpr auto kKnownOps = std::to_array<KnownOp>({
    {"aten::mm", WorkForm::kMm},
    {"aten::_scaled_mm", WorkForm::kMm},
    {"aten::addmm", WorkForm::kAddmm},
    {"aten::_addmm_activation", WorkForm::kAddmm},
    {"aten::bmm", WorkForm::kBmm},
    {"aten::baddbmm", WorkForm::kBaddbmm},
    {"aten::convolution", WorkForm::kConv},
    {"aten::convolution_backward", WorkForm::kConvBackward},
    {"aten::_scaled_dot_product_flash_attention", WorkForm::kAttention},
    {"aten::_scaled_dot_product_efficient_attention", WorkForm::kAttention},
    {"aten::_scaled_dot_product_cudnn_attention", WorkForm::kAttention},
    {"aten::_scaled_dot_product_flash_attention_backward", WorkForm::kAttentionBackward},
    {"aten::_scaled_dot_product_efficient_attention_backward", WorkForm::kAttentionBackward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", WorkForm::kAttentionBackward},
});

const KnownOp* FindKnownOp(std::string_view op) {
  const auto* row = std::find_if(kKnownOps.begin(), kKnownOps.end(), [&](const KnownOp& o) { return o.name == op; });
  return row == kKnownOps.end() ? nullptr : row;
}

std::optional<MatrixWork> MatrixWorkOf(WorkForm form, const Call& call) {
  switch (form) {
    case WorkForm::kMm:
      return MatrixProduct(call, 0, 2);
    case WorkForm::kAddmm:
      return MatrixProduct(call, 1, 2);
    case WorkForm::kBmm:
      return MatrixProduct(call, 0, 3);
    case WorkForm::kBaddbmm:
      return MatrixProduct(call, 1, 3);
    case WorkForm::kConv:
      return Convolution(call);
    case WorkForm::kConvBackward:
      return ConvolutionBackward(call);
    case WorkForm::kAttention:
      return Attention(call, 0, false);
    case WorkForm::kAttentionBackward:
      return Attention(call, 1, true);
  }
  return std::nullopt;
}

// Bytes of an element. Absent for types that products do not have.
std::optional<std::int64_t> BytesOf(std::string_view type) {
  if (type == "float" || type == "int") return 4;
  if (type == "double") return 8;
  if (type == "c10::Half" || type == "c10::BFloat16") return 2;
  if (type.starts_with("c10::Float8")) return 1;
  return std::nullopt;
}

}  // namespace

bool HasKnownWork(std::string_view op) { return op.starts_with("aten::") && FindKnownOp(op) != nullptr; }

std::optional<OpWork> WorkOf(std::string_view op, const OpInputs& inputs) {
  const KnownOp* known = FindKnownOp(op);
  if (known == nullptr) return std::nullopt;
  const Call call = {ReadList(inputs.dims), ReadList(inputs.types), ReadList(inputs.concrete)};
  // The second input is a factor in every form.
  const std::optional<std::int64_t> size = call.types.size() > 1 ? BytesOf(call.types[1]) : std::nullopt;
  const std::optional<MatrixWork> work = MatrixWorkOf(known->form, call);
  const auto bytes = size && work ? Product({*size, work->elements}) : std::nullopt;
  if (!bytes) return std::nullopt;
  return OpWork{work->flops, *bytes, *size >= 4, *size == 1};
}

}  // namespace idleburn
