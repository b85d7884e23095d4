#include "detection_passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "../image/contrast.h"
#include "../runtime/timer.h"

namespace facematch {
namespace {

// Longer sides, pixels. The overview is larger than the detector's frame, so that rotated, padded
// and enhanced copies lose nothing; in the detail the smallest tile fills the frame.
constexpr int kOverview = 480;
constexpr int kDetail = 1600;

// Below this longer side of the image, small tiles show no more detail than the large ones.
constexpr int kMinForSmallTiles = 900;

// Lower than a face needs: Finder::verify() decides.
constexpr float kProposalScore = 0.5f;
constexpr size_t kMaxProposals = 16;  // that a pass verifies, best first
constexpr float kSameFace = 0.4f;     // intersection over union
// Two people's landmarks are further apart than this share of the smaller box (root mean square).
constexpr float kCoincide = 0.25f;

constexpr std::array kPaddedShares = {0.5f, 0.3f};
// For the close detector: of borders from none to three tenths of the image it finds most with
// this one.
constexpr float kCloseShare = 0.7f;

bool has_close_detector(const Finder& finder) { return finder.engine().close_detector.has_value(); }

// Rotation is common and costs three detector runs. The close detector also sees faces that are
// dark, pale or upside down, but their chips need the stretch or the rotation, so it comes after
// those passes; it costs two of its runs, less than one of the other's. Where a pack has none, the
// other one looks at eight padded views. Tiles cost 29 runs and find false faces in foliage.
constexpr std::array kPasses = {DetectionPass::kWhole,      DetectionPass::kRotated,
                                DetectionPass::kEnhanced,   DetectionPass::kPadded,
                                DetectionPass::kLargeTiles, DetectionPass::kSmallTiles};

// The view rotated by `first` to three quarters.
std::vector<View> rotations(const View& view, int first) {
  std::vector<View> views;
  for (int quarters = first; quarters < 4; ++quarters) views.push_back(rotated(view, quarters));
  return views;
}

void append(std::vector<View>& views, std::vector<View> more) {
  std::move(more.begin(), more.end(), std::back_inserter(views));
}

std::vector<View> padded_views(const View& overview, bool close) {
  if (close) return {padded(overview, kCloseShare)};
  std::vector<View> views;
  for (const float share : kPaddedShares) append(views, rotations(padded(overview, share), 0));
  return views;
}

std::vector<View> enhanced_views(View view) {
  view.bgr = stretch_contrast(view.bgr);
  std::vector<View> views = rotations(view, 0);
  view.bgr = equalised(view.bgr);
  append(views, rotations(view, 0));
  return views;
}

// What the detector is shown in a pass of the fallback, and the word for faces that are found in
// it.
struct Views {
  FoundBy found_by;
  std::vector<View> views;
};

Views views_of(DetectionPass pass, Finder& finder) {
  const auto overview = [&]() -> const View& { return finder.image().shrink_whole(kOverview); };
  const auto detail = [&]() -> const View& { return finder.image().shrink_whole(kDetail); };
  switch (pass) {
    case DetectionPass::kRotated:
      return {FoundBy::kRotated, rotations(overview(), 1)};
    case DetectionPass::kEnhanced:
      return {FoundBy::kEnhanced, enhanced_views(overview())};
    case DetectionPass::kPadded:
      return {FoundBy::kPadded, padded_views(overview(), has_close_detector(finder))};
    case DetectionPass::kLargeTiles:
      return {FoundBy::kTiled, tiles(detail(), 2)};
    case DetectionPass::kSmallTiles:
      if (detail().longer_side() < kMinForSmallTiles) return {FoundBy::kTiled, {}};
      return {FoundBy::kTiled, tiles(detail(), 5)};
    case DetectionPass::kWhole:
      break;
  }
  return {FoundBy::kPrimary, {finder.image().whole()}};
}

// `detection_of`: of one that was found.
template <typename Found, typename DetectionOf>
void order_found(std::vector<Found>& found, DetectionOf detection_of) {
  const auto weight = [&](const Found& one) {
    const Detection& detection = std::invoke(detection_of, one);
    return detection.box.area() * detection.score;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return weight(a) > weight(b); });
  if (found.size() > kMaxFaces) found.resize(kMaxFaces);
}

struct Proposal {
  Detection detection;
  float roll;
};

std::vector<Proposal> proposals_of(Finder& finder, const Detector& detector,
                                   const std::vector<View>& views) {
  std::vector<Proposal> all;
  for (const View& view : views) {
    for (const Detection& detection : finder.detect(detector, view, kProposalScore)) {
      all.push_back({detection, view.roll()});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.detection.score > b.detection.score;
  });
  std::vector<Proposal> kept;
  for (const Proposal& proposal : all) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Proposal& better) {
      return better.roll == proposal.roll &&
             intersection_over_union(better.detection.box, proposal.detection.box) > kSameFace;
    });
    if (!known) kept.push_back(proposal);
    if (kept.size() == kMaxProposals) break;
  }
  return kept;
}

Point middle_of(const FoundFace& face) {
  Point sum;
  for (const Point point : face.points) sum += point;
  return sum / static_cast<float>(face.points.size());
}

float longer_side_of(const FoundFace& face) {
  return std::max(face.detection.box.width, face.detection.box.height);
}

