// The first detection pass, which finds nearly every face. If the image is large or its faces are
// small, finer searches follow, so that a found face does not end the search for others.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "../runtime/timer.h"
#include "detection_passes.h"
#include "proposals.h"
#include "same_face.h"

namespace facematch {
namespace {

// In pixels of the detector's frame. If a face is smaller, others may be too small to be found, so
// a finer search follows. With 9, 7 fewer of 146 people pasted into large images are found. With
// 17, 11 more are found, but scanned pages take up to twice the time.
constexpr float kSmallFaceSide = 13;
constexpr float kMaxScaleStep = 2;  // maximum factor from one scale to the next
constexpr int kMaxSide = 1600;      // maximum longer side of the searched image, pixels

// Rotated faces are searched for next to upright ones only if the upright ones cover at most this
// share of the image, as on a scanned page. This search costs 8 of 55 ms for a 12-megapixel photo
// with a face of 8 %. With a limit of 0.1, most portraits would cost as much.
constexpr float kMaxCoverage = 0.02f;

// Searches the whole image. Many nets for small faces miss a face that fills the frame. A close
// detector of the same family also searches the image, because its scores and boxes are comparable.
std::vector<Detection> detect_in_whole(Finder& finder, const View& whole, float min_score) {
  const Engine& engine = finder.engine();
  std::vector<Detection> found = finder.detect(engine.detector, whole, min_score);
  if (!engine.close_detector) return found;
  if (engine.close_detector->spec().family != engine.detector.spec().family) return found;
  const auto close = finder.detect(*engine.close_detector, whole, min_score);
  found.insert(found.end(), close.begin(), close.end());
  nms(found, engine.detector.spec().nms_iou);
  return found;
}

float smallest_of(std::span<const FoundFace> faces) {
  float smallest = std::numeric_limits<float>::infinity();
  for (const FoundFace& face : faces) {
    smallest = std::min(smallest, face.detection.box.longer_side());
  }
  return smallest;
}

bool is_rotated(const FoundFace& face) { return face.detection.found_by == FoundBy::kRotated; }
bool is_primary(const FoundFace& face) { return face.detection.found_by == FoundBy::kPrimary; }

// Returns the offsets of frames of length `side` that together cover `length`. Neighbours share at
// least `shared` pixels.
std::vector<int> starts(int length, int side, int shared) {
  const int last = std::max(0, length - side);
  const int steps = (last + side - shared - 1) / (side - shared);
  std::vector<int> out = {0};
  for (int i = 1; i <= steps; ++i) out.push_back(i * last / steps);
  return out;
}

// Splits the view into overlapping parts that each fill a frame. A face of up to a fifth of the
// frame's height is complete in one of them.
std::vector<View> frames_of(const View& view, cv::Size frame) {
  constexpr float kShared = 0.2f;  // overlap of neighbouring frames / height of a frame
  const cv::Size size(std::min(frame.width, view.bgr.cols), std::min(frame.height, view.bgr.rows));
  const int shared = static_cast<int>(kShared * static_cast<float>(frame.height));
  std::vector<View> out;
  for (const int y : starts(view.bgr.rows, size.height, shared)) {
    for (const int x : starts(view.bgr.cols, size.width, shared)) {
      const Similarity moved{.tx = static_cast<float>(x), .ty = static_cast<float>(y)};
      out.emplace_back(view.bgr(cv::Rect({x, y}, size)), moved.then(view.to_image));
    }
  }
  return out;
}

// Searches the image at increasing scales, as long as the previous search found a face that is
// small in the frame.
void search_finer(Finder& finder, float scale, float decoded, std::vector<FoundFace>& faces) {
  Image& image = finder.image();
  const Detector& detector = finder.engine().detector;
  const cv::Size frame(detector.spec().width, detector.spec().height);
  const auto longer = static_cast<float>(std::max(image.width(), image.height()));
  const float max_scale = std::min(1.0f, static_cast<float>(kMaxSide) / longer);
  if (scale >= max_scale) return;
  // Begins at the scale of the pixels that are already decoded.
  float next = std::clamp(decoded, scale, std::min(kMaxScaleStep * scale, max_scale));
  for (size_t known = 0; smallest_of(std::span(faces).subspan(known)) * scale < kSmallFaceSide;) {
    if (scale >= max_scale || finder.timed_out()) return;
    known = faces.size();
    const View view = image.shrink_whole(static_cast<int>(std::ceil(next * longer)));
    const auto proposals =
        proposals_of(finder, detector, frames_of(view, frame), Hints::kEnlarged, faces, &view);
    verify_new(finder, proposals, FoundBy::kTiled, faces);
    scale = next;
    next = std::min(kMaxScaleStep * scale, max_scale);
    finder.searched(0, kHintSide / scale);
  }
}

// Rotates a copy of the whole image that is shrunk to about the size of the frame, which is cheap.
std::vector<View> small_rotations(const View& whole, cv::Size frame) {
  const int shorter = std::min(whole.bgr.cols, whole.bgr.rows);
  const int times = std::min(whole.longer_side() / std::max(frame.width, frame.height), shorter);
  return rotations(times > 1 ? shrunk_by(whole, times) : whole, 1);
}

bool overlaps_any(const std::vector<Detection>& detections, const Box& box) {
  return std::any_of(detections.begin(), detections.end(),
                     [&](const Detection& one) { return overlap(one.box, box); });
}

float best_score_at(const Box& box, const std::vector<Proposal>& proposals) {
  float best = 0;
  for (const Proposal& one : proposals) {
    if (overlap(one.detection.box, box)) best = std::max(best, one.detection.score);
  }
  return best;
}

// Returns hints for rotated faces next to upright ones.
std::vector<Hint> rotated_hints(Finder& finder, const View& whole,
                                const std::vector<Detection>& confident) {
  const Image& image = finder.image();
  float covered = 0;
  for (const Detection& one : confident) covered += one.box.area();
  covered /= static_cast<float>(image.width()) * static_cast<float>(image.height());
  if (covered > kMaxCoverage) return {};
  const Detector& detector = finder.engine().detector;
  std::vector<Hint> hints;
  for (const View& view : small_rotations(whole, {detector.spec().width, detector.spec().height})) {
    for (const Detection& one : finder.detect(detector, view, kHintScore)) {
      if (!overlaps_any(confident, one.box)) hints.push_back({{one, view.roll()}, &whole});
    }
  }
  mark_rotations_searched(finder, kHintSide);
  return hints;
}

// Returns the confirmed detections. Without the fallback, rotated faces are dropped.
std::vector<FoundFace> confirm_all(Finder& finder, const std::vector<Detection>& detections,
                                   bool beside_upright) {
  std::vector<FoundFace> faces;
  for (const Detection& detection : detections) {
    auto confirmed = finder.confirm(detection, beside_upright);
    if (!confirmed) continue;
    beside_upright = beside_upright || confirmed->upright;
    if (is_rotated(confirmed->face) && !finder.options().use_heuristic_fallback) continue;
    faces.push_back(std::move(confirmed->face));
  }
  return faces;
}

}  // namespace

void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms) {
  Image& image = finder.image();
  const bool fallback = finder.options().use_heuristic_fallback;
  const bool complete = fallback && is_large(image);
  const float min_det_score = finder.engine().pack.min_det_score;
  const float scale = scale_in_frame(finder, 0);
  // Keeps this copy, because a later search may decode a finer one.
  const View whole = image.whole();
  std::vector<Detection> confident;
  std::vector<Proposal> small, rotated;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    std::vector<Hint> hints;
    auto seen = detect_in_whole(finder, whole, fallback ? kCandidateScore : min_det_score);
    for (const Detection& one : seen) {
      if (one.score >= min_det_score) {
        confident.push_back(one);
      } else if (complete && one.score >= kHintScore) {
        hints.push_back({{one, 0}, &whole});
      }
    }
    std::erase_if(seen,
                  [&](const Detection& one) { return one.box.longer_side() * scale < kHintSide; });
    finder.set_candidates(std::move(seen));
    std::erase_if(hints, [&](const Hint& hint) {
      return overlaps_any(confident, hint.proposal.detection.box);
    });
    order(confident);
    if (complete && !confident.empty()) {
      for (const Hint& hint : rotated_hints(finder, whole, confident)) hints.push_back(hint);
    }
    for (const Proposal& one : enlarged_hints(finder, finder.engine().detector, std::move(hints))) {
      (one.roll == 0 ? small : rotated).push_back(one);
    }
  }
  {
    const Timer timer(timings_ms.align, image.decode_ms());
    std::vector<Detection> all = confident;
    for (const Proposal& one : small) all.push_back(one.detection);
    for (const Proposal& one : rotated) all.push_back(one.detection);
    decode_parts_for(finder, all);
    // The largest face comes first: if it is upright, the others are not tried in other rotations.
    for (FoundFace& face : confirm_all(finder, confident, false)) faces.push_back(std::move(face));
    restore_first_landmarks(faces);
    // If two faces are cheek to cheek, a box between them may have the landmarks of one of them.
    // Keeps the box whose centre is nearest to the landmarks.
    keep_one_of_each(faces, off_centre);
    finder.searched(0, (complete ? kHintSide : kConfidentSide) / scale);
  }
  if (!fallback) return;
  const Timer timer(timings_ms.detect, image.decode_ms());
  verify_new(finder, small, FoundBy::kTiled, faces);
  search_finer(finder, scale, whole.scale(), faces);
  // Without an upright face, the following passes search for rotated ones.
  if (ends_search(DetectionPass::kWhole, faces)) {
    verify_new(finder, rotated, FoundBy::kRotated, faces);
  }
}

