# Flags, dependencies and the two functions that every folder uses: hedge_library() and hedge_test().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# -O2 without debug information is what a person runs; assertions stay on in every other type.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CARES REQUIRED IMPORTED_TARGET libcares)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

add_library(hedge_flags INTERFACE)
target_include_directories(hedge_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(hedge_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wsuggest-override -Werror)
target_compile_definitions(hedge_flags INTERFACE
  HEDGE_VERSION="${PROJECT_VERSION}"
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ERROR_CODE_HEADER_ONLY
  BOOST_ASIO_NO_DEPRECATED SPDLOG_COMPILED_LIB)
target_include_directories(hedge_flags SYSTEM INTERFACE ${Boost_INCLUDE_DIRS} ${TOMLPLUSPLUS_INCLUDE_DIR})
target_link_libraries(hedge_flags INTERFACE Threads::Threads)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The pooled coroutine frames pair our operator new with a sized delete that GCC 12 calls mismatched.
  target_compile_options(hedge_flags INTERFACE -Wno-mismatched-new-delete)
endif()
if(HEDGE_SANITIZE)
  target_compile_options(hedge_flags INTERFACE -fsanitize=${HEDGE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(hedge_flags INTERFACE -fsanitize=${HEDGE_SANITIZE})
  if(HEDGE_SANITIZE MATCHES "thread")
    target_compile_options(hedge_flags INTERFACE -Wno-tsan)
  endif()
endif()

# hedge_library(NAME SOURCES... [LIBS libraries...]): the static library of one folder.
function(hedge_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC hedge_flags ${ARG_LIBS})
endfunction()

# hedge_test(NAME LABEL label SOURCES... [LIBS libraries...]): one GoogleTest program.
function(hedge_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE hedge_flags ${ARG_LIBS} GTest::gmock GTest::gtest_main)
  if(ARG_LABEL MATCHES "^(unit|integration)$")
    add_dependencies(sanitizer_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()
