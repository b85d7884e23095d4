// A libFuzzer target: any bytes give an Error or an image of a valid size, decoded in full,
// reduced and in parts. See https://llvm.org/docs/LibFuzzer.html.
#include "../core/image/decode.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "../core/error.h"
#include "../test/drawing.h"

namespace facematch::testing {
namespace {

constexpr ImageLimits kLimits = {.max_pixels = 200'000, .min_side = 1};
// Longer than any valid image of that size takes, even with the sanitizers. A decoder that does
// not check its budget exceeds it by far, and libFuzzer's -timeout reports that.
constexpr double kMilliseconds = 1000;
// Pixels; less than 1/4 of most images.
constexpr int kReducedSide = 48;

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

// What is decoded in parts has the pixels of the whole.
void check_parts(std::span<const uint8_t> bytes, const DecodedImage& full) {
  const cv::Rect all({}, full.bgr.size());
  const cv::Point middle(all.width / 2, all.height * 2 / 3);
  const cv::Rect parts[] = {cv::Rect(0, 0, middle.x + 1, all.height / 3 + 1),
                            cv::Rect(middle, all.br())};
  std::vector<View> views;
  try {
    views =
        decode_parts(bytes, full, std::max(all.width, all.height), parts, Budget(kMilliseconds));
  } catch (const Error& error) {
    return require(error.code == ErrorCode::kImageTooComplex, "what was decoded can be decoded");
  }
  require(views.size() == std::size(parts), "as many parts as were asked for");
  for (size_t i = 0; i < views.size(); ++i) {
    const Similarity& place = views[i].to_image;
    const cv::Rect seen(cv::Point(cvRound(place.tx), cvRound(place.ty)), views[i].bgr.size());
    require((seen & parts[i]) == parts[i], "a part shows what was asked for");
    const cv::Mat part = views[i].bgr(parts[i] - seen.tl());
    require(cv::norm(part, full.bgr(parts[i]), cv::NORM_INF) <= 0, "a part has the whole's pixels");
  }
}

}  // namespace
}  // namespace facematch::testing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace facematch::testing;
  const auto full = decoded({data, size}, 0);
  if (full) {
    check(*full);
    require(full->bgr.cols == full->width && full->bgr.rows == full->height, "full size");
    if (full->format == facematch::Format::kJpeg) check_parts({data, size}, *full);
  }
  const auto reduced = decoded({data, size}, kReducedSide);
  if (reduced) {
    check(*reduced);
    require(std::max(reduced->bgr.cols, reduced->bgr.rows) >=
                std::min(kReducedSide, std::max(reduced->width, reduced->height)),
            "at least the side asked for");
  }
  if (full && reduced) {
    require(full->width == reduced->width && full->height == reduced->height &&
                full->format == reduced->format && full->orientation == reduced->orientation,
            "the header is read alike at every scale");
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
