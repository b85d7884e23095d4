#include "byte_products.h"

namespace facematch {

bool has_exact_byte_products() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni");
#else
  return true;
#endif
}

}  // namespace facematch
