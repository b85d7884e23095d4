// Damaged images must cause an Error or decode to an image of a valid size. These tests are most
// useful under AddressSanitizer. The fuzzer, which test:full also runs, covers arbitrary bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "../core/image/decode.h"
#include "drawing.h"
#include "support.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kSmall = {.max_pixels = 200'000, .min_side = 1};

// Decodes and checks the result; returns nothing on an Error. Other exceptions pass through and
// fail the test.
std::optional<DecodedImage> decoded(const ByteVector& file) {
  try {
    auto image = decode(file, kSmall, 0);
    REQUIRE(image.bgr.type() == CV_8UC3);
    REQUIRE(image.bgr.cols == image.width);
    REQUIRE(image.bgr.rows == image.height);
    REQUIRE(int64_t{image.width} * image.height <= kSmall.max_pixels);
    REQUIRE(image.orientation >= 1);
    REQUIRE(image.orientation <= 8);
    return image;
  } catch (const Error& error) {
    REQUIRE(error.code != ErrorCode::kInternalError);
    return std::nullopt;
  }
}

}  // namespace

TEST_SUITE_BEGIN("damage");

TEST_CASE("rejects an image truncated at any byte, or returns all its pixels") {
  for (const Specimen& specimen : specimens()) {
    CAPTURE(std::string(specimen.name));
    const auto whole = decoded(specimen.file);
    REQUIRE(whole);
    // JPEGs and PNGs need everything except the end marker; the last bytes of a lossy WebP may have
    // no influence on the image.
    const char format = specimen.name[0];
    const size_t spare = format == 'j' ? 2 : format == 'p' ? 12 : 2;
    size_t accepted = 0;
    for (size_t size = 0; size < specimen.file.size(); ++size) {
      // A copy of exactly this size, so that AddressSanitizer detects a read past the end.
      const auto image = decoded(
          {specimen.file.begin(), specimen.file.begin() + static_cast<std::ptrdiff_t>(size)});
      CAPTURE(size);
      if (!image) continue;
      ++accepted;
      CHECK(image->orientation == whole->orientation);
      CHECK(largest_difference(image->bgr, whole->bgr) == 0);
    }
    CHECK(accepted <= spare);
    if (format != 'w') CHECK(accepted == spare);
  }
}

