#pragma once

#include <cstdint>
#include <string>

namespace idleburn::test {

// A file as rocprofv3 writes it, of one process, a CPU and two GPUs. The agents are 10 (CPU), 20 (GPU 0), 30 (GPU 1).
// Kernels are 1 "gemm", 2 "ncclDevKernel_AllReduce", 3 the one with which HIP copies, 4 the one with which it sets.
class RocprofFile {
 public:
  static constexpr int kCpu = 10;
  static int Gpu(int number) { return 20 + 10 * number; }

  RocprofFile& Kernel(int gpu, int kernel, std::int64_t start, std::int64_t end, std::int64_t correlation = 0) {
    return Add(kernels_, Record(11, 1, 7, start, end, correlation) + R"(, "dispatch_info": {"size": 64, "agent_id": )" +
                             Handle(Gpu(gpu)) + R"(, "queue_id": {"handle": 3}, "kernel_id": )" +
                             std::to_string(kernel) + R"(, "grid_size": {"x": 1, "y": 1, "z": 1}})");
  }
  RocprofFile& Copy(int from, int to, std::int64_t bytes, std::int64_t start, std::int64_t end,
                    std::int64_t correlation = 0) {
    return Add(copies_, Record(3, 2, 7, start, end, correlation) + R"(, "dst_agent_id": )" + Handle(to) +
                            R"(, "src_agent_id": )" + Handle(from) + R"(, "bytes": )" + std::to_string(bytes));
  }
  // Operations are 0 hipLaunchKernel, 1 hipMemcpyAsync, 2 hipDeviceSynchronize.
  RocprofFile& Call(int operation, std::int64_t start, std::int64_t end, std::int64_t correlation, int thread = 7) {
    return Add(calls_, Record(1, operation, thread, start, end, correlation));
  }
  // Operations are 0 roctxMarkA, 1 roctxRangePushA.
  RocprofFile& Marker(const std::string& text, std::int64_t start, std::int64_t end, std::int64_t correlation,
                      int operation = 1, int thread = 7) {
    Add(messages_, R"("key": )" + std::to_string(correlation) + R"(, "value": ")" + text + "\"");
    return Add(markers_, Record(2, operation, thread, start, end, correlation));
  }
  // Adds a record as it is written.
  RocprofFile& Raw(const std::string& record) { return Add(kernels_, record, ""); }

  // The file as rocprofv3 orders it, or with the keys in the order of the alphabet.
  [[nodiscard]] std::string Text(bool sorted = false) const {
    const std::string records = R"("buffer_records": {"kernel_dispatch": [)" + kernels_ + R"(], "hip_api": [)" +
                                calls_ + R"(], "memory_copy": [)" + copies_ + R"(], "marker_api": [)" + markers_ +
                                R"(], "memory_allocation": [{"kind": 9}]})";
    return R"({"rocprofiler-sdk-tool": [{)" +
           (sorted ? kAgents + ", " + records + ", " + kSymbols + ", " + kMetadata + ", " + Strings()
                   : kMetadata + ", " + kAgents + ", " + Strings() + ", " + kSymbols + ", " + records) +
           "}]}\n";
  }

 private:
  static std::string Handle(int id) { return R"({"handle": )" + std::to_string(id) + "}"; }
  static std::string Record(int kind, int operation, int thread, std::int64_t start, std::int64_t end,
                            std::int64_t correlation) {
    return R"("size": 72, "kind": )" + std::to_string(kind) + R"(, "operation": )" + std::to_string(operation) +
           R"(, "thread_id": )" + std::to_string(thread) + R"(, "correlation_id": {"internal": )" +
           std::to_string(correlation) + R"(, "external": 0}, "start_timestamp": )" + std::to_string(start) +
           R"(, "end_timestamp": )" + std::to_string(end);
  }
  RocprofFile& Add(std::string& list, const std::string& members, const std::string& brace = "{") {
    list += (list.empty() ? "" : ", ") + (brace + members) + (brace.empty() ? "" : "}");
    return *this;
  }
  [[nodiscard]] std::string Strings() const {
    return R"("strings": {"callback_records": [{"kind": "NONE", "operations": []}], "buffer_records": [
      {"kind": "NONE", "operations": []},
      {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync", "hipDeviceSynchronize"]},
      {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
      {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"]}],
      "marker_api": [)" +
           messages_ + R"(], "counters": {"dimension_ids": []}})";
  }

  static inline const std::string kMetadata =
      R"("metadata": {"pid": 4711, "init_time": 1, "config": {"output_path": "/srv/x"}, "command": ["a", "b"]})";
  static inline const std::string kAgents = R"("agents": [
      {"size": 1, "id": {"handle": 10}, "type": 1, "name": "CPU", "product_name": "CPU", "logical_node_type_id": 0},
      {"size": 1, "id": {"handle": 20}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X",
       "logical_node_type_id": 0, "mem_banks": [{"heap_type": 1}]},
      {"size": 1, "id": {"handle": 30}, "type": 2, "name": "gfx942", "product_name": "", "logical_node_type_id": 1}])";
  static inline const std::string kSymbols = R"_("kernel_symbols": [
      {"kernel_id": 1, "kernel_name": "_Z4gemmPf.kd",
       "formatted_kernel_name": "gemm", "demangled_kernel_name": "gemm(float*)"},
      {"kernel_id": 2, "kernel_name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL.kd"},
      {"kernel_id": 3, "kernel_name": "__amd_rocclr_copyBuffer.kd"},
      {"kernel_id": 4, "kernel_name": "__amd_rocclr_fillBufferAligned.kd"}])_";

  std::string kernels_;
  std::string copies_;
  std::string calls_;
  std::string markers_;
  std::string messages_;
};

}  // namespace idleburn::test
