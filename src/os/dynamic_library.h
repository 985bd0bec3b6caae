#pragma once

#include <string>

#include "base/result.h"

namespace idleburn {

// A shared library loaded at run time: the NVIDIA driver's NVML and DuckDB. The program must start without them and
// link neither. A library stays loaded until the process ends, because libraries that start threads crash when they
// are unloaded. Copies refer to the same library.
class DynamicLibrary {
 public:
  // Loads a library. dlopen looks for a bare file name in the system's library folders.
  static Result<DynamicLibrary> Open(const std::string& path);

  // Sets *function to the exported function, or to null if the library has none of that name.
  template <typename Function>
  void Find(const char* name, Function** function) const {
    *function = reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* Symbol(const char* name) const;
  void* handle_;
};

// The folder of the running program, without a slash at its end. Empty if the system does not tell.
std::string ProgramFolder();

}  // namespace idleburn
