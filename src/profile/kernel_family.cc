#include "profile/kernel_family.h"

#include <algorithm>
#include <array>
#include <string>

#include "profile/trace_terms.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// A part of a kernel's name in lower case, and the family it tells. The first row that matches counts, so special names
// stand before general ones.
struct FamilyName {
  std::string_view part;
  std::string_view family;
};

constexpr std::string_view kAttentionKernels = "attention";
constexpr std::string_view kConvolution = "convolution";
constexpr std::string_view kMatrix = "matrix multiply";
constexpr std::string_view kNorm = "normalization";
constexpr std::string_view kOptimizer = "optimizer";
constexpr std::string_view kGather = "embedding, gather";
constexpr std::string_view kSort = "sort, scan";
constexpr std::string_view kReduction = "reduction";
constexpr std::string_view kElementwise = "elementwise";

// cuBLAS, cuDNN, CUTLASS, Tensile (Cijk_), MIOpen, FlashAttention, Triton and PyTorch's own kernels (aten/native).
constexpr auto kFamilyNames = std::to_array<FamilyName>({
    {"attention", kAttentionKernels},
    {"flash_", kAttentionKernels},
    {"fmha", kAttentionKernels},
    {"_attn_", kAttentionKernels},
    {"mha_varlen", kAttentionKernels},
    {"layer_norm", kNorm},
    {"layernorm", kNorm},
    {"rms_norm", kNorm},
    {"rmsnorm", kNorm},
    {"batch_norm", kNorm},
    {"batchnorm", kNorm},
    {"group_norm", kNorm},
    {"groupnorm", kNorm},
    {"rowwisemoments", kNorm},
    {"bn_fw_", kNorm},
    {"bn_bw_", kNorm},
    {"softmax", "softmax"},
    {"implicit_gemm", kConvolution},
    {"implicit_convolve", kConvolution},
    {"winograd", kConvolution},
    {"scudnn", kConvolution},
    {"igemm_fwd", kConvolution},
    {"igemm_bwd", kConvolution},
    {"igemm_wrw", kConvolution},
    {"_fprop_", kConvolution},
    {"dgrad", kConvolution},
    {"wgrad", kConvolution},
    {"conv_depthwise", kConvolution},
    {"convolution", kConvolution},
    {"conv2d", kConvolution},
    {"conv3d", kConvolution},
    {"im2col", kConvolution},
    {"gemm", kMatrix},
    {"gemv", kMatrix},
    {"cijk_", kMatrix},
    {"nvjet", kMatrix},
    {"matmul", kMatrix},
    {"cutlass", kMatrix},
    {"splitk", kMatrix},
    {"triton_tem_", kMatrix},
    {"multi_tensor_apply", kOptimizer},
    {"adam", kOptimizer},
    {"embedding", kGather},
    {"gather", kGather},
    {"scatter", kGather},
    {"index", kGather},
    {"triton_poi_", kElementwise},
    {"triton_red_", kReduction},
    {"triton_per_", kReduction},
    {"radixsort", kSort},
    {"sort", kSort},
    {"scan", kSort},
    {"topk", kSort},
    {"reduce", kReduction},
    {"elementwise", kElementwise},
    {"catarray", kElementwise},
    {"dropout", kElementwise},
    {"fill", kElementwise},
    {"copy", kElementwise},
    {"transpose", kElementwise},
});

// Kernels of PyTorch are templates: "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor...>". The
// function's own name says what it is, its arguments name what it is called with.
std::string_view WithoutTemplate(std::string_view name) { return name.substr(0, name.find('<')); }

std::string_view FamilyIn(std::string_view lower) {
  const auto found = std::find_if(kFamilyNames.begin(), kFamilyNames.end(), [&](const FamilyName& row) {
    return lower.find(row.part) != std::string_view::npos;
  });
  return found == kFamilyNames.end() ? std::string_view() : found->family;
}

std::string_view CopyFamily(CopyKind copy) {
  switch (copy) {
    case CopyKind::kHtoD:
      return "copy HtoD";
    case CopyKind::kDtoH:
      return "copy DtoH";
    case CopyKind::kDtoD:
      return "copy DtoD";
    case CopyKind::kPtoP:
      return "copy PtoP";
    default:
      return "copy, other";
  }
}

}  // namespace

std::string_view KernelFamily(std::string_view name, DeviceOp op, CopyKind copy) {
  if (op == DeviceOp::kMemset) return "set";
  if (op == DeviceOp::kMemcpy) return CopyFamily(copy);
  if (op == DeviceOp::kComm) {
    const std::string_view family = CommFamily(name);
    return family.empty() ? "communication" : family;
  }
  const std::string lower = Lower(name);
  const std::string_view function = FamilyIn(WithoutTemplate(lower));
  if (!function.empty()) return function;
  const std::string_view any = FamilyIn(lower);
  return any.empty() ? "other compute" : any;
}

}  // namespace idleburn
