# What `make install` and `make package` install. Manual pages and completions are printed by the program itself.
include(GNUInstallDirs)
set(written ${PROJECT_BINARY_DIR}/written)
add_custom_command(
  OUTPUT ${written}/idleburn.bash ${written}/_idleburn ${written}/idleburn.fish ${written}/man/idleburn.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${written}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${written}/man
  COMMAND idleburn completion bash > ${written}/idleburn.bash
  COMMAND idleburn completion zsh > ${written}/_idleburn
  COMMAND idleburn completion fish > ${written}/idleburn.fish
  COMMAND idleburn man -o ${written}/man
  DEPENDS idleburn
  COMMENT "Writing manual pages and completions")
add_custom_target(installable DEPENDS ${written}/man/idleburn.1)

# Libraries of our own stand here: DuckDB's, and in the archive all that a bare system lacks. DT_RPATH, because the
# newer DT_RUNPATH is not searched for what these libraries need themselves. In the build folder too: the empty path
# that CMake would write there stands for the current folder.
set_target_properties(idleburn PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/idleburn" BUILD_WITH_INSTALL_RPATH ON)
target_link_options(idleburn PRIVATE -Wl,--disable-new-dtags)

install(TARGETS idleburn RUNTIME)
install(FILES ${IDLEBURN_DEPS}/lib/libduckdb.so DESTINATION lib/idleburn OPTIONAL)
install(FILES ${IDLEBURN_DEPS}/share/duckdb/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME duckdb OPTIONAL)
install(DIRECTORY ${written}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${written}/idleburn.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME idleburn)
install(FILES ${written}/_idleburn DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${written}/idleburn.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_SOURCE_DIR}/build/package)
set(CPACK_PACKAGE_NAME idleburn)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DESCRIPTION_FILE ${PROJECT_SOURCE_DIR}/cmake/description.txt)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_places.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Debian asks for an address. The project has none yet; ".invalid" says so (RFC 2606).
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The idleburn authors <no-mailbox@idleburn.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS tzdata)  # shlibdeps adds the libraries
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
include(CPack)
