// A libFuzzer target. For any bytes, decode() must throw an Error or return an image of a valid
// size: in full, at a reduced scale and in parts. See https://llvm.org/docs/LibFuzzer.html.
#include "../core/image/decode.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "../core/error.h"
#include "../test/drawing.h"
#include "../test/repeated.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kLimits = {.max_pixels = 200'000, .min_side = 1};
// The budget: more CPU time than any valid image of this size takes, even with the sanitizers. A
// decoder that does not check its budget takes much longer, which libFuzzer's -timeout reports.
constexpr double kMilliseconds = 1000;
// Divisors of an image's longer side, which make a JPEG decode at each of its scales.
constexpr int kShares[] = {1, 2, 4, 8};

// libFuzzer reports an abort as a finding and keeps the bytes.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "decode() violates a guarantee: %s\n", what);
  std::abort();
}

double thread_milliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::optional<DecodedImage> decoded(std::span<const uint8_t> bytes, int min_side) {
  const double start = thread_milliseconds();
  std::optional<DecodedImage> image;
  try {
    image = decode(bytes, kLimits, min_side, Budget(kMilliseconds));
  } catch (const Error& error) {
    require(error.code != ErrorCode::kInternalError, "damaged bytes are never an internal error");
  }
  require(thread_milliseconds() - start < 1.5 * kMilliseconds, "the budget is checked");
  return image;
}

void check(const DecodedImage& image) {
  const int64_t pixels = int64_t{image.width} * image.height;
  require(image.bgr.type() == CV_8UC3, "pixels are BGR");
  require(image.width >= kLimits.min_side && image.height >= kLimits.min_side, "sides are limited");
  require(pixels <= kLimits.max_pixels, "pixels are limited");
  require(!image.bgr.empty(), "an image has pixels");
  require(image.bgr.cols <= image.width && image.bgr.rows <= image.height,
          "the image is not enlarged");
  require(image.scale() > 0 && image.scale() <= 1, "the scale is above 0 and at most 1");
  require(image.orientation >= 1 && image.orientation <= 8, "the orientation is 1..8");
  // Reads every pixel, so that AddressSanitizer checks that they all exist.
  require(cv::norm(image.bgr, cv::NORM_L1) >= 0, "pixels are numbers");
}

// Checks that parts have the pixels of the whole image at the same scale.
void check_parts(std::span<const uint8_t> bytes, const DecodedImage& whole, int side) {
  const int across = whole.width / 3, down = whole.height / 3;
  // The parts are in the middle third, so that columns are skipped on both sides.
  const cv::Rect parts[] = {cv::Rect(across, 0, across + 1, down + 1),
                            cv::Rect(across, 2 * down, across + 1, whole.height - 2 * down)};
  std::vector<View> views;
  try {
    views = decode_parts(bytes, whole, side, parts, Budget(kMilliseconds));
  } catch (const Error& error) {
    return require(error.code == ErrorCode::kImageTooComplex,
                   "parts of a decoded image can be decoded");
  }
  require(views.size() == std::size(parts), "the number of parts is the requested one");
  for (size_t i = 0; i < views.size(); ++i) {
    require(is_part_of(views[i], whole, parts[i]), "a part has the whole's pixels");
  }
}

// decode() must accept every file that libwebp's own demuxer accepts, with the same pixels.
void check_webp(std::span<const uint8_t> bytes, const std::optional<DecodedImage>& image) {
  const WebPData data = {bytes.data(), bytes.size()};
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data),
                                                                         WebPDemuxDelete);
  WebPIterator frame = {};
  if (!demuxer || WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) return;
  const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> release(
      &frame, WebPDemuxReleaseIterator);
  const auto canvas = [&](WebPFormatFeature side) {
    return static_cast<int>(WebPDemuxGetI(demuxer.get(), side));
  };
  const int width = canvas(WEBP_FF_CANVAS_WIDTH), height = canvas(WEBP_FF_CANVAS_HEIGHT);
  if (int64_t{width} * height > kLimits.max_pixels || std::max(width, height) > 65'535) return;
  int columns = 0, rows = 0;
  const std::unique_ptr<uint8_t, decltype(&WebPFree)> pixels(
      WebPDecodeBGR(frame.fragment.bytes, frame.fragment.size, &columns, &rows), WebPFree);
  if (!pixels) return;
  require(image.has_value(), "a WebP that libwebp decodes is an image");
  if (image->orientation > 1 || frame.has_alpha != 0) return;
  require(image->width == width && image->height == height, "the canvas is libwebp's");
  const cv::Mat expected(rows, columns, CV_8UC3, pixels.get());
  const cv::Rect place(frame.x_offset, frame.y_offset, columns, rows);
  require(cv::norm(image->bgr(place), expected, cv::NORM_INF) <= 0, "the pixels are libwebp's");
}

