// The first look at an image, which finds nearly every face, and the finer looks that follow in a
// large image or if faces are small, so that one found face does not hide others.
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

// If a face is smaller than this in the frame, others may be too small for it: a finer look
// follows. With 9, of 146 people pasted into large images 7 fewer are found; with 17, 11 more, but
// scanned pages take up to twice the time.
constexpr float kNearSide = 13;
constexpr float kFiner = 2;    // maximum step of the scale
constexpr int kFinest = 1600;  // longer side of the image in the finest look, pixels

// Rotated faces are searched for next to upright ones only if those cover less of the image than
// this, as on a scanned page: it costs 8 of 55 ms of a photo of 12 megapixels with a face of 8 %,
// and with a limit of a tenth it would cost as much for most portraits.
constexpr float kSmallPart = 0.02f;

// Searches the whole image. Many nets for small faces do not find one that fills the frame: a close
// detector of the same family, whose scores and boxes mean the same, searches too.
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

// Returns where frames of that side begin, so that they cover the whole length.
std::vector<int> starts(int length, int side, int shared) {
  const int last = std::max(0, length - side);
  const int steps = (last + side - shared - 1) / (side - shared);
  std::vector<int> out = {0};
  for (int i = 1; i <= steps; ++i) out.push_back(i * last / steps);
  return out;
}

// Returns parts of the view that fill a frame each, and together show all of it. A face of up to a
// fifth of the frame's height is complete in one of them.
std::vector<View> frames_of(const View& view, cv::Size frame) {
  constexpr float kShared = 0.2f;  // of the frame's height, shared with the neighbouring frame
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

// Searches the image in finer and finer parts, as long as faces are found that are small in them.
void look_finer(Finder& finder, float scale, float decoded, std::vector<FoundFace>& faces) {
  Image& image = finder.image();
  const Detector& detector = finder.engine().detector;
  const cv::Size frame(detector.spec().width, detector.spec().height);
  const auto longer = static_cast<float>(std::max(image.width(), image.height()));
  const float most = std::min(1.0f, static_cast<float>(kFinest) / longer);
  if (scale >= most) return;
  // The decoded pixels are fine enough at first.
  float next = std::clamp(decoded, scale, std::min(kFiner * scale, most));
  for (size_t known = 0; smallest_of(std::span(faces).subspan(known)) * scale < kNearSide;) {
    if (scale >= most || finder.cut_short()) return;
    known = faces.size();
    const View view = image.shrink_whole(static_cast<int>(std::ceil(next * longer)));
    const auto proposals =
        proposals_of(finder, detector, frames_of(view, frame), Hints::kEnlarged, faces, &view);
    verify_new(finder, proposals, FoundBy::kTiled, faces);
    scale = next;
    next = std::min(kFiner * scale, most);
    finder.searched(0, kHintSide / scale);
  }
}

// Rotates a small copy of the whole image, which is cheap: the copies fill the frame.
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

// Returns possible rotated faces next to upright ones.
std::vector<Hint> turned_hints(Finder& finder, const View& whole,
                               const std::vector<Detection>& sure) {
  const Image& image = finder.image();
  float covered = 0;
  for (const Detection& one : sure) covered += one.box.area();
  covered /= static_cast<float>(image.width()) * static_cast<float>(image.height());
  if (covered > kSmallPart) return {};
  const Detector& detector = finder.engine().detector;
  std::vector<Hint> hints;
  for (const View& view : small_rotations(whole, {detector.spec().width, detector.spec().height})) {
    for (const Detection& one : finder.detect(detector, view, kHintScore)) {
      if (!overlaps_any(sure, one.box)) hints.push_back({{one, view.roll()}, &whole});
    }
  }
  searched_turned(finder, kHintSide);
  return hints;
}

// Returns the confirmed detections. Without the fallback rotated faces are dropped, because they
// cannot be compared unrotated.
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
  const float bar = finder.engine().pack.min_det_score;
  const float scale = scale_in_frame(finder, 0);
  // As decoded now, because it may be finer later.
  const View whole = image.whole();
  std::vector<Detection> sure;
  std::vector<Proposal> small, turned;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    std::vector<Hint> hints;
    auto seen = detect_in_whole(finder, whole, fallback ? kCandidateScore : bar);
    for (const Detection& one : seen) {
      if (one.score >= bar) {
        sure.push_back(one);
      } else if (complete && one.score >= kHintScore) {
        hints.push_back({{one, 0}, &whole});
      }
    }
    std::erase_if(seen,
                  [&](const Detection& one) { return one.box.longer_side() * scale < kHintSide; });
    finder.set_candidates(std::move(seen));
    std::erase_if(
        hints, [&](const Hint& hint) { return overlaps_any(sure, hint.proposal.detection.box); });
    order(sure);
    if (complete && !sure.empty()) {
      for (const Hint& hint : turned_hints(finder, whole, sure)) hints.push_back(hint);
    }
    for (const Proposal& one : enlarged_hints(finder, finder.engine().detector, std::move(hints))) {
      (one.roll == 0 ? small : turned).push_back(one);
    }
  }
  {
    const Timer timer(timings_ms.align, image.decode_ms());
    std::vector<Detection> all = sure;
    for (const Proposal& one : small) all.push_back(one.detection);
    for (const Proposal& one : turned) all.push_back(one.detection);
    decode_parts_for(finder, all);
    // The largest comes first: it decides whether the others are tried in other rotations.
    for (FoundFace& face : confirm_all(finder, sure, false)) faces.push_back(std::move(face));
    undo_looks_at_neighbours(faces);
    // With two faces cheek to cheek a box may lie between them, with landmarks of one of them. The
    // box whose centre they are in is right.
    keep_one_of_each(faces, off_centre);
    finder.searched(0, (complete ? kHintSide : kSureSide) / scale);
  }
  if (!fallback) return;
  const Timer timer(timings_ms.detect, image.decode_ms());
  verify_new(finder, small, FoundBy::kTiled, faces);
  look_finer(finder, scale, whole.scale(), faces);
  // Without an upright face, the following passes search for rotated ones.
  if (ends_search(DetectionPass::kWhole, faces)) {
    verify_new(finder, turned, FoundBy::kRotated, faces);
  }
}

