# idleburn_protobuf(TARGET FILE): compiles a .proto file (relative to src/) into a library of its own, without our
# warnings, which generated code does not keep. Included as "FOLDER/NAME.pb.h".
find_package(Protobuf REQUIRED)

function(idleburn_protobuf target file)
  cmake_path(REPLACE_EXTENSION file pb.cc OUTPUT_VARIABLE source)
  cmake_path(REPLACE_EXTENSION file pb.h OUTPUT_VARIABLE header)
  set(out ${PROJECT_BINARY_DIR}/protobuf)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${source} ${out}/${header}
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/src --cpp_out=${out} ${file}
    DEPENDS ${PROJECT_SOURCE_DIR}/src/${file}
    VERBATIM)
  add_library(${target} STATIC ${out}/${source} ${out}/${header})
  set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf-lite)
endfunction()
