// Wraps libjpeg-turbo for codec_jpeg.cpp, which decodes whole images, and codec_jpeg_parts.cpp.
#pragma once

// clang-format off
#include <cstdio>  // jpeglib.h uses FILE and size_t without including them
#include <jpeglib.h>
// clang-format on

#include <array>
#include <csetjmp>
#include <optional>
#include <vector>

#include "../error.h"
#include "codec.h"
#include "colour.h"
#include "walk.h"

namespace facematch {

// Data that libjpeg's callbacks find in client_data.
struct JpegClient {
  // Coefficients of a file with several scans. libjpeg keeps them until the last scan. They use
  // huge pages, like new_pixels().
  struct Coefficients {
    jvirt_barray_ptr array;
    size_t bytes;
  };

  JpegClient(std::span<const uint8_t> bytes, const Budget& given)
      : walk(bytes, given), budget(&given) {}

  std::jmp_buf jump = {};
  Walk walk;  // bytes not yet passed to libjpeg
  const Budget* budget;
  unsigned reports = 0;
  bool budget_spent = false;
  std::optional<int> orientation;  // from the first EXIF block that has one
  jpeg_memory_mgr memory = {};     // libjpeg's own methods
  std::array<Coefficients, MAX_COMPONENTS> coefficients = {};
  size_t arrays = 0;
  const char* damage = nullptr;  // damage for which libjpeg has no message

  // Parts of an ICC profile (segments APP2) by number; numbers begin at 1.
  std::array<std::span<const uint8_t>, 256> profile = {};
  size_t profile_parts = 0;  // expected number
};

// Owns the decompressor, so that everything is destroyed after a longjmp out of libjpeg.
class JpegDecoder {
 public:
  JpegDecoder(std::span<const uint8_t> bytes, const Budget& budget);
  ~JpegDecoder() { jpeg_destroy_decompress(&info_); }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // A step that fails returns false; failure() then returns the reason.
  bool read_header();

  // Chooses the scale for a longer side of at least `min_side` pixels; reads all scans of a
  // multi-scan file.
  bool start(int min_side);

  // Skips columns; call it after start(). `left` and `width` are set to the columns that will be
  // read.
  bool crop(int& left, int& width);

  bool skip_to(int row);

  // Prepares the conversion to sRGB if the file's colours are far from it; call it after
  // read_header(). Throws Error kUnsupportedImageFormat.
  void read_colours();

  // Reads the next `bgr.rows` rows. Call convert() afterwards.
  bool read_rows(cv::Mat& bgr);

  // Converts the pixels to sRGB if necessary. Throws the error of Budget::stop().
  void convert(cv::Mat& bgr) const {
    if (to_srgb_) to_srgb_->convert(bgr, *client_.budget);
  }

  const jpeg_decompress_struct& info() const { return info_; }

  // Returns size and orientation of the file and, after start(), the scale; without pixels.
  RawImage facts() const;

  // Returns the size in pixels at the chosen scale.
  cv::Size size() const;

  // Returns the API's value for an unsupported kind of JPEG, or nullptr.
  const char* unsupported_kind() const;

  // Returns the reason why a step returned false; throws it if the budget is spent.
  Error failure();

 private:
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  jpeg_progress_mgr progress_ = {};
  jpeg_source_mgr source_ = {};
  JpegClient client_;
  bool is_cmyk_ = false;
  std::vector<uint8_t> cmyk_row_;
  std::optional<ToSrgb> to_srgb_;
};

}  // namespace facematch
