# idleburn_embed(TARGET SYMBOL FILE): compiles FILE (relative to the project) into TARGET. Its contents are
#   namespace idleburn::embedded { extern const std::string_view SYMBOL; }
# Constant-initialised, so that it may be used before main. By .incbin inside a C++ file: it costs no compile time,
# and an assembler source of its own would get C++ flags that clang refuses.
function(idleburn_embed target symbol file)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  file(SIZE ${file} size)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})  # the size is read when configuring
  set(out ${PROJECT_BINARY_DIR}/embedded/${symbol}.cc)
  file(CONFIGURE OUTPUT ${out} CONTENT [[
#include <string_view>

asm(".pushsection .rodata\n"
    ".global @symbol@_begin\n"
    "@symbol@_begin:\n"
    ".incbin \"@file@\"\n"
    ".popsection\n");
extern "C" const char @symbol@_begin[];

namespace idleburn::embedded {
extern const std::string_view @symbol@;
constinit const std::string_view @symbol@(@symbol@_begin, @size@);
}  // namespace idleburn::embedded
]] @ONLY)
  # A unit of its own: within that of the module OBJECT_DEPENDS is lost, and a change that keeps the size went unseen.
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS ${file} SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${out})
endfunction()
