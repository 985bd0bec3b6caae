# Moves what Debian keeps elsewhere, before the .deb is made: completions of zsh, compressed manual pages, and the
# licence under the name that Debian's policy asks for.
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
file(GLOB pages ${usr}/share/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${usr}/share/doc/idleburn/LICENSE ${usr}/share/doc/idleburn/copyright)
