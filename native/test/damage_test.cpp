// Damaged pictures: any bytes give an Error or a picture of a valid size. Most useful under
// AddressSanitizer.
#include <doctest/doctest.h>

#include "../core/image/decode.h"
#include "drawing.h"
#include "specimens.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kSmall = {.max_pixels = 200'000, .min_side = 1};
constexpr int kMutations = 1500;  // of each format

// Decodes and checks the result. Exceptions other than Error pass through and fail the test.
bool decodes(const ByteVector& file) {
  try {
    const Image image = decode(file, kSmall, 0);
    REQUIRE(image.bgr.type() == CV_8UC3);
    REQUIRE(image.bgr.cols == image.width);
    REQUIRE(image.bgr.rows == image.height);
    REQUIRE(int64_t{image.width} * image.height <= kSmall.max_pixels);
    REQUIRE(image.orientation >= 1);
    REQUIRE(image.orientation <= 8);
    return true;
  } catch (const Error& error) {
    REQUIRE(error.code != ErrorCode::kInternalError);
    return false;
  }
}

}  // namespace

TEST_SUITE_BEGIN("damage");

TEST_CASE("every specimen is valid before it is changed") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(specimen.name);
    CHECK(decodes(specimen.file));
  }
}

TEST_CASE("a picture cut short at any byte is rejected, never filled with made-up pixels") {
  for (const Specimen& specimen : specimens()) {
    for (size_t size = 0; size < specimen.file.size(); ++size) {
      // Exactly that size, so that AddressSanitizer detects a read past the end.
      const ByteVector cut(specimen.file.begin(),
                           specimen.file.begin() + static_cast<std::ptrdiff_t>(size));
      CAPTURE(specimen.name);
      CAPTURE(size);
      CHECK_FALSE(decodes(cut));
    }
  }
}

TEST_CASE("an arithmetic-coded JPEG is rejected: nothing tells whether it was cut short") {
  const cv::Mat picture = gradient(40, 30);
  for (const bool progressive : {false, true}) {
    CHECK_FALSE(decodes(encode_jpeg(picture, {.progressive = progressive, .arithmetic = true})));
  }
}

TEST_CASE("a picture with one changed byte is decoded or an error") {
  Random random(65537);
  for (const Specimen& specimen : specimens()) {
    for (int round = 0; round < kMutations; ++round) {
      ByteVector mutant = specimen.file;
      const size_t at = random.below(mutant.size());
      mutant[at] ^= static_cast<uint8_t>(1 + random.below(255));
      // Without correct checksums libpng rejects nearly every mutant at once.
      if (round % 2 == 0 && mutant[1] == 'P') repair_png_checksums(mutant);
      CAPTURE(specimen.name);
      CAPTURE(at);
      decodes(mutant);
    }
  }
}

TEST_CASE("a picture with several bytes changed, removed or repeated is decoded or an error") {
  Random random(257);
  for (const Specimen& specimen : specimens()) {
    for (int round = 0; round < kMutations / 3; ++round) {
      ByteVector mutant = specimen.file;
      for (size_t i = 0; i <= random.below(8); ++i)
        mutant[random.below(mutant.size())] = random.byte();
      const auto from =
          mutant.begin() + static_cast<std::ptrdiff_t>(random.below(mutant.size() - 16));
      const auto to = from + static_cast<std::ptrdiff_t>(random.below(16));
      if (round % 3 == 1) mutant.erase(from, to);
      if (round % 3 == 2) {
        const ByteVector slice(from, to);
        mutant.insert(from, slice.begin(), slice.end());
      }
      if (mutant[1] == 'P') repair_png_checksums(mutant);
      CAPTURE(specimen.name);
      CAPTURE(round);
      decodes(mutant);
    }
  }
}

TEST_CASE("noise after the signature of each format is an error") {
  Random random(4099);
  for (const Specimen& specimen : specimens()) {
    for (int round = 0; round < 100; ++round) {
      ByteVector noise(random.below(4000) + 16);
      for (uint8_t& byte : noise) byte = random.byte();
      std::copy(specimen.file.begin(), specimen.file.begin() + 12, noise.begin());
      CHECK_FALSE(decodes(noise));
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
