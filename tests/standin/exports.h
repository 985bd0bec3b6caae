#pragma once

#include <algorithm>
#include <cstring>

#include "standin/node.h"

namespace idleburn::standin {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

// One call into the library: counts it, lets the script interfere, and checks that the library is initialised.
template <typename Body>
nvml::Return Enter(const char* function, Body body) {
  Node& node = Node::This();
  const int inside = ++node.inside;
  nvml::Return code = node.Trouble(function, nullptr);
  {
    const std::lock_guard lock(node.mutex);
    ++node.counts.calls;
    node.counts.most_inside = std::max(node.counts.most_inside, inside);
    if (code == nvml::kSuccess && !node.initialised) {
      ++node.counts.uninitialised;
      code = nvml::kUninitialized;
    }
    if (code == nvml::kSuccess) code = body(node);
  }
  --node.inside;
  return code;
}

// The same for a call about one device.
template <typename Body>
nvml::Return About(const char* function, nvml::Device device, Body body) {
  Node& node = Node::This();
  const int inside = ++node.inside;
  Handle* handle = nullptr;
  {
    const std::lock_guard lock(node.mutex);
    handle = node.Find(device);
  }
  nvml::Return code = node.Trouble(function, handle);
  {
    const std::lock_guard lock(node.mutex);
    ++node.counts.calls;
    node.counts.most_inside = std::max(node.counts.most_inside, inside);
    if (code == nvml::kSuccess && !node.initialised) code = nvml::kUninitialized;
    if (code == nvml::kSuccess && handle == nullptr) code = nvml::kInvalidArgument;
    if (code == nvml::kSuccess && handle->board->activity().Lost(node.Now())) code = nvml::kGpuIsLost;
    if (code == nvml::kSuccess) code = body(node, *handle, *handle->board, node.Now());
  }
  --node.inside;
  return code;
}

inline nvml::Return CopyText(const std::string& text, char* out, U32 size) {
  if (text.size() + 1 > size) return nvml::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return nvml::kSuccess;
}

// Fills a list by the pattern of two calls: too little room gives the size that is needed.
template <typename T>
nvml::Return CopyList(const std::vector<T>& list, U32* count, T* out) {
  const auto size = static_cast<U32>(list.size());
  const bool room = out != nullptr && *count >= size;
  *count = size;
  if (room) std::copy(list.begin(), list.end(), out);
  return room || size == 0 ? nvml::kSuccess : nvml::kInsufficientSize;
}

}  // namespace idleburn::standin
