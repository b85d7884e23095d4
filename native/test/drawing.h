// Draws images for the tests and encodes them with the libraries' own encoders.
#pragma once

#include <optional>
#include <string_view>

#include "../core/image/decode.h"
#include "support.h"

// libjpeg's header needs FILE from the standard headers.
#include <jpeglib.h>
#include <png.h>

#include <cstdio>

namespace facematch::testing {

// Limits for small drawn images.
constexpr ImageLimits kAnySize = {.max_pixels = 10'000'000, .min_side = 1};

// Draws a different colour in every corner: blue increases to the right, green increases downwards,
// and red decreases along both.
cv::Mat gradient(int width, int height);

// Draws noise, the same on each call.
cv::Mat grain(int width, int height, int type);

// Return the mean and the maximum absolute difference over all channels. For images of different
// sizes, both are 255.
double mean_difference(const cv::Mat& a, const cv::Mat& b);
double largest_difference(const cv::Mat& a, const cv::Mat& b);

struct JpegOptions {
  int quality = 97;
  bool progressive = false;
  bool arithmetic = false;
  cv::Size luma = {1, 1};  // sampling factors: {2, 2} is 4:2:0
  cv::Size colours = {1, 1};
  std::vector<jpeg_scan_info> scans = {};  // replaces the default scans when not empty
  int restart_rows = 0;
  J_COLOR_SPACE of_inks = JCS_CMYK;  // of four-ink images: JCS_CMYK or JCS_YCCK
  bool adobe_marker = true;          // of four-ink images
  ByteVector app1 = {};              // written as an APP1 marker when not empty
};

// CV_8UC3 BGR, CV_8UC1 for a grey JPEG, or CV_8UC4 for four inks per pixel.
ByteVector encode_jpeg(const cv::Mat& image, const JpegOptions& options = {});

struct PngOptions {
  int width = 0;
  int height = 0;
  int colour_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> palette_alpha = {};
  std::optional<png_color_16> transparent = {};
  std::vector<uint8_t> exif = {};
  bool exif_after_pixels = false;
  size_t comment_bytes = 0;  // length of a tEXt chunk before the pixels
};

// `rows` are packed as in PNG, 16-bit samples in network order.
ByteVector encode_png(const std::vector<uint8_t>& rows, const PngOptions& options);
// `image`: CV_8UC3 BGR or CV_8UC4 BGRA. It determines size and colour type.
ByteVector encode_png(const cv::Mat& image, PngOptions options = {});

// Returns an animation of one frame with its top left corner at `at`. The file's first image,
// `hidden`, is not part of the animation.
ByteVector encode_apng(const cv::Mat& hidden, const cv::Mat& frame, cv::Point at);

ByteVector png_chunk(std::string_view name, const ByteVector& content);

// Recomputes the checksum of every chunk.
void repair_png_checksums(ByteVector& file);

struct WebpOptions {
  bool lossless = true;
  std::vector<uint8_t> exif = {};
};

// CV_8UC3 BGR or CV_8UC4 BGRA.
ByteVector encode_webp(const cv::Mat& image, const WebpOptions& options = {});

// Returns an animation whose first frame is `image`, with its top left corner at `at` (even
// numbers), and whose second frame is one black pixel. `background` is ARGB.
ByteVector encode_webp_frame(const cv::Mat& image, cv::Size canvas, cv::Point at,
                             uint32_t background);

// A TIFF block with an EXIF orientation, valid or not.
struct ExifBlock {
  uint16_t orientation = 1;
  bool little_endian = true;
  bool jpeg_prefix = false;  // "Exif\0\0" before the block, as JPEG has it
  uint16_t magic = 42;       // TIFF 6.0 section 2
  uint16_t tag = 0x0112;     // Orientation
  uint16_t type = 3;         // SHORT
  uint32_t values = 1;       // declared count
  uint16_t high = 0;         // upper half of a value of type LONG
  int entries_before = 0;    // number of other tags before this one
  std::vector<uint16_t> orientations_before = {};
  std::optional<uint16_t> declared_count = {};  // instead of the true number of entries
  std::optional<uint32_t> declared_start = {};  // instead of the true offset of IFD0

  std::vector<uint8_t> bytes() const;
};

// Returns true if a view of decode_parts() shows all of `part` with the pixels of `whole`. `part`
// is in pixels of the full image; `whole` was decoded at the same scale.
bool is_part_of(const View& view, const DecodedImage& whole, cv::Rect part);

// Small valid images, one for each code path of a decoder. The tests of damaged images and the
// fuzzer change them.
struct Specimen {
  const char* name;
  ByteVector file;
};

std::vector<Specimen> specimens();

}  // namespace facematch::testing
