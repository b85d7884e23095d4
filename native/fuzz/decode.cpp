// A libFuzzer target: any bytes give an Error or an image of a valid size, decoded in full,
// reduced and in parts. See https://llvm.org/docs/LibFuzzer.html.
#include "../core/image/decode.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "../core/error.h"
#include "../test/drawing.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kLimits = {.max_pixels = 200'000, .min_side = 1};
// Longer than any valid image of that size takes, even with the sanitizers. A decoder that does
// not check its budget exceeds it by far, and libFuzzer's -timeout reports that.
constexpr double kMilliseconds = 1000;
// Shares of an image's longer side: parts of them are decoded at each scale that a JPEG has.
constexpr int kShares[] = {1, 2, 4, 8};

// libFuzzer reports an abort as a finding and keeps the bytes.
void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "decode() broke its promise: %s\n", what);
  std::abort();
}

std::optional<DecodedImage> decoded(std::span<const uint8_t> bytes, int min_side) {
  try {
    return decode(bytes, kLimits, min_side, Budget(kMilliseconds));
  } catch (const Error& error) {
    require(error.code != ErrorCode::kInternalError, "damaged bytes are never an internal error");
    return std::nullopt;
  }
}

void check(const DecodedImage& image) {
  const int64_t pixels = int64_t{image.width} * image.height;
  require(image.bgr.type() == CV_8UC3, "pixels are BGR");
  require(image.width >= kLimits.min_side && image.height >= kLimits.min_side, "sides are limited");
  require(pixels <= kLimits.max_pixels, "pixels are limited");
  require(!image.bgr.empty(), "an image has pixels");
  require(image.bgr.cols <= image.width && image.bgr.rows <= image.height, "never enlarged");
  require(image.scale() > 0 && image.scale() <= 1, "scale is of 0..1");
  require(image.orientation >= 1 && image.orientation <= 8, "orientation is of 1..8");
  // Reads every pixel, so that AddressSanitizer sees whether they are all there.
  require(cv::norm(image.bgr, cv::NORM_L1) >= 0, "pixels are numbers");
}

// What is decoded in parts has the pixels of the whole, which was decoded for that side.
void check_parts(std::span<const uint8_t> bytes, const DecodedImage& whole, int side) {
  const int across = whole.width / 3, down = whole.height / 3;
  // In the middle third, so that columns are left out on both sides.
  const cv::Rect parts[] = {cv::Rect(across, 0, across + 1, down + 1),
                            cv::Rect(across, 2 * down, across + 1, whole.height - 2 * down)};
  std::vector<View> views;
  try {
    views = decode_parts(bytes, whole, side, parts, Budget(kMilliseconds));
  } catch (const Error& error) {
    return require(error.code == ErrorCode::kImageTooComplex, "what was decoded can be decoded");
  }
  require(views.size() == std::size(parts), "as many parts as were asked for");
  for (size_t i = 0; i < views.size(); ++i) {
    require(is_part_of(views[i], whole, parts[i]), "a part has the whole's pixels");
  }
}

}  // namespace
}  // namespace facematch::testing

// With a folder in FACEMATCH_SEEDS it writes the specimens of the tests there, a file each, from
// which the fuzzer is to start, and ends.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const folder = std::getenv("FACEMATCH_SEEDS");
  if (folder == nullptr) return 0;
  for (size_t number = 0; const auto& specimen : facematch::testing::specimens()) {
    std::ofstream file(folder + ("/" + std::to_string(++number)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(specimen.file.data()), std::ssize(specimen.file));
  }
  std::_Exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace facematch::testing;
  const auto full = decoded({data, size}, 0);
  if (!full) return 0;
  check(*full);
  require(full->bgr.cols == full->width && full->bgr.rows == full->height, "full size");
  if (full->format != facematch::Format::kJpeg) return 0;
  for (const int share : kShares) {
    const int side = std::max(1, std::max(full->width, full->height) / share);
    const auto reduced = decoded({data, size}, side);
    if (!reduced) continue;
    check(*reduced);
    require(reduced->longer_side() >= side, "at least the side asked for");
    require(full->width == reduced->width && full->height == reduced->height &&
                full->orientation == reduced->orientation,
            "the header is read alike at every scale");
    check_parts({data, size}, *reduced, side);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Without correct checksums libpng rejects nearly every mutant at once; some are left wrong.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const size_t changed = LLVMFuzzerMutate(data, size, most);
  if (changed >= 8 && data[1] == 'P' && seed % 8 != 0) {
    facematch::testing::ByteVector file(data, data + changed);
    facematch::testing::repair_png_checksums(file);
    std::copy(file.begin(), file.end(), data);
  }
  return changed;
}
