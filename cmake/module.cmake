option(IDLEBURN_UNITY "Compile each module as one unit: a third of the time, because most of it is reading headers" OFF)

# idleburn_module(NAME deps...): the library of src/NAME. A dep without "::", "/" or a dash is another module.
function(idleburn_module name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  add_library(idleburn_${name} STATIC ${sources})
  set_target_properties(idleburn_${name} PROPERTIES LINKER_LANGUAGE CXX
                        UNITY_BUILD ${IDLEBURN_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(idleburn_${name} PUBLIC idleburn_flags)
  foreach(dep ${ARGN})
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/${dep} AND NOT IS_ABSOLUTE ${dep})
      target_link_libraries(idleburn_${name} PUBLIC idleburn_${dep})
    else()
      target_link_libraries(idleburn_${name} PUBLIC ${dep})
    endif()
  endforeach()
endfunction()
