#include "decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "codec.h"
#include "error.h"

namespace facematch {
namespace {

bool starts_with(std::span<const uint8_t> bytes, size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() &&
         std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

struct Magic {
  size_t at;
  std::string_view bytes;
  const char* format;
};

using std::string_view_literals::operator""sv;

// First hit wins. ISO base media files (HEIC, AVIF) name their brand after "ftyp".
constexpr std::array kMagics = {
    Magic{0, "\xFF\xD8"sv, "jpeg"}, Magic{0, "\x89PNG\r\n\x1A\n"sv, "png"},
    Magic{8, "WEBP"sv, "webp"},     Magic{4, "ftypavif"sv, "avif"},
    Magic{4, "ftypavis"sv, "avif"}, Magic{4, "ftyphei"sv, "heic"},
    Magic{4, "ftyphev"sv, "heic"},  Magic{4, "ftypmif1"sv, "heic"},
    Magic{4, "ftypmsf1"sv, "heic"}, Magic{0, "GIF8"sv, "gif"},
    Magic{0, "BM"sv, "bmp"},        Magic{0, "II*\0"sv, "tiff"},
    Magic{0, "MM\0*"sv, "tiff"},    Magic{0, "%PDF"sv, "pdf"},
};

// EXIF orientation -> upright. 5..8 swap the axes.
cv::Mat upright(const cv::Mat& raw, int orientation) {
  cv::Mat turned;
  switch (orientation) {
    case 2:
      cv::flip(raw, turned, 1);
      return turned;
    case 3:
      cv::rotate(raw, turned, cv::ROTATE_180);
      return turned;
    case 4:
      cv::flip(raw, turned, 0);
      return turned;
    case 5:
      cv::transpose(raw, turned);
      return turned;
    case 6:
      cv::rotate(raw, turned, cv::ROTATE_90_CLOCKWISE);
      return turned;
    case 7: {
      cv::Mat transposed;
      cv::transpose(raw, transposed);
      cv::rotate(transposed, turned, cv::ROTATE_180);
      return turned;
    }
    case 8:
      cv::rotate(raw, turned, cv::ROTATE_90_COUNTERCLOCKWISE);
      return turned;
    default:
      return raw;
  }
}

}  // namespace

const char* sniff(std::span<const uint8_t> bytes) {
  for (const Magic& magic : kMagics) {
    if (!starts_with(bytes, magic.at, magic.bytes)) continue;
    if (magic.at == 8 && !starts_with(bytes, 0, "RIFF")) continue;
    return magic.format;
  }
  return "unknown";
}

void check_dimensions(int64_t width, int64_t height, const ImageLimits& limits) {
  const bool too_small = std::min(width, height) < limits.min_side;
  if (!too_small && width * height <= limits.max_pixels) return;
  Error error(ErrorCode::kImageDimensions);
  error.width = static_cast<int>(width);
  error.height = static_cast<int>(height);
  error.limit_pixels = limits.max_pixels;
  throw error;
}

void flatten_onto_white(const uint8_t* bgra, uint8_t* bgr, int width) {
  for (int x = 0; x < width; ++x, bgra += 4, bgr += 3) {
    const int alpha = bgra[3];
    for (int c = 0; c < 3; ++c) {
      bgr[c] = static_cast<uint8_t>((bgra[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
}

Image decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int wanted_side,
             const Budget& budget) {
  const std::string_view format = sniff(bytes);
  Image image;
  RawImage raw;
  if (format == "jpeg") {
    image.format = Format::kJpeg;
    raw = decode_jpeg(bytes, limits, wanted_side, budget);
  } else if (format == "png") {
    image.format = Format::kPng;
    raw = decode_png(bytes, limits, budget);
  } else if (format == "webp") {
    image.format = Format::kWebp;
    raw = decode_webp(bytes, limits, budget);
  } else {
    Error error(ErrorCode::kUnsupportedImageFormat);
    error.detected = format;
    throw error;
  }
  image.orientation = raw.orientation;
  image.bgr = upright(raw.bgr, raw.orientation);
  const bool swapped = raw.orientation >= 5;
  image.width = swapped ? raw.height : raw.width;
  image.height = swapped ? raw.width : raw.height;
  image.scale = static_cast<float>(image.bgr.cols) / static_cast<float>(image.width);
  return image;
}

}  // namespace facematch
