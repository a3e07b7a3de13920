# One directory is one static library is one target: phalanx_library(base DEPENDS ...) makes
# phalanx_base from every .cc of the directory, and phalanx_base_test from every *_test.cc.

add_compile_options(-Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion
                    -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Linking with lld and no debug information keeps a clean build short.
  add_link_options(-fuse-ld=lld)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -fno-omit-frame-pointer")
include_directories(${PROJECT_SOURCE_DIR}/src)

if(PHALANX_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
if(PHALANX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(phalanx_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(phalanx_${name} STATIC ${sources})
  target_link_libraries(phalanx_${name} PUBLIC ${ARG_DEPENDS})
  if(tests)
    add_executable(phalanx_${name}_test ${tests})
    target_link_libraries(phalanx_${name}_test PRIVATE phalanx_${name} GTest::gtest_main)
    add_test(NAME ${name} COMMAND phalanx_${name}_test)
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "PHALANX_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  endif()
endfunction()
