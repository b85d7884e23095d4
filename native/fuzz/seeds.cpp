// Writes the specimens of the tests into a folder, a file each: what the fuzzer starts from.
#include <cstdio>
#include <fstream>
#include <string>

#include "../test/drawing.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: facematch_fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  for (size_t number = 0; const auto& specimen : facematch::testing::specimens()) {
    std::ofstream file(folder + "/specimen-" + std::to_string(++number), std::ios::binary);
    file.write(reinterpret_cast<const char*>(specimen.file.data()),
               static_cast<std::streamsize>(specimen.file.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write to %s\n", folder.c_str());
      return 1;
    }
  }
  return 0;
}
