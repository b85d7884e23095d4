#include "specimens.h"

#include "drawing.h"
#include "exif_block.h"

namespace facematch::testing {

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

}  // namespace facematch::testing
