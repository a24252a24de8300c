# BPF programs: src/bpf/NAME.bpf.c is compiled by clang and becomes generated/bpf/NAME.skel.h (struct NAME), which only
# kernel/ includes.

# Sets TEPHRA_CLANG, TEPHRA_BPFTOOL and the target PkgConfig::LIBBPF, or ends with what is missing.
macro(tephra_find_bpf)
  find_program(TEPHRA_CLANG NAMES clang-14 clang clang-19 clang-18 clang-17 clang-16 clang-15)
  find_program(TEPHRA_BPFTOOL bpftool PATHS /usr/sbin /sbin /usr/local/sbin)
  pkg_check_modules(LIBBPF IMPORTED_TARGET libbpf>=1.0)
  set(missing "")
  if(NOT TEPHRA_CLANG)
    list(APPEND missing "clang (package clang-14)")
  endif()
  if(NOT TEPHRA_BPFTOOL)
    list(APPEND missing "bpftool (package bpftool)")
  endif()
  if(NOT LIBBPF_FOUND)
    list(APPEND missing "libbpf 1.0 or newer (package libbpf-dev)")
  endif()
  if(missing)
    list(JOIN missing ", " missing)
    message(FATAL_ERROR "The BPF parts of tephra need what is missing here: ${missing}. Install it, or build without "
                        "them: cmake -DTEPHRA_BPF=OFF")
  endif()
endmacro()

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" TEPHRA_BPF_ARCH)
if(TEPHRA_BPF_ARCH MATCHES "^(x86_64|amd64|i.86)$")
  set(TEPHRA_BPF_ARCH x86)
elseif(TEPHRA_BPF_ARCH MATCHES "^(aarch64|arm64)$")
  set(TEPHRA_BPF_ARCH arm64)
elseif(TEPHRA_BPF_ARCH MATCHES "^ppc64")
  set(TEPHRA_BPF_ARCH powerpc)
elseif(TEPHRA_BPF_ARCH MATCHES "^riscv")
  set(TEPHRA_BPF_ARCH riscv)
elseif(TEPHRA_BPF_ARCH MATCHES "^s390")
  set(TEPHRA_BPF_ARCH s390)
endif()

# tephra_bpf_program(TARGET SOURCE): adds the program's skeleton to the sources of a target.
function(tephra_bpf_program target source)
  get_filename_component(name ${source} NAME)
  string(REGEX REPLACE "\\.bpf\\.c$" "" name ${name})
  set(folder ${CMAKE_BINARY_DIR}/generated/bpf)
  set(object ${folder}/${name}.bpf.o)
  set(skeleton ${folder}/${name}.skel.h)
  file(MAKE_DIRECTORY ${folder})
  list(TRANSFORM LIBBPF_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE libbpf)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/bpf/*.h ${CMAKE_SOURCE_DIR}/src/abi/*.h)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${TEPHRA_CLANG} -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_${TEPHRA_BPF_ARCH} -Wall -Werror
            -I ${CMAKE_SOURCE_DIR}/src -I ${CMAKE_SOURCE_DIR}/src/bpf
            ${libbpf} -c ${source} -o ${object}
    COMMAND ${TEPHRA_BPFTOOL} gen skeleton ${object} name ${name} > ${skeleton}.tmp
    COMMAND ${CMAKE_COMMAND} -E rename ${skeleton}.tmp ${skeleton}
    DEPENDS ${source} ${headers}
    COMMENT "BPF program ${name}"
    VERBATIM)
  target_sources(${target} PRIVATE ${skeleton})
endfunction()