// How far a face's landmarks are from the middle of its box, in sides of the box.
float off_centre(const FoundFace& face) {
  return static_cast<float>(cv::norm(middle_of(face) - face.detection.box.centre())) /
         longer_side_of(face);
}

bool landmarks_coincide(const FoundFace& a, const FoundFace& b) {
  const auto of_a = five_points(a.points).points(), of_b = five_points(b.points).points();
  float sum = 0;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Point apart = of_a[i] - of_b[i];
    sum += apart.dot(apart);
  }
  const float side = std::min(longer_side_of(a), longer_side_of(b));
  return std::sqrt(sum / static_cast<float>(of_a.size())) < kCoincide * side;
}

bool is_same_face(const FoundFace& a, const FoundFace& b) {
  return intersection_over_union(a.detection.box, b.detection.box) > kSameFace ||
         landmarks_coincide(a, b);
}

// In the whole image. Many nets for small faces do not see one that fills the frame: a close
// detector of the same family, whose scores and boxes mean the same, looks beside the detector.
std::vector<Detection> detect_in_whole(Finder& finder, const View& whole) {
  const Engine& engine = finder.engine();
  const float min_score = finder.options().min_det_score;
  std::vector<Detection> found = finder.detect(engine.detector, whole, min_score);
  if (!has_close_detector(finder)) return found;
  if (engine.close_detector->spec().family != engine.detector.spec().family) return found;
  const auto close = finder.detect(*engine.close_detector, whole, min_score);
  found.insert(found.end(), close.begin(), close.end());
  nms(found, engine.detector.spec().nms_iou);
  return found;
}

// The first pass: faces that the detector sees in the whole image, each confirmed.
void find_in_whole(Finder& finder, std::vector<FoundFace>& faces, StageTimings& timings_ms) {
  Image& image = finder.image();
  const AnalyseOptions& options = finder.options();
  std::vector<Detection> detections;
  {
    const Timer timer(timings_ms.detect, image.decode_ms());
    const View& whole = image.whole();
    detections = detect_in_whole(finder, whole);
    order_found(detections, std::identity());
  }
  const Timer timer(timings_ms.align, image.decode_ms());
  std::vector<Part> parts;
  for (const Detection& detection : detections) {
    parts.push_back(finder.engine().embedder.part_for(detection.box));
  }
  image.decode_parts(parts);
  for (const Detection& detection : detections) {
    auto face = finder.confirm(detection);
    if (!face) continue;
    // Without the fallback rotated faces are dropped: unrotated, they cannot be compared.
    const bool rotated = face->detection.found_by != FoundBy::kPrimary;
    if (options.use_heuristic_fallback || !rotated) faces.push_back(std::move(*face));
  }
  // Cheek to cheek a box may lie between two faces, and landmarks be found in one of them. The box
  // in whose middle they are is right.
  keep_one_of_each(faces, off_centre);
}

// A pass of the fallback: what the detector sees, verified in close-ups.
void find_in_views(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces) {
  if (finder.cut_short()) return;
  const bool close = pass == DetectionPass::kPadded && has_close_detector(finder);
  const Engine& engine = finder.engine();
  const Detector& detector = close ? *engine.close_detector : engine.detector;
  const auto [found_by, views] = views_of(pass, finder);
  for (const auto& [detection, roll] : proposals_of(finder, detector, views)) {
    if (finder.cut_short()) break;
    auto face = close ? finder.verify_close(detection)
                      : finder.verify(detection, roll, pass == DetectionPass::kEnhanced);
    if (!face) continue;
    face->detection.found_by = found_by;
    faces.push_back(std::move(*face));
  }
  // Several views may show the same face, also in different rotations: the one with the most stable
  // landmarks is right.
  keep_one_of_each(faces, [](const FoundFace& face) { return face.instability; });
}

}  // namespace

int side_for_first_pass(const Pack& pack) {
  // 1.5 times the detector's frame, so that landmarks of a large face are the same as in the full
  // image.
  return 3 * std::max(pack.detector.width, pack.detector.height) / 2;
}

void keep_one_of_each(std::vector<FoundFace>& faces, float (*badness)(const FoundFace&)) {
  std::stable_sort(faces.begin(), faces.end(),
                   [&](const auto& a, const auto& b) { return badness(a) < badness(b); });
  std::vector<FoundFace> kept;
  for (FoundFace& face : faces) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const FoundFace& better) {
      return is_same_face(better, face);
    });
    if (!known) kept.push_back(std::move(face));
  }
  faces = std::move(kept);
}

void order(std::vector<FoundFace>& faces) { order_found(faces, &FoundFace::detection); }

std::span<const DetectionPass> detection_passes(bool use_heuristic_fallback) {
  return std::span(kPasses).first(use_heuristic_fallback ? kPasses.size() : 1);
}

void run_pass(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces,
              StageTimings& timings_ms) {
  if (pass == DetectionPass::kWhole) return find_in_whole(finder, faces, timings_ms);
  const Timer timer(timings_ms.detect, finder.image().decode_ms());
  find_in_views(pass, finder, faces);
}

bool ends_search(DetectionPass pass, const std::vector<FoundFace>& faces) {
  if (pass != DetectionPass::kWhole) return !faces.empty();
  return std::any_of(faces.begin(), faces.end(), [](const FoundFace& face) {
    return face.detection.found_by == FoundBy::kPrimary;
  });
}

}  // namespace facematch