std::vector<FoundFace> find_further(Finder& finder, const EarlierAnalysis& earlier,
                                    StageTimings& timings_ms) {
  const Timer timer(timings_ms.detect, finder.image().decode_ms());
  const View whole = finder.image().whole();
  std::vector<Hint> hints;
  for (const auto& [box, score] : earlier.candidates) {
    for (const float roll : {0.0f, 90.0f, 180.0f, -90.0f}) {
      hints.push_back({{{.box = box, .score = score}, roll}, &whole});
    }
  }
  std::vector<Proposal> upright, rotated;
  for (const Proposal& one : enlarged_hints(finder, finder.engine().detector, std::move(hints))) {
    (one.roll == 0 ? upright : rotated).push_back(one);
  }
  std::vector<FoundFace> known;
  for (const Box& box : earlier.faces) {
    // A rotated proposal replaces a known face only if it scores more than the upright ones.
    if (best_score_at(box, rotated) > best_score_at(box, upright)) {
      std::erase_if(upright, [&](const Proposal& one) { return overlap(one.detection.box, box); });
    } else {
      known.emplace_back().detection.box = box;
    }
  }
  const auto count = std::ssize(known);
  verify_new(finder, rotated, FoundBy::kRotated, known);
  verify_new(finder, upright, FoundBy::kTiled, known);
  return {std::make_move_iterator(known.begin() + count), std::make_move_iterator(known.end())};
}

std::vector<FoundFace> find_doubtful(Finder& finder, float min_score, std::vector<FoundFace> known,
                                     StageTimings& timings_ms) {
  const float min_det_score = finder.engine().pack.min_det_score;
  if (min_score >= min_det_score) return {};
  Image& image = finder.image();
  std::vector<Detection> detections;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    detections = detect_in_whole(finder, image.whole(), min_score);
  }
  std::erase_if(detections, [&](const Detection& one) {
    return one.score >= min_det_score || is_known(known, one.box);
  });
  const Timer timer(timings_ms.align, image.decode_ms());
  decode_parts_for(finder, detections);
  const bool upright = std::any_of(known.begin(), known.end(), is_primary);
  const auto count = std::ssize(known);
  append_new(known, confirm_all(finder, detections, upright));
  return {std::make_move_iterator(known.begin() + count), std::make_move_iterator(known.end())};
}

}  // namespace facematch
