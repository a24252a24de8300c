# tephra_bundle(TARGET SOURCE HEADER NAME): esbuild bundles SOURCE (TypeScript or CSS below web/) into one minified text,
# which becomes a header as tephra_embed makes it. Types are checked by the tests, not here: esbuild alone is needed.
find_program(TEPHRA_ESBUILD esbuild)
if(NOT TEPHRA_ESBUILD)
  message(FATAL_ERROR "The page of the HTML report is bundled by esbuild, which is missing here (package esbuild).")
endif()

function(tephra_bundle target source header name)
  get_filename_component(extension ${source} LAST_EXT)
  string(REPLACE ".ts" ".js" extension ${extension})
  set(bundle ${CMAKE_BINARY_DIR}/web/${name}${extension})
  set(output ${CMAKE_BINARY_DIR}/generated/${header})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/*)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${TEPHRA_ESBUILD} ${CMAKE_SOURCE_DIR}/${source} --bundle --minify --target=es2020 --charset=utf8
            --log-level=warning --outfile=${bundle}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${bundle} -DOUTPUT=${output} -DNAME=${name}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    COMMENT "Bundling ${source}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
