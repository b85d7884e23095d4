#include "../core/byte_products.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace facematch::testing {
namespace {

// What Linux says of the first processor; empty where it says it in another way than on x86.
std::string processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line + " ";
  }
  return {};
}

}  // namespace

TEST_SUITE_BEGIN("byte_products");

TEST_CASE("products of bytes are exact where Linux says VNNI, and off x86") {
  const std::string flags = processor_flags();
  const auto has = [&](const char* flag) { return flags.find(flag) != std::string::npos; };
  CHECK(has_exact_byte_products() == (flags.empty() || has(" avx512_vnni ") || has(" avx_vnni ")));
}

TEST_SUITE_END();

}  // namespace facematch::testing