std::vector<FoundFace> find_further(Finder& finder, const Earlier& earlier,
                                    StageTimings& timings_ms) {
  const Timer timer(timings_ms.detect, finder.image().decode_ms());
  const View whole = finder.image().whole();
  std::vector<Hint> hints;
  for (const auto& [box, score] : earlier.candidates) {
    for (const float roll : {0.0f, 90.0f, 180.0f, -90.0f}) {
      hints.push_back({{{.box = box, .score = score}, roll}, &whole});
    }
  }
  std::vector<Proposal> upright, turned;
  for (const Proposal& one : enlarged_hints(finder, finder.engine().detector, std::move(hints))) {
    (one.roll == 0 ? upright : turned).push_back(one);
  }
  std::vector<FoundFace> known;
  for (const Box& box : earlier.faces) {
    // A known face is searched for again only at a candidate of its own.
    if (best_score_at(box, turned) > best_score_at(box, upright)) {
      std::erase_if(upright, [&](const Proposal& one) { return overlap(one.detection.box, box); });
    } else {
      known.emplace_back().detection.box = box;
    }
  }
  const auto count = std::ssize(known);
  verify_new(finder, turned, FoundBy::kRotated, known);
  verify_new(finder, upright, FoundBy::kTiled, known);
  return {std::make_move_iterator(known.begin() + count), std::make_move_iterator(known.end())};
}

std::vector<FoundFace> find_doubtful(Finder& finder, float min_score, std::vector<FoundFace> known,
                                     StageTimings& timings_ms) {
  const float bar = finder.engine().pack.min_det_score;
  if (min_score >= bar) return {};
  Image& image = finder.image();
  std::vector<Detection> detections;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    detections = detect_in_whole(finder, image.whole(), min_score);
  }
  std::erase_if(detections,
                [&](const Detection& one) { return one.score >= bar || is_known(known, one.box); });
  const Timer timer(timings_ms.align, image.decode_ms());
  decode_parts_for(finder, detections);
  const bool upright = std::any_of(known.begin(), known.end(), is_primary);
  const auto count = std::ssize(known);
  append_new(known, confirm_all(finder, detections, upright));
  return {std::make_move_iterator(known.begin() + count), std::make_move_iterator(known.end())};
}

}  // namespace facematch