namespace {

std::ptrdiff_t find(const ByteVector& file, std::string_view bytes) {
  const auto at = std::search(file.begin(), file.end(), bytes.begin(), bytes.end(),
                              [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
  REQUIRE(at != file.end());
  return at - file.begin();
}

void insert(ByteVector& file, std::ptrdiff_t at, std::string_view bytes) {
  file.insert(file.begin() + at, bytes.begin(), bytes.end());
}

using std::string_view_literals::operator""sv;
constexpr std::string_view kScan = "\xFF\xDA"sv, kRestart = "\xFF\xD0"sv, kEnd = "\xFF\xD9"sv;
// A video after the image, as phones write it, with bytes that look like markers.
constexpr std::string_view kVideo =
    "\0\0\0\x18"
    "ftypmp42\xFF\xC4\xFF\xD8\xFF\xE1\xFF\xFF"sv;

struct Oddity {
  const char* what;
  const char* specimen;
  bool harmless;
  void (*change)(ByteVector& file);
};

const Oddity kOddities[] = {
    {"Ss, Se, Ah and Al of a sequential scan are 0", "jpeg", true,
     [](ByteVector& file) { std::fill_n(file.begin() + find(file, kScan) + 11, 3, uint8_t{0}); }},
    {"zeros before a marker", "jpeg", true,
     [](ByteVector& file) { insert(file, find(file, kScan), "\0\0\0"sv); }},
    {"an unknown version of JFIF", "jpeg", true,
     [](ByteVector& file) { file.begin()[find(file, "JFIF"sv) + 5] = 9; }},
    {"an unknown transform of Adobe's", "jpeg", true,
     [](ByteVector& file) {
       insert(file, 2,
              "\xFF\xEE\0\x0E"
              "Adobe\0\x64\0\0\0\0\x09"sv);
     }},
    {"an application's segment and part of a colour profile", "jpeg", true,
     [](ByteVector& file) {
       insert(file, 2, "\xFF\xEA\0\x04xy\xFF\xE2\0\x12ICC_PROFILE\0\x02\x03zz"sv);
     }},
    {"a video instead of the end", "jpeg", true,
     [](ByteVector& file) {
       file.resize(file.size() - 2);
       insert(file, std::ssize(file), kVideo);
     }},
    {"zeros instead of the end of a progressive JPEG", "jpeg, progressive", true,
     [](ByteVector& file) { file[file.size() - 2] = file[file.size() - 1] = 0; }},
    {"a restart marker out of order", "jpeg, restart markers", false,
     [](ByteVector& file) { file.begin()[find(file, kRestart) + 1] = 0xD4; }},
    {"the maximum number of bytes before a restart marker", "jpeg, restart markers", true,
     [](ByteVector& file) { insert(file, find(file, kRestart), "\0\1\2\3\4\5\6\7"sv); }},
    {"one byte too many before a restart marker", "jpeg, restart markers", false,
     [](ByteVector& file) { insert(file, find(file, kRestart), "\0\1\2\3\4\5\6\7\x08"sv); }},
    {"any number of fill bytes before a restart marker", "jpeg, restart markers", true,
     [](ByteVector& file) {
       insert(file, find(file, kRestart), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"sv);
     }},
    {"rows are missing before the end", "jpeg", false,
     [](ByteVector& file) {
       file.resize(file.size() * 9 / 10);
       insert(file, std::ssize(file), kEnd);
     }},
    {"a wrong checksum of a chunk that is not needed", "png", true,
     [](ByteVector& file) { insert(file, 33, "\0\0\0\x01gAMAx0000"sv); }},
    {"invalid chunks that are not needed", "png", true,
     [](ByteVector& file) {
       insert(file, 33, "\0\0\0\x02gAMAxx0000\0\0\0\x01iCCPx0000\0\0\0\x05sBITxxxxx0000"sv);
       repair_png_checksums(file);
     }},
    {"a wrong checksum of the end", "png", true, [](ByteVector& file) { ++file.back(); }},
    {"a video instead of the end", "png", true,
     [](ByteVector& file) {
       file.resize(file.size() - 12);
       insert(file, std::ssize(file), kVideo);
     }},
    {"a smaller window than was used", "png, far matches, orientation at the end", true,
     [](ByteVector& file) {
       insert(file, find(file, "IDAT"sv) + 4, "\x08\x1D"sv);
       file.erase(file.begin() + find(file, "IDAT"sv) + 6, file.begin() + find(file, "IDAT"sv) + 8);
       repair_png_checksums(file);
     }},
    {"a wrong checksum of the pixels", "png", false,
     [](ByteVector& file) { ++file[file.size() - 13]; }},
    {"cut in the orientation", "png, far matches, orientation at the end", false,
     [](ByteVector& file) { file.resize(file.size() - 14); }},
    {"declares more bytes than it has", "webp, lossy with alpha", true,
     [](ByteVector& file) { file[4] = static_cast<uint8_t>(file[4] + 8); }},
    {"declares more bytes than it has, which may contain the orientation", "webp, lossless", false,
     [](ByteVector& file) { file[4] = static_cast<uint8_t>(file[4] + 8); }},
};

ByteVector specimen_for(std::string_view name) {
  for (const Specimen& specimen : specimens()) {
    if (specimen.name == name) return specimen.file;
  }
  REQUIRE(name == "png, far matches, orientation at the end");
  PngOptions options = {.width = 400, .height = 20, .colour_type = PNG_COLOR_TYPE_PALETTE};
  options.palette.resize(256);
  options.exif = ExifBlock{.orientation = 6}.bytes();
  options.exif_after_pixels = true;
  const cv::Mat row = grain(400, 1, CV_8U);
  ByteVector rows;
  for (int y = 0; y < 20; ++y) rows.insert(rows.end(), row.data, row.data + 400);
  return encode_png(rows, options);
}

}  // namespace

TEST_CASE("accepts odd data that decoders skip, and rejects gaps that they fill with guesses") {
  for (const Oddity& oddity : kOddities) {
    CAPTURE(std::string(oddity.what));
    CAPTURE(std::string(oddity.specimen));
    const ByteVector file = specimen_for(oddity.specimen);
    ByteVector odd = file;
    oddity.change(odd);
    const auto image = decoded(odd);
    CHECK(image.has_value() == oddity.harmless);
    if (image) CHECK(largest_difference(image->bgr, decoded(file)->bgr) == 0);
  }
}

TEST_CASE("names an unsupported kind of JPEG, but not the kind of a damaged one") {
  const auto check = [](const ByteVector& file, const char* detected) {
    const auto error = error_of([&] { decode(file, {}, 0); });
    REQUIRE(error);
    CHECK(error->detected == detected);
  };
  const cv::Mat image = gradient(40, 30);
  // Truncation of an arithmetic-coded file cannot be detected.
  for (const bool progressive : {false, true}) {
    check(encode_jpeg(image, {.progressive = progressive, .arithmetic = true}), "arithmetic_jpeg");
  }
  const ByteVector ordinary = encode_jpeg(image);
  const auto changed = [&](size_t at, int byte, const char* detected) {
    CAPTURE(byte);
    ByteVector file = ordinary;
    file[find(file, "\xFF\xC0"sv) + at] = static_cast<uint8_t>(byte);
    check(file, detected);
  };
  for (const int marker : {0xCB, 0xCD, 0xCE, 0xCF}) changed(1, marker, "arithmetic_jpeg");
  for (const int marker : {0xC3, 0xC5, 0xC6, 0xC7, 0xDE, 0xF7}) changed(1, marker, "unusual_jpeg");
  for (const int marker : {0xC8, 0xDF, 0xF0}) changed(1, marker, "");
  changed(4, 12, "unusual_jpeg");
  changed(4, 13, "");
}

TEST_SUITE_END();

}  // namespace facematch::testing
