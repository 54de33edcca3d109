# attn_add_kernel(NAME SPEC
#   [SPEC_NAME name]        the spec, where the file holds several
#   [C_NAME name]           what the names in C begin with; default: the spec's name
#   [HEADER file]           the header's name; default: NAME.h
#   [MARCH level]           x86-64-v2, v3 or v4, several with commas between, or aarch64; default: this machine's
#   [SIZES option...])      row lengths and size variables as attnc takes them
#
# Compiles an attention kernel ahead of time into a static library NAME, to be linked to C
# and C++ programs; its header is on their include path. Example:
#
#   attn_add_kernel(yat yat.attn MARCH x86-64-v3 SIZES --D 64 --Dv 64)
#   target_link_libraries(program PRIVATE yat)      # and #include "yat.h"
function(attn_add_kernel name spec)
  cmake_parse_arguments(ARG "" "SPEC_NAME;C_NAME;HEADER;MARCH" "SIZES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "attn_add_kernel(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_HEADER)
    set(ARG_HEADER ${name}.h)
  endif()
  get_filename_component(spec ${spec} ABSOLUTE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.kernel)
  get_filename_component(headers ${folder}/${ARG_HEADER} DIRECTORY)
  file(MAKE_DIRECTORY ${headers})
  set(options ${ARG_SIZES})
  foreach(option SPEC_NAME C_NAME MARCH)
    if(ARG_${option})
      string(TOLOWER ${option} word)
      string(REPLACE "_" "-" word ${word})
      list(APPEND options --${word} ${ARG_${option}})
    endif()
  endforeach()
  add_custom_command(OUTPUT ${folder}/${name}.o ${folder}/${ARG_HEADER}
    COMMAND attn::attnc compile ${spec} --emit=obj -o ${folder}/${name}.o
      --header ${folder}/${ARG_HEADER} ${options}
    DEPENDS ${spec} attn::attnc
    COMMENT "Compiling the attention kernel ${name}" VERBATIM)
  add_library(${name} STATIC ${folder}/${name}.o ${folder}/${ARG_HEADER})
  set_source_files_properties(${folder}/${name}.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${name} INTERFACE ${folder})
endfunction()
