# Strict warnings, as errors, in both compilers.
add_library(idleburn_flags INTERFACE)
target_compile_options(idleburn_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-qual -Wformat=2 -Wundef -Werror
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # g++ 12 reports std::string itself (GCC bug 105651)
# Every x86-64 that a supported GPU sits in (2009 and later) has SSE4.2 and POPCNT.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  target_compile_options(idleburn_flags INTERFACE -march=x86-64-v2)
endif()
target_include_directories(idleburn_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(idleburn_flags SYSTEM INTERFACE ${IDLEBURN_DEPS}/include)

if(IDLEBURN_SANITIZE)
  # g++ 12 sees uninitialised members inside std::regex when it instruments it.
  add_compile_options(-fsanitize=${IDLEBURN_SANITIZE} -fno-sanitize-recover=all -O1 -g1
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # A program without a fuzzer in it is linked without what only instruments.
  string(REPLACE "fuzzer-no-link," "" linked "${IDLEBURN_SANITIZE}")
  add_link_options(-fsanitize=${linked})
endif()
if(IDLEBURN_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy-14)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT IDLEBURN_TIDY)
  # What was compiled in one clone serves another: paths below its root count as relative ones.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()
