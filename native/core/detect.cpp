#include "detect.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "error.h"
#include "tensor.h"

namespace facematch {
namespace {

// A hostile or very busy picture may light up thousands of anchors: overlap removal is quadratic,
// so only the best of them take part.
constexpr size_t kMostCandidates = 512;

const DetectorSpec& known(const DetectorSpec& spec) {
  if (spec.family == "rfb") return spec;
  throw Error(ErrorCode::kInternalError, "unknown detector family \"" + spec.family + "\"");
}

}  // namespace

float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const float height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  return shared / (a.area() + b.area() - shared);
}

void suppress_overlaps(std::vector<Detection>& detections, float iou) {
  std::stable_sort(detections.begin(), detections.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  if (detections.size() > kMostCandidates) detections.resize(kMostCandidates);
  std::vector<Detection> kept;
  for (const Detection& candidate : detections) {
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
      return overlap(better.box, candidate.box) > iou;
    });
    if (!hidden) kept.push_back(candidate);
  }
  detections = std::move(kept);
}

Detector::Detector(const Pack& pack)
    : spec_(known(pack.detector)),
      net_(pack.directory + "/" + spec_.file, spec_.input, {1, 3, spec_.height, spec_.width},
           {spec_.scores, spec_.boxes}) {
  if (net_.output_size(0) * 2 != net_.output_size(1)) {
    throw Error(ErrorCode::kInternalError,
                "the detector's scores and boxes do not belong together");
  }
}

std::vector<Detection> Detector::detect(const cv::Mat& bgr, float min_score) const {
  thread_local std::vector<float> input, scores, boxes;
  thread_local cv::Mat small;
  // Letterbox: the picture keeps its shape and lies at the top left; stretching it costs turned
  // faces.
  const float scale = std::min(static_cast<float>(spec_.width) / static_cast<float>(bgr.cols),
                               static_cast<float>(spec_.height) / static_cast<float>(bgr.rows));
  const cv::Size size(std::clamp(cvRound(static_cast<float>(bgr.cols) * scale), 1, spec_.width),
                      std::clamp(cvRound(static_cast<float>(bgr.rows) * scale), 1, spec_.height));
  cv::resize(bgr, small, size, 0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
  const float black = -spec_.normalisation.mean * spec_.normalisation.scale;
  input.assign(net_.input_size(), black);
  fill_planes(small, spec_.normalisation, spec_.width, spec_.height, input);
  scores.resize(net_.output_size(0));
  boxes.resize(net_.output_size(1));
  net_.run(input, {scores, boxes});

  std::vector<Detection> found;
  const float to_x = static_cast<float>(spec_.width) * static_cast<float>(bgr.cols) /
                     static_cast<float>(size.width);
  const float to_y = static_cast<float>(spec_.height) * static_cast<float>(bgr.rows) /
                     static_cast<float>(size.height);
  for (size_t i = 0; i < scores.size() / 2; ++i) {
    const float score = scores[2 * i + 1];
    if (!(score >= min_score)) continue;
    const float* corners = &boxes[4 * i];
    const Box box{corners[0] * to_x, corners[1] * to_y, (corners[2] - corners[0]) * to_x,
                  (corners[3] - corners[1]) * to_y};
    // Below the chip's own needs there is nothing to compare; this also drops NaN.
    if (!(box.width >= 4 && box.height >= 4)) continue;
    found.push_back({box, score, FoundBy::kPrimary});
  }
  suppress_overlaps(found, spec_.nms_iou);
  return found;
}

}  // namespace facematch