size_t u32(const uint8_t* bytes, bool little_endian) {
  size_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | bytes[little_endian ? 3 - i : i];
  return value;
}

// Returns offset and length of a chunk of a PNG or WebP, or of any bytes.
std::pair<size_t, size_t> unit_of(const uint8_t* data, size_t size, Random& random) {
  const bool png = data[1] == 'P', webp = data[8] == 'W';
  std::vector<std::pair<size_t, size_t>> chunks;
  const size_t around = png ? 12 : 8;
  for (size_t at = png ? 8 : 12; (png || webp) && at + around <= size && chunks.size() < 1000;) {
    const size_t length = png ? u32(data + at, false) : u32(data + at + 4, true);
    const size_t whole = around + length + (webp ? length % 2 : 0);
    if (whole > size - at) break;
    chunks.emplace_back(at, whole);
    at += whole;
  }
  if (!chunks.empty() && random.below(4) != 0) return chunks[random.below(chunks.size())];
  const size_t length = 1 + random.below(std::min<size_t>(64, size));
  return {random.below(size - length + 1), length};
}

// Repeats a unit at most as often as it fits. A unit that is cheap once may be expensive a million
// times.
size_t repeat_unit(uint8_t* data, size_t size, size_t max_size, Random& random) {
  const auto [at, length] = unit_of(data, size, random);
  const size_t room = (max_size - size) / length;
  if (room == 0) return size;
  const size_t more = length * (1 + random.below(room)), end = at + length;
  std::memmove(data + end + more, data + end, size - end);
  for (size_t i = 0; i < more; ++i) data[end + i] = data[at + i % length];
  return size + more;
}

}  // namespace
}  // namespace facematch::testing

// If FACEMATCH_SEEDS names a folder, writes the tests' specimens there as seeds for the fuzzer, one
// file each, and exits.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("FACEMATCH_SEEDS");
  if (folder == nullptr) return 0;
  size_t number = 0;
  const auto write = [&](const facematch::testing::ByteVector& bytes) {
    std::ofstream file(folder + ("/" + std::to_string(++number)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  };
  for (const auto& specimen : facematch::testing::specimens()) write(specimen.file);
  for (const auto& unit : facematch::testing::repeated_units()) write(unit.file(4096));
  std::_Exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace facematch::testing;
  const auto full = decoded({data, size}, 0);
  if (std::strcmp(facematch::sniff({data, size}), "webp") == 0) check_webp({data, size}, full);
  if (!full) return 0;
  check(*full);
  require(full->bgr.cols == full->width && full->bgr.rows == full->height,
          "the image has its full size");
  if (full->format != facematch::Format::kJpeg) return 0;
  for (const int share : kShares) {
    const int side = std::max(1, std::max(full->width, full->height) / share);
    const auto reduced = decoded({data, size}, side);
    if (!reduced) continue;
    check(*reduced);
    require(reduced->longer_side() >= side, "the side is at least the requested one");
    require(full->width == reduced->width && full->height == reduced->height &&
                full->orientation == reduced->orientation,
            "the header is the same at every scale");
    check_parts({data, size}, *reduced, side);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Repairs most mutants: with wrong checksums, libpng rejects a file at once, and with a wrong file
// length, a WebP's new chunks are not read. One in eight stays wrong on purpose.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  facematch::testing::Random random(seed);
  const bool repeats = size >= 12 && random.below(64) == 0;
  const size_t changed = repeats ? facematch::testing::repeat_unit(data, size, max_size, random)
                                 : LLVMFuzzerMutate(data, size, max_size);
  if (changed >= 12 && data[8] == 'W' && seed % 8 != 0) {
    for (size_t i = 0; i < 4; ++i) data[4 + i] = static_cast<uint8_t>((changed - 8) >> 8 * i);
  }
  if (changed >= 8 && data[1] == 'P' && seed % 8 != 0) {
    facematch::testing::ByteVector file(data, data + changed);
    facematch::testing::repair_png_checksums(file);
    std::copy(file.begin(), file.end(), data);
  }
  return changed;
}
