#include "decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../error.h"
#include "codec.h"

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

// The first match counts. ISO base media files (HEIC, AVIF) have their brand after "ftyp"; JPEG
// 2000 and JPEG XL are files of boxes or bare codestreams.
constexpr std::array kMagics = {
    Magic{0, "\xFF\xD8"sv, "jpeg"},
    Magic{0, "\x89PNG\r\n\x1A\n"sv, "png"},
    Magic{8, "WEBP"sv, "webp"},
    Magic{4, "ftypavif"sv, "avif"},
    Magic{4, "ftypavis"sv, "avif"},
    Magic{4, "ftyphei"sv, "heic"},
    Magic{4, "ftyphev"sv, "heic"},
    Magic{4, "ftypmif1"sv, "heic"},
    Magic{4, "ftypmsf1"sv, "heic"},
    Magic{0, "GIF8"sv, "gif"},
    Magic{0, "BM"sv, "bmp"},
    Magic{0, "II*\0"sv, "tiff"},
    Magic{0, "MM\0*"sv, "tiff"},
    Magic{0, "%PDF"sv, "pdf"},
    Magic{0, "\0\0\0\x0CjP  \r\n\x87\n"sv, "jp2"},
    Magic{0, "\xFF\x4F\xFF\x51"sv, "jp2"},
    Magic{0, "\0\0\0\x0CJXL \r\n\x87\n"sv, "jxl"},
    Magic{0, "\xFF\x0A"sv, "jxl"},
};

// Where an EXIF orientation moves columns and rows. Applied in this order: swap, then reverse.
struct Turn {
  bool swapped = false;  // columns become rows
  bool from_right = false;
  bool from_bottom = false;
};

Turn turn_of(int orientation) {
  switch (orientation) {
    case 2:
      return {.from_right = true};
    case 3:
      return {.from_right = true, .from_bottom = true};
    case 4:
      return {.from_bottom = true};
    case 5:
      return {.swapped = true};
    case 6:
      return {.swapped = true, .from_right = true};
    case 7:
      return {.swapped = true, .from_right = true, .from_bottom = true};
    case 8:
      return {.swapped = true, .from_bottom = true};
    default:
      return {};
  }
}

// The transform from the pixels of a reduced decoding to those of the full picture. libjpeg rounds
// the reduced size up, so the last column or row may lie partly outside the picture; an orientation
// that reverses that side moves it to the beginning.
Similarity to_picture(const Image& image, const RawImage& raw) {
  if (raw.eighths == 8) return {};
  Similarity back = enlarged(8.0f / static_cast<float>(raw.eighths));
  const Turn turn = turn_of(raw.orientation);
  const auto outside = [&](int pixels, int full) {
    return back.a * static_cast<float>(pixels) - static_cast<float>(full);
  };
  if (turn.from_right) back.tx -= outside(image.bgr.cols, image.width);
  if (turn.from_bottom) back.ty -= outside(image.bgr.rows, image.height);
  return back;
}

// The most that a JPEG can have. Of a PNG of a few kilobytes one side may have millions of pixels,
// at a cost for each row.
constexpr int kMaxSide = 65'535;

// Rows that are rotated between two checks of the budget.
constexpr int kStrip = 512;

// EXIF orientation -> upright. `out` already has its size and may be part of a picture.
void apply_orientation(const cv::Mat& raw, int orientation, cv::Mat out) {
  switch (orientation) {
    case 2:
      return cv::flip(raw, out, 1);
    case 3:
      return cv::rotate(raw, out, cv::ROTATE_180);
    case 4:
      return cv::flip(raw, out, 0);
    case 5:
      return cv::transpose(raw, out);
    case 6:
      return cv::rotate(raw, out, cv::ROTATE_90_CLOCKWISE);
    case 7: {
      cv::Mat transposed;
      cv::transpose(raw, transposed);
      return cv::rotate(transposed, out, cv::ROTATE_180);
    }
    default:
      return cv::rotate(raw, out, cv::ROTATE_90_COUNTERCLOCKWISE);
  }
}

// In strips, so that cancelling is quick on a large image too. Orientations 5..8 swap the axes.
cv::Mat upright(const cv::Mat& raw, int orientation, const Budget& budget) {
  if (orientation < 2 || orientation > 8) return raw;
  const Turn turn = turn_of(orientation);
  const bool swapped = turn.swapped;
  // Rows of the file become rows or columns, from either end.
  const bool from_end = swapped ? turn.from_right : turn.from_bottom;
  cv::Mat out(swapped ? cv::Size(raw.rows, raw.cols) : raw.size(), raw.type());
  for (int first = 0; first < raw.rows; first += kStrip) {
    if (budget.spent()) throw Error(ErrorCode::kImageTooComplex);
    const int last = std::min(first + kStrip, raw.rows);
    const cv::Range place =
        from_end ? cv::Range(raw.rows - last, raw.rows - first) : cv::Range(first, last);
    apply_orientation(raw.rowRange(first, last), orientation,
                      swapped ? out.colRange(place) : out.rowRange(place));
  }
  return out;
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
  const bool in_range = std::min(width, height) >= limits.min_side &&
                        std::max(width, height) <= kMaxSide && width * height <= limits.max_pixels;
  if (in_range) return;
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

Image decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
             const Budget& budget) {
  const std::string_view format = sniff(bytes);
  Image image;
  RawImage raw;
  if (format == "jpeg") {
    image.format = Format::kJpeg;
    raw = decode_jpeg(bytes, limits, min_side, budget);
  } else if (format == "png") {
    image.format = Format::kPng;
    raw = decode_png(bytes, limits, budget);
  } else if (format == "webp") {
    image.format = Format::kWebp;
    raw = decode_webp(bytes, limits, budget);
  } else {
    throw unsupported_format(std::string(format));
  }
  image.orientation = raw.orientation;
  image.bgr = upright(raw.bgr, raw.orientation, budget);
  const bool swapped = turn_of(raw.orientation).swapped;
  image.width = swapped ? raw.height : raw.width;
  image.height = swapped ? raw.width : raw.height;
  image.to_picture = to_picture(image, raw);
  return image;
}

}  // namespace facematch
