// Decodes parts of a JPEG, in one pass through the file, up to the last row that is needed.
#include <algorithm>
#include <cmath>

#include "codec_jpeg.h"

namespace facematch {
namespace {

// Returns the rows of the parts, from the top; ranges that are near each other are merged. Each
// range ends at the end of a row of blocks, which is 1 to 32 pixels high. If skipping begins in the
// last rows of a row of blocks, libjpeg-turbo 2.1 skips a wrong number of rows for some sampling
// factors, such as 1x4 for Y and 1x2 for Cb and Cr.
std::vector<cv::Range> rows_of(std::vector<cv::Rect> parts, int height) {
  constexpr int kRowOfBlocks = 32;
  // Skipping fewer rows of pixels than this saves nothing.
  constexpr int kNear = 64;
  std::sort(parts.begin(), parts.end(),
            [](const cv::Rect& a, const cv::Rect& b) { return a.y < b.y; });
  std::vector<cv::Range> rows;
  for (const cv::Rect& part : parts) {
    const int last = (part.br().y + kRowOfBlocks - 1) / kRowOfBlocks * kRowOfBlocks;
    const int end = std::min(last, height);
    if (rows.empty() || part.y > rows.back().end + kNear) {
      rows.emplace_back(part.y, end);
    } else {
      rows.back().end = std::max(rows.back().end, end);
    }
  }
  return rows;
}

// Scales a part of the full image to `eighths` / 8 and adds a margin, because colours at the edge
// of the decoded area are interpolated from one side only.
cv::Rect scaled(const cv::Rect& part, unsigned eighths, cv::Size whole) {
  constexpr int kMargin = 8;
  const auto scale = static_cast<double>(eighths) / 8;
  const cv::Point from(static_cast<int>(std::floor(part.x * scale)) - kMargin,
                       static_cast<int>(std::floor(part.y * scale)) - kMargin);
  const cv::Point to(static_cast<int>(std::ceil(part.br().x * scale)) + kMargin,
                     static_cast<int>(std::ceil(part.br().y * scale)) + kMargin);
  return cv::Rect(from, to) & cv::Rect({}, whole);
}

}  // namespace

std::vector<RawImage> decode_jpeg_parts(std::span<const uint8_t> bytes, int min_side,
                                        std::span<const cv::Rect> parts, const Budget& budget) {
  if (parts.empty()) return {};
  JpegDecoder decoder(bytes, budget);
  if (!decoder.read_header()) throw decoder.failure();
  decoder.read_colours();
  if (!decoder.start(min_side)) throw decoder.failure();
  std::vector<cv::Rect> places;
  cv::Rect all;
  for (const cv::Rect& part : parts) {
    places.push_back(scaled(part, decoder.info().scale_num, decoder.size()));
    all |= places.back();
  }
  int left = all.x, width = all.width;
  if (std::any_of(places.begin(), places.end(), [](const cv::Rect& one) { return one.empty(); })) {
    throw Error(ErrorCode::kInternalError, "a part lies outside the image");
  }
  if (!decoder.crop(left, width)) throw decoder.failure();
  std::vector<RawImage> found(places.size(), decoder.facts());
  for (const cv::Range& rows : rows_of(places, decoder.size().height)) {
    cv::Mat strip = new_pixels({width, rows.size()}, CV_8UC3);
    if (!decoder.skip_to(rows.start) || !decoder.read_rows(strip)) {
      throw decoder.failure();
    }
    decoder.convert(strip);
    const cv::Rect place(left, rows.start, width, rows.size());
    for (size_t i = 0; i < places.size(); ++i) {
      if ((places[i] & place) != places[i]) continue;
      found[i].bgr = strip(places[i] - place.tl());
      found[i].at = places[i].tl();
    }
  }
  if (std::any_of(found.begin(), found.end(),
                  [](const RawImage& one) { return one.bgr.empty(); })) {
    throw Error(ErrorCode::kInternalError, "no decoded strip contains a part");
  }
  return found;
}

}  // namespace facematch
