#include "decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../error.h"
#include "../system/body_memory.h"
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

// Of a value that EXIF does not have: none.
Turn turn_of(int orientation) {
  constexpr std::array<Turn, 9> kTurns = {{
      {},
      {},
      {.from_right = true},
      {.from_right = true, .from_bottom = true},
      {.from_bottom = true},
      {.swapped = true},
      {.swapped = true, .from_right = true},
      {.swapped = true, .from_right = true, .from_bottom = true},
      {.swapped = true, .from_bottom = true},
  }};
  return orientation >= 0 && orientation <= 8 ? kTurns[static_cast<size_t>(orientation)] : Turn{};
}

// The transform from the pixels of a reduced decoding, `size` upright, to those of the full
// image. libjpeg rounds the reduced size up, so the last column or row may lie partly outside the
// image; an orientation that reverses that side moves it to the beginning.
Similarity to_image(const RawImage& raw, cv::Size size) {
  const float times = 8.0f / static_cast<float>(raw.eighths);
  const Turn turn = turn_of(raw.orientation);
  const cv::Point at = turn.swapped ? cv::Point(raw.at.y, raw.at.x) : raw.at;
  const cv::Size full =
      turn.swapped ? cv::Size(raw.height, raw.width) : cv::Size(raw.width, raw.height);
  const auto begin = [&](bool reversed, int from, int pixels, int of) {
    const int end = reversed ? from + pixels : from;
    return reversed ? static_cast<float>(of) - times * static_cast<float>(end)
                    : times * static_cast<float>(end);
  };
  Similarity back = enlarged(times);
  back.tx += begin(turn.from_right, at.x, size.width, full.width);
  back.ty += begin(turn.from_bottom, at.y, size.height, full.height);
  return back;
}

// A part of the upright image, as it lies in the file.
cv::Rect in_file(cv::Rect part, const DecodedImage& whole) {
  const Turn turn = turn_of(whole.orientation);
  if (turn.from_right) part.x = whole.width - part.br().x;
  if (turn.from_bottom) part.y = whole.height - part.br().y;
  return turn.swapped ? cv::Rect(part.y, part.x, part.height, part.width) : part;
}

// The most that a JPEG can have. Of a PNG of a few kilobytes one side may have millions of pixels,
// at a cost for each row.
constexpr int kMaxSide = 65'535;

// Rows that are rotated between two checks of the budget.
constexpr int kStrip = 512;

// `out` already has its size and may be part of an image.
void turn_pixels(const cv::Mat& raw, const Turn& turn, cv::Mat out) {
  if (turn.swapped) cv::transpose(raw, out);
  if (!turn.from_right && !turn.from_bottom) return;
  const int around = turn.from_right && turn.from_bottom ? -1 : turn.from_right ? 1 : 0;
  cv::flip(turn.swapped ? out : raw, out, around);
}

// In strips, so that cancelling is quick on a large image too. Orientations 5..8 swap the axes.
cv::Mat upright(const cv::Mat& raw, int orientation, const Budget& budget) {
  if (orientation < 2 || orientation > 8) return raw;
  const Turn turn = turn_of(orientation);
  const bool swapped = turn.swapped;
  // Rows of the file become rows or columns, from either end.
  const bool from_end = swapped ? turn.from_right : turn.from_bottom;
  cv::Mat out = new_pixels(swapped ? cv::Size(raw.rows, raw.cols) : raw.size(), raw.type());
  for (int first = 0; first < raw.rows; first += kStrip) {
    if (budget.spent()) budget.stop();
    const int last = std::min(first + kStrip, raw.rows);
    const cv::Range place =
        from_end ? cv::Range(raw.rows - last, raw.rows - first) : cv::Range(first, last);
    turn_pixels(raw.rowRange(first, last), turn,
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

cv::Mat new_pixels(cv::Size size, int type) {
  cv::Mat pixels(size, type);
  const size_t bytes = pixels.total() * pixels.elemSize();
  if (bytes >= kLargeBuffer) use_huge_pages(pixels.data, bytes);
  return pixels;
}

void flatten_onto_white(const uint8_t* bgra, uint8_t* bgr, int width) {
  for (int x = 0; x < width; ++x, bgra += 4, bgr += 3) {
    const int alpha = bgra[3];
    for (int c = 0; c < 3; ++c) {
      bgr[c] = static_cast<uint8_t>((bgra[c] * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
}

DecodedImage decode(std::span<const uint8_t> bytes, const ImageLimits& limits, int min_side,
                    const Budget& budget) {
  const std::string_view format = sniff(bytes);
  DecodedImage image;
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
  image.to_image = to_image(raw, image.bgr.size());
  return image;
}

std::vector<View> decode_parts(std::span<const uint8_t> bytes, const DecodedImage& whole,
                               int min_side, std::span<const cv::Rect> parts,
                               const Budget& budget) {
  std::vector<cv::Rect> in_files;
  for (const cv::Rect& part : parts) in_files.push_back(in_file(part, whole));
  std::vector<View> views;
  for (const RawImage& raw : decode_jpeg_parts(bytes, min_side, in_files, budget)) {
    const cv::Mat bgr = upright(raw.bgr, raw.orientation, budget);
    views.emplace_back(bgr, to_image(raw, bgr.size()));
  }
  return views;
}

}  // namespace facematch
