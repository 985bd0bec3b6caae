#pragma once

#include <string>

#include "base/result.h"

namespace idleburn {

// A shared library found at run time. It stays loaded until the process ends: libraries that start threads do not
// survive being unloaded. A copy is the same library.
class DynamicLibrary {
 public:
  // `path` as for dlopen: a bare file name is looked for where the system keeps libraries.
  static Result<DynamicLibrary> Open(const std::string& path);

  // Null if the library has no such function.
  template <typename Function>
  void Find(const char* name, Function** function) const {
    *function = reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  [[nodiscard]] void* Symbol(const char* name) const;
  void* handle_;
};

// The folder that holds the running program, without a slash at its end; empty if the system does not tell.
std::string ProgramFolder();

}  // namespace idleburn
