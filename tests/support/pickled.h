#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace idleburn::test {

// Pickles for tests, written by hand from pickletools' description of protocol 2. Each function returns the opcodes of
// one value; Pickle makes a file of them.

inline std::string LittleEndian(std::uint64_t number, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}
inline std::string PickledInt(std::int64_t number) {
  return std::string("\x8a\x08", 2) + LittleEndian(static_cast<std::uint64_t>(number), 8);
}
inline std::string PickledText(std::string_view text) { return "X" + LittleEndian(text.size(), 4) + std::string(text); }
inline std::string PickledBool(bool value) { return value ? "\x88" : "\x89"; }
inline std::string PickledList(const std::vector<std::string>& values) {
  std::string bytes = "](";
  for (const std::string& value : values) bytes += value;
  return bytes + "e";
}
inline std::string PickledDict(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string bytes = "}(";
  for (const auto& [key, value] : pairs) bytes += PickledText(key) + value;
  return bytes + "u";
}
inline std::string Pickle(const std::string& value) { return std::string("\x80\x02", 2) + value + "."; }

// The stack of one allocation: PyTorch's frame is the innermost.
inline std::string PickledFrames(std::string_view file, std::int64_t line) {
  const auto frame = [](std::string_view name, std::int64_t at) {
    return PickledDict({{"filename", PickledText(name)}, {"line", PickledInt(at)}, {"name", PickledText("f")}});
  };
  return PickledList({frame("??", 0), frame("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 114),
                      frame(file, line), frame("main.py", 1)});
}

inline std::string PickledEvent(std::string_view action, std::int64_t address, std::int64_t size,
                                const std::string& frames = PickledList({})) {
  return PickledDict({{"action", PickledText(action)},
                      {action == "oom" ? "device_free" : "addr", PickledInt(address)},
                      {"size", PickledInt(size)},
                      {"stream", PickledInt(0)},
                      {"frames", frames}});
}
inline std::string PickledBlock(std::int64_t address, std::int64_t size, std::int64_t requested, std::string_view state,
                                const std::string& frames = PickledList({})) {
  return PickledDict({{"address", PickledInt(address)},
                      {"size", PickledInt(size)},
                      {"requested_size", PickledInt(requested)},
                      {"state", PickledText(state)},
                      {"frames", frames}});
}
inline std::string PickledSegment(std::int64_t device, std::int64_t address, std::int64_t total, bool expandable,
                                  const std::vector<std::string>& blocks) {
  return PickledDict({{"device", PickledInt(device)},
                      {"address", PickledInt(address)},
                      {"total_size", PickledInt(total)},
                      {"stream", PickledInt(0)},
                      {"is_expandable", PickledBool(expandable)},
                      {"blocks", PickledList(blocks)}});
}
inline std::string PickledSnapshot(const std::vector<std::string>& segments, const std::vector<std::string>& traces) {
  return Pickle(PickledDict({{"segments", PickledList(segments)}, {"device_traces", PickledList(traces)}}));
}

}  // namespace idleburn::test
