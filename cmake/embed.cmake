# tephra_embed(TARGET SOURCE HEADER NAME): makes a header, found as #include "HEADER", that holds the text of SOURCE
# as `inline constexpr std::string_view NAME`. Pieces stay below the length limit of one string literal.
function(tephra_embed target source header name)
  set(output ${CMAKE_BINARY_DIR}/generated/${header})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/${source} -DOUTPUT=${output} -DNAME=${name}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/${source} ${CMAKE_SOURCE_DIR}/cmake/embed_file.cmake
    COMMENT "Embedding ${source}")
  target_sources(${target} PRIVATE ${output})
endfunction()
