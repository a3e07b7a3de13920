# One directory is one static library is one target: phalanx_library(base DEPENDS ...) makes
# phalanx_base from every .cc of the directory, and phalanx_base_test from every *_test.cc, which may
# need more (TEST_DEPENDS).

add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion
                    -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Linking with lld and no debug information keeps a clean build short.
  add_link_options(-fuse-ld=lld)
endif()
find_program(PHALANX_CCACHE ccache)
if(PHALANX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PHALANX_CCACHE})
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -fno-omit-frame-pointer")
set(PHALANX_TEST_TIMEOUT_S 600)
if(PHALANX_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -fno-omit-frame-pointer")
  set(PHALANX_TEST_TIMEOUT_S 1800)  # everything takes several times as long
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  # SSE4.2 and popcnt: every server since 2009 has them, and the counting loops use them.
  string(APPEND CMAKE_CXX_FLAGS_RELEASE " -march=x86-64-v2")
endif()
include_directories(${PROJECT_SOURCE_DIR}/src)

if(PHALANX_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -g1)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=address,undefined)
endif()
if(PHALANX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Most of the time of a compilation goes into the headers of libraries: they are compiled once, and the
# result is named by a path that is the same in every checkout, so that ccache finds what was compiled with
# it again. It goes by the checksum beside it, because paths of the checkout are inside.
function(phalanx_headers name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;HEADERS" ${ARGN})
  set(header ${CMAKE_BINARY_DIR}/${name}.h)
  list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE lines)
  string(CONCAT text ${lines})
  file(CONFIGURE OUTPUT ${header} CONTENT "${text}")
  set_source_files_properties(${header} PROPERTIES LANGUAGE CXX)
  add_library(phalanx_${name} OBJECT ${header})
  set_target_properties(phalanx_${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_compile_options(phalanx_${name} PRIVATE
    "SHELL:-x c++-header" -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
  target_link_libraries(phalanx_${name} PRIVATE ${ARG_DEPENDS})
  add_custom_target(phalanx_${name}_compiled DEPENDS $<TARGET_OBJECTS:phalanx_${name}>)
  string(SHA256 checksum "${text} ${CMAKE_CXX_COMPILER_VERSION}")
  file(CONFIGURE OUTPUT CMakeFiles/phalanx_${name}.dir/${name}.h.o.sum CONTENT "${checksum}")
endfunction()

function(phalanx_use_headers target name)
  target_compile_options(${target} PRIVATE "SHELL:-include-pch CMakeFiles/phalanx_${name}.dir/${name}.h.o")
  add_dependencies(${target} phalanx_${name}_compiled)
endfunction()

function(phalanx_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(phalanx_${name} STATIC ${sources})
  target_link_libraries(phalanx_${name} PUBLIC ${ARG_DEPENDS})
  phalanx_use_headers(phalanx_${name} headers)
  if(tests)
    add_executable(phalanx_${name}_test ${tests})
    target_link_libraries(phalanx_${name}_test PRIVATE phalanx_${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    phalanx_use_headers(phalanx_${name}_test test_headers)
    add_test(NAME ${name} COMMAND phalanx_${name}_test)
    set_tests_properties(${name} PROPERTIES
      TIMEOUT ${PHALANX_TEST_TIMEOUT_S}
      ENVIRONMENT "PHALANX_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

# A libFuzzer program, built only with PHALANX_FUZZ.
function(phalanx_fuzz_target source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE phalanx_cli)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
