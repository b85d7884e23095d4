#include "decode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "../error.h"
#include "../system/pages.h"
#include "codec.h"
#include "exif.h"

namespace facematch {
namespace {

bool starts_with(std::span<const uint8_t> bytes, size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() &&
         std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

using std::string_view_literals::operator""sv;

// The signature of a format: bytes at the start, and further bytes `then` at offset `at`.
struct Magic {
  std::string_view begin;
  const char* format;
  size_t at = 0;
  std::string_view then = ""sv;
};

constexpr auto kPng = "\x89PNG\r\n\x1A\n"sv;

// The first match is used. JPEG 2000 and JPEG XL files are containers or bare codestreams.
constexpr std::array kMagics = {
    Magic{"\xFF\xD8"sv, "jpeg"},
    // Apple's tools convert the PNGs of apps to a format that other programs cannot read.
    Magic{kPng, "xcode_png", 12, "CgBI"sv},
    Magic{kPng, "png"},
    Magic{"RIFF"sv, "webp", 8, "WEBP"sv},
    Magic{"GIF8"sv, "gif"},
    Magic{"BM"sv, "bmp"},
    Magic{"%PDF"sv, "pdf"},
    Magic{"\0\0\0\x0CjP  \r\n\x87\n"sv, "jp2"},
    Magic{"\xFF\x4F\xFF\x51"sv, "jp2"},
    Magic{"\0\0\0\x0CJXL \r\n\x87\n"sv, "jxl"},
    Magic{"\xFF\x0A"sv, "jxl"},
    // RAW files of Canon, Fujifilm, Olympus, Panasonic, Minolta and Sigma.
    Magic{"II*\0"sv, "raw", 8, "CR"sv},
    Magic{"II\x1A\0"sv, "raw", 6, "HEAPCCDR"sv},
    Magic{"FUJIFILMCCD-RAW"sv, "raw"},
    Magic{"IIRO"sv, "raw"},
    Magic{"IIRS"sv, "raw"},
    Magic{"MMOR"sv, "raw"},
    Magic{"IIU\0"sv, "raw"},
    Magic{"\0MRM"sv, "raw"},
    Magic{"FOVb"sv, "raw"},
    Magic{"II*\0"sv, "tiff"},
    Magic{"MM\0*"sv, "tiff"},
    Magic{"8BPS"sv, "psd"},
    Magic{"\0\5\x16\7"sv, "appledouble"},
    Magic{"\0\5\x16\0"sv, "appledouble"},
    Magic{"PK\3\4"sv, "zip"},
    Magic{"PK\5\6"sv, "zip"},
    Magic{"PK\7\x08"sv, "zip"},
    Magic{"\x1F\x8B"sv, "gzip"},
    // QuickTime without "ftyp", Matroska and WebM, AVI, MPEG, Flash, Windows Media, Ogg.
    Magic{"\0"sv, "video", 4, "moov"sv},
    Magic{"\0"sv, "video", 4, "mdat"sv},
    Magic{"\0"sv, "video", 4, "wide"sv},
    Magic{"\x1A\x45\xDF\xA3"sv, "video"},
    Magic{"RIFF"sv, "video", 8, "AVI "sv},
    Magic{"\0\0\1\xBA"sv, "video"},
    Magic{"\0\0\1\xB3"sv, "video"},
    Magic{"FLV\1"sv, "video"},
    Magic{"\x30\x26\xB2\x75\x8E\x66\xCF\x11"sv, "video"},
    Magic{"OggS"sv, "video"},
};

// Brands of ISO base media files (ISO/IEC 14496-12, section 4.3; 23008-12; AV1 image file format).
// Brands with `any_coding` do not name a coding. Files with other brands are videos.
struct Brand {
  std::string_view begin;
  const char* format;
  bool any_coding = false;
};
constexpr std::array kBrands = {
    Brand{"avi"sv, "avif"},        Brand{"hei"sv, "heic"},        Brand{"hev"sv, "heic"},
    Brand{"avci"sv, "heic"},       Brand{"crx "sv, "raw"},        Brand{"mif"sv, "heic", true},
    Brand{"msf1"sv, "heic", true}, Brand{"miaf"sv, "heic", true},
};

// Returns the kind of a file whose first box lists brands, the major one first.
const char* sniff_brands(std::span<const uint8_t> bytes) {
  const size_t length = size_t{bytes[2]} << 8 | bytes[3];
  const size_t end = std::min(bytes.size(), std::max<size_t>(12, length));
  for (const bool any_coding : {false, true}) {
    for (size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) {
      for (const Brand& brand : kBrands) {
        if (brand.any_coding == any_coding && starts_with(bytes, at, brand.begin)) {
          return brand.format;
        }
      }
    }
  }
  return "video";
}

// The transform of an EXIF orientation for columns and rows: swaps them first, then reverses them.
struct ExifTransform {
  bool swapped = false;  // columns become rows
  bool from_right = false;
  bool from_bottom = false;
};

// Returns the identity for a value that EXIF does not define.
ExifTransform exif_transform(int orientation) {
  constexpr std::array<ExifTransform, 9> kTransforms = {{
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
  return orientation >= 0 && orientation <= 8 ? kTransforms[static_cast<size_t>(orientation)]
                                              : ExifTransform{};
}

// Returns the transform from a reduced, upright image of `size` pixels to the full image. libjpeg
// rounds the reduced size up, so the last column or row may be partly outside the image. If the
// orientation reverses a side, this is the first column or row.
Similarity to_image(const RawImage& raw, cv::Size size) {
  const float times = 8.0f / static_cast<float>(raw.eighths);
  const ExifTransform turn = exif_transform(raw.orientation);
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

// Converts a part of the upright image to coordinates of the file.
cv::Rect in_file(cv::Rect part, const DecodedImage& whole) {
  const ExifTransform turn = exif_transform(whole.orientation);
  if (turn.from_right) part.x = whole.width - part.br().x;
  if (turn.from_bottom) part.y = whole.height - part.br().y;
  return turn.swapped ? cv::Rect(part.y, part.x, part.height, part.width) : part;
}

// Maximum side of a JPEG. It also limits PNGs, because a PNG of a few kilobytes may have millions
// of rows, each with a cost.
constexpr int kMaxSide = 65'535;

// Number of rows that are rotated between two checks of the budget.
constexpr int kStrip = 512;

// `out` is allocated already and may be part of an image.
void transform_pixels(const cv::Mat& raw, const ExifTransform& turn, cv::Mat out) {
  if (turn.swapped) cv::transpose(raw, out);
  if (!turn.from_right && !turn.from_bottom) return;
  const int around = turn.from_right && turn.from_bottom ? -1 : turn.from_right ? 1 : 0;
  cv::flip(turn.swapped ? out : raw, out, around);
}

// Works in strips, so that a call can be cancelled quickly on a large image too. Orientations 5..8
// swap the axes.
cv::Mat upright(const cv::Mat& raw, int orientation, const Budget& budget) {
  if (orientation < 2 || orientation > 8) return raw;
  const ExifTransform turn = exif_transform(orientation);
  const bool swapped = turn.swapped;
  // Rows of the file become rows or columns of the result, in this or the reverse order.
  const bool from_end = swapped ? turn.from_right : turn.from_bottom;
  cv::Mat out = new_pixels(swapped ? cv::Size(raw.rows, raw.cols) : raw.size(), raw.type());
  for (int first = 0; first < raw.rows; first += kStrip) {
    if (budget.spent()) budget.stop();
    const int last = std::min(first + kStrip, raw.rows);
    const cv::Range place =
        from_end ? cv::Range(raw.rows - last, raw.rows - first) : cv::Range(first, last);
    transform_pixels(raw.rowRange(first, last), turn,
                     swapped ? out.colRange(place) : out.rowRange(place));
  }
  return out;
}

}  // namespace

const char* sniff(std::span<const uint8_t> bytes) {
  if (starts_with(bytes, 4, "ftyp") && bytes.size() >= 12) return sniff_brands(bytes);
  for (const Magic& magic : kMagics) {
    if (!starts_with(bytes, 0, magic.begin) || !starts_with(bytes, magic.at, magic.then)) continue;
    const bool is_raw = magic.format == "tiff"sv && is_camera_raw(bytes);
    return is_raw ? "raw" : magic.format;
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
  const bool swapped = exif_transform(raw.orientation).swapped;
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
