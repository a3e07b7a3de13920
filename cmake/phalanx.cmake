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
if(PHALANX_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -fno-omit-frame-pointer")
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

function(phalanx_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;TEST_DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(phalanx_${name} STATIC ${sources})
  target_link_libraries(phalanx_${name} PUBLIC ${ARG_DEPENDS})
  if(tests)
    add_executable(phalanx_${name}_test ${tests})
    target_link_libraries(phalanx_${name}_test PRIVATE phalanx_${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    add_test(NAME ${name} COMMAND phalanx_${name}_test)
    set_tests_properties(${name} PROPERTIES
      TIMEOUT 600
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
