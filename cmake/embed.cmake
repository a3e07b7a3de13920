# Compiles files into a library, as raw string literals:
#
#   phalanx_embed(phalanx_admission HEADER "admission/deploy_files.h"
#                 FUNCTION phalanx::admission::crds FILES ${files})
#
# defines the function, which the header declares as std::span<const EmbeddedFile>, with the files
# sorted by name. A changed file runs CMake again.
set(PHALANX_EMBED_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/embedded_files.cc.in)

function(phalanx_embed target)
  cmake_parse_arguments(ARG "" "HEADER;FUNCTION" "FILES" ${ARGN})
  list(SORT ARG_FILES)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARG_FILES})
  string(REGEX MATCH "^(.*)::([^:]*)$" matched ${ARG_FUNCTION})
  set(EMBED_HEADER ${ARG_HEADER})
  set(EMBED_NAMESPACE ${CMAKE_MATCH_1})
  set(EMBED_FUNCTION ${CMAKE_MATCH_2})
  set(EMBED_PARTS "")
  set(EMBED_ENTRIES "")
  set(literal_size 16000)
  foreach(path ${ARG_FILES})
    get_filename_component(name ${path} NAME)
    string(MAKE_C_IDENTIFIER "parts_${name}" identifier)
    file(READ ${path} text)
    string(LENGTH "${text}" size)
    string(APPEND EMBED_PARTS "\nconstexpr std::string_view ${identifier}[] = {\n")
    foreach(begin RANGE 0 ${size} ${literal_size})
      string(SUBSTRING "${text}" ${begin} ${literal_size} part)
      string(APPEND EMBED_PARTS "R\"embed(${part})embed\",\n")
    endforeach()
    string(APPEND EMBED_PARTS "};\n")
    string(APPEND EMBED_ENTRIES "    EmbeddedFile{\"${name}\", ${identifier}},\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${EMBED_FUNCTION}.cc)
  configure_file(${PHALANX_EMBED_TEMPLATE} ${source} @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
