#include "first_look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "../runtime/timer.h"
#include "contact_sheet.h"
#include "detection_passes.h"
#include "proposals.h"
#include "same_face.h"
#include "views.h"

namespace facematch {
namespace {

// Shortest longer side of a face in the detector's frame, pixels, from which the detector is sure
// of it, and from which it gives at least a hint. Of 50 faces of lfw-dev that were pasted into
// pages and landscapes 47 were found at 18 pixels; by hints, of 30, 28 at 12, 25 at 10.
constexpr float kSureSide = 18;
constexpr float kHintSide = 12;

// Hints are for small faces: what is larger, the detector would be sure of.
constexpr float kMaxHintSide = 32;

// Where a face is smaller than this in the frame, others may be too small for it: a finer look
// follows.
constexpr float kNearSide = 13;
constexpr float kFiner = 2;    // times finer, at most
constexpr int kFinest = 1600;  // longer side of the image in the finest look, pixels

// Turned faces are looked for beside upright ones only where those cover less of the image than the
// first share; below the second, as on a scanned page, in more detail.
constexpr float kSmallPart = 0.1f;
constexpr float kTinyPart = 0.02f;

// Least score of a turned face that is looked at again, where the image is half as large as the
// frame would allow.
constexpr float kTurnedHintScore = 0.15f;

// In the whole image. Many nets for small faces do not see one that fills the frame: a close
// detector of the same family, whose scores and boxes mean the same, looks beside the detector.
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
    smallest = std::min(smallest, std::max(face.detection.box.width, face.detection.box.height));
  }
  return smallest;
}

bool is_rotated(const FoundFace& face) { return face.detection.found_by == FoundBy::kRotated; }

// Looks at the image in finer and finer parts, as long as faces are found that are small in them.
void look_finer(Finder& finder, float scale, float decoded, std::vector<FoundFace>& faces) {
  Image& image = finder.image();
  const Detector& detector = finder.engine().detector;
  const cv::Size frame(detector.spec().width, detector.spec().height);
  const auto longer = static_cast<float>(std::max(image.width(), image.height()));
  const float most = std::min(1.0f, static_cast<float>(kFinest) / longer);
  if (scale >= most) return;
  // What is decoded already is fine enough at first.
  float next = std::clamp(decoded, scale, std::min(kFiner * scale, most));
  for (size_t known = 0; smallest_of(std::span(faces).subspan(known)) * scale < kNearSide;) {
    if (scale >= most || finder.cut_short()) return;
    known = faces.size();
    const View view = image.shrink_whole(static_cast<int>(std::ceil(next * longer)));
    const auto proposals =
        proposals_of(finder, detector, frames_of(view, frame), Hints::kEnlarged, faces);
    verify_new(finder, proposals, FoundBy::kTiled, faces);
    scale = next;
    next = std::min(kFiner * scale, most);
    if (!finder.cut_short()) finder.looked_for(kHintSide / scale);
  }
}

// Of rotations of the whole image those that may show a face that is not known: the detector sees
// all of them on one sheet.
std::vector<View> hinted(Finder& finder, const std::vector<View>& views,
                         const std::vector<FoundFace>& known) {
  const Detector& detector = finder.engine().detector;
  const cv::Size frame(detector.spec().width, detector.spec().height);
  ContactSheet sheet(frame, frame / 2);
  for (const View& view : views) sheet.add(view);
  const auto seen = sheet.detect(finder, detector, kTurnedHintScore);
  std::vector<View> out;
  for (size_t i = 0; i < seen.size(); ++i) {
    const bool hint = std::any_of(seen[i].begin(), seen[i].end(),
                                  [&](const Detection& one) { return !is_known(known, one.box); });
    if (hint) out.push_back(views[i]);
  }
  return out;
}

// Looks for turned faces.
void look_beside(Finder& finder, const View& whole, std::vector<FoundFace>& faces) {
  Image& image = finder.image();
  float covered = 0;
  for (const FoundFace& face : faces) covered += face.detection.box.area();
  covered /= static_cast<float>(image.width()) * static_cast<float>(image.height());
  if (covered > kSmallPart) return;
  std::vector<View> views = rotations(whole, 1);
  if (covered > kTinyPart) views = hinted(finder, views, faces);
  verify_new(finder, proposals_of(finder, finder.engine().detector, views, Hints::kEnlarged, faces),
             FoundBy::kRotated, faces);
}

}  // namespace

void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms) {
  Image& image = finder.image();
  const bool fallback = finder.options().use_heuristic_fallback;
  const bool complete = fallback && is_large(image);
  const float bar = finder.engine().pack.min_det_score;
  const float scale = scale_in_frame(finder.engine().detector, image);
  // As decoded now: later it may be finer.
  const View whole = image.whole();
  std::vector<Detection> sure, unsure;
  std::vector<Proposal> hints;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    for (const Detection& one : detect_in_whole(finder, whole, complete ? kHintScore : bar)) {
      (one.score >= bar ? sure : unsure).push_back(one);
    }
    order(sure);
    std::erase_if(unsure, [&](const Detection& hint) {
      const float side = std::max(hint.box.width, hint.box.height) * scale;
      return side > kMaxHintSide ||
             std::any_of(sure.begin(), sure.end(),
                         [&](const Detection& better) { return overlap(better.box, hint.box); });
    });
    hints = enlarged_hints(finder, finder.engine().detector, whole, unsure);
  }
  {
    const Timer timer(timings_ms.align, image.decode_ms());
    std::vector<Detection> all = sure;
    for (const Proposal& hint : hints) all.push_back(hint.detection);
    decode_parts_for(finder, all);
    for (const Detection& detection : sure) {
      auto face = finder.confirm(detection);
      // Without the fallback rotated faces are dropped: unrotated, they cannot be compared.
      if (face && (fallback || !is_rotated(*face))) faces.push_back(std::move(*face));
    }
    // Cheek to cheek a box may lie between two faces, and landmarks be found in one of them. The
    // box in whose middle they are is right.
    keep_one_of_each(faces, off_centre);
    if (!finder.cut_short()) finder.looked_for((complete ? kHintSide : kSureSide) / scale);
  }
  if (!fallback) return;
  const Timer timer(timings_ms.detect, image.decode_ms());
  verify_new(finder, hints, FoundBy::kTiled, faces);
  look_finer(finder, scale, whole.scale(), faces);
  if (complete && ends_search(DetectionPass::kWhole, faces)) look_beside(finder, whole, faces);
}

void find_doubtful(Finder& finder, float min_score, std::vector<FoundFace>& faces,
                   StageTimings& timings_ms) {
  const float bar = finder.engine().pack.min_det_score;
  if (min_score >= bar) return;
  Image& image = finder.image();
  std::vector<Detection> detections;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    detections = detect_in_whole(finder, image.whole(), min_score);
  }
  std::erase_if(detections,
                [&](const Detection& one) { return one.score >= bar || is_known(faces, one.box); });
  const Timer timer(timings_ms.align, image.decode_ms());
  decode_parts_for(finder, detections);
  for (const Detection& detection : detections) {
    if (finder.was_cut_short()) break;
    auto face = finder.confirm(detection);
    if (!face || (is_rotated(*face) && !finder.options().use_heuristic_fallback)) continue;
    append_new(faces, {std::move(*face)});
  }
}

}  // namespace facematch
