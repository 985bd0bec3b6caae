#include "os/dynamic_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace idleburn {

// RTLD_NOW: a library that lacks what it needs fails here and not in the middle of a run.
Result<DynamicLibrary> DynamicLibrary::Open(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return DynamicLibrary(handle);
  const char* const why = dlerror();
  return Fail(why != nullptr ? why : path + ": cannot be loaded");
}

void* DynamicLibrary::Symbol(const char* name) const { return dlsym(handle_, name); }

std::string ProgramFolder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return {};
  const std::string program(path.data(), static_cast<std::size_t>(length));
  return program.substr(0, program.rfind('/'));
}

}  // namespace idleburn
