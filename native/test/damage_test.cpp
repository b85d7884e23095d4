// Damaged pictures: any bytes give an Error or a picture of a valid size. Most useful under
// AddressSanitizer.
#include <doctest/doctest.h>

#include "../core/image/decode.h"
#include "drawing.h"
#include "exif_block.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kSmall = {.max_pixels = 200'000, .min_side = 1};
constexpr int kMutations = 1500;  // of each format

struct Specimen {
  const char* name;
  ByteVector file;
};

std::vector<Specimen> specimens() {
  const cv::Mat picture = gradient(40, 30);
  const ByteVector exif = ExifBlock{.orientation = 6}.bytes();
  const ByteVector app1 = ExifBlock{.orientation = 6, .jpeg_prefix = true}.bytes();
  std::vector<uint8_t> palette_rows(size_t{40} * 30);
  for (size_t i = 0; i < palette_rows.size(); ++i) palette_rows[i] = static_cast<uint8_t>(i % 3);
  std::vector<uint8_t> rgba16_rows(size_t{8} * 40 * 30);
  for (size_t i = 0; i < rgba16_rows.size(); ++i) rgba16_rows[i] = static_cast<uint8_t>(i * 7);
  const cv::Mat bgra(30, 40, CV_8UC4, cv::Scalar(10, 200, 30, 128));
  const cv::Mat inks(30, 40, CV_8UC4, cv::Scalar(10, 200, 30, 128));
  return {
      {"jpeg", encode_jpeg(picture, {.app1 = app1})},
      {"jpeg, progressive", encode_jpeg(picture, {.progressive = true, .subsample = true})},
      {"jpeg, restart markers", encode_jpeg(picture, {.restart_rows = 1})},
      {"jpeg, ycck", encode_jpeg_inks(inks, JCS_YCCK, true)},
      {"png", encode_png(picture)},
      {"png, 16-bit rgba, interlaced",
       encode_png(rgba16_rows, {.width = 40,
                                .height = 30,
                                .colour_type = PNG_COLOR_TYPE_RGB_ALPHA,
                                .bit_depth = 16,
                                .interlaced = true,
                                .exif = exif})},
      {"png, palette", encode_png(palette_rows, {.width = 40,
                                                 .height = 30,
                                                 .colour_type = PNG_COLOR_TYPE_PALETTE,
                                                 .palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
                                                 .palette_alpha = {0, 128}})},
      {"webp, lossless", encode_webp(picture, {.exif = exif})},
      {"webp, lossy", encode_webp(picture, {.lossless = false})},
      {"webp, lossy with alpha", encode_webp(bgra, {.lossless = false})},
      {"webp, animated",
       encode_webp_animation({bgra, cv::Mat(30, 40, CV_8UC4, cv::Scalar(9, 9, 9, 255))})},
      {"webp, a frame within its canvas", encode_webp_frame(picture, {60, 50}, {8, 6}, 0)},
  };
}

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
