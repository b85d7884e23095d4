#include "detection_passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "../image/contrast.h"
#include "../runtime/timer.h"
#include "proposals.h"
#include "same_face.h"

namespace facematch {
namespace {

// Longer sides of copies in pixels. kOverview exceeds the frames of the included packs' detectors,
// so that rotated, padded and enhanced copies lose no detail. At kDetail, even the smallest
// tile is larger than the frame.
constexpr int kOverview = 480;
constexpr int kDetail = 1600;

// Minimum longer side in pixels of an image that is also searched in small tiles.
constexpr int kMinForSmallTiles = 900;

// Roll in degrees. If several faces are found and all have a larger roll, the image is probably
// rotated. None of 167 development photos with several faces has only such faces. With 40 degrees,
// two of 66 people are missed in sample photos rotated by multiples of 90 degrees.
constexpr float kUprightRoll = 30;

bool has_close_detector(const Finder& finder) { return finder.engine().close_detector.has_value(); }

// The passes run in this order. Rotated images are common, and the pass for them costs three
// detector runs. The close detector costs two runs, together less than one run of the main
// detector. It also finds faces that are dark, pale or upside down, but their chips must be
// enhanced or rotated, so it runs after those passes. If a pack has no close detector, the main
// detector searches eight padded views. Tiles of an image of 900 pixels or more cost at least 29
// runs, and they find false faces in foliage.
constexpr std::array kPasses = {DetectionPass::kWhole,      DetectionPass::kRotated,
                                DetectionPass::kEnhanced,   DetectionPass::kPadded,
                                DetectionPass::kLargeTiles, DetectionPass::kSmallTiles};

constexpr std::array kPaddedShares = {0.5f, 0.3f};
// Maximum longer side of a padded view in pixels, for detectors with smaller frames.
constexpr int kMaxPadded = 640;
// Share of the padded image's side that the image fills, for the close detector. Of the shares from
// 0.7 to 1, it finds the most faces with 0.7 (bench/hard-images.mjs, close-ups).
constexpr float kCloseShare = 0.7f;

void append(std::vector<View>& views, std::vector<View> more) {
  std::move(more.begin(), more.end(), std::back_inserter(views));
}

// Returns the image with a border: one view for the close detector, or eight for the main detector.
std::vector<View> padded_views(const View& view, const Engine& engine) {
  const bool close = engine.close_detector.has_value();
  const DetectorSpec& spec = (close ? *engine.close_detector : engine.detector).spec();
  const int max_side = std::max({kMaxPadded, spec.width, spec.height});
  if (close) return {padded(view, kCloseShare, max_side)};
  std::vector<View> views;
  for (const float share : kPaddedShares)
    append(views, rotations(padded(view, share, max_side), 0));
  return views;
}

// Raises the contrast in two ways, each in all four rotations.
std::vector<View> enhanced_views(View view) {
  view.bgr = stretch_contrast(view.bgr);
  std::vector<View> views = rotations(view, 0);
  view.bgr = equalised(view.bgr);
  append(views, rotations(view, 0));
  return views;
}

// Rotates the tiles of a large image, because its small faces may be rotated.
std::vector<View> large_tiles(Image& image) {
  const View detail = image.shrink_whole(kDetail);
  std::vector<View> out;
  for (const View& view : is_large(image) ? rotations(detail, 0) : std::vector{detail}) {
    append(out, tiles(view, 2));
  }
  return out;
}

// Views of a pass of the fallback, and the `found_by` value of the faces found in it.
struct Views {
  FoundBy found_by;
  std::vector<View> views;
};

Views views_of(DetectionPass pass, Finder& finder) {
  Image& image = finder.image();
  switch (pass) {
    case DetectionPass::kRotated:
      return {FoundBy::kRotated, rotations(image.shrink_whole(kOverview), 1)};
    case DetectionPass::kEnhanced:
      return {FoundBy::kEnhanced, enhanced_views(image.shrink_whole(kOverview))};
    case DetectionPass::kPadded:
      return {FoundBy::kPadded, padded_views(image.shrink_whole(kOverview), finder.engine())};
    case DetectionPass::kLargeTiles:
      return {FoundBy::kTiled, large_tiles(image)};
    case DetectionPass::kSmallTiles: {
      const View detail = image.shrink_whole(kDetail);
      if (detail.longer_side() < kMinForSmallTiles) return {FoundBy::kTiled, {}};
      return {FoundBy::kTiled, tiles(detail, 5)};
    }
    case DetectionPass::kWhole:
      break;
  }
  return {FoundBy::kPrimary, {image.whole()}};
}

// `detection_of` returns the detection of an item.
template <typename Found, typename DetectionOf>
void order_found(std::vector<Found>& found, DetectionOf detection_of) {
  const auto weight = [&](const Found& one) {
    const Detection& detection = std::invoke(detection_of, one);
    return detection.box.area() * detection.score;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return weight(a) > weight(b); });
}

// Runs a pass of the fallback: detects in each view and verifies in close-ups.
void find_in_views(DetectionPass pass, Finder& finder, std::vector<FoundFace>& faces) {
  if (finder.timed_out()) return;
  const bool close = pass == DetectionPass::kPadded && has_close_detector(finder);
  const Engine& engine = finder.engine();
  const Detector& detector = close ? *engine.close_detector : engine.detector;
  const auto [found_by, views] = views_of(pass, finder);
  const bool hints = is_large(finder.image()) &&
                     (found_by == FoundBy::kRotated || pass == DetectionPass::kLargeTiles);
  std::vector<Unstable> unstable;
  const auto proposals =
      proposals_of(finder, detector, views, hints ? Hints::kEnlarged : Hints::kIgnored);
  if (pass == DetectionPass::kRotated)
    mark_rotations_searched(finder, hints ? kHintSide : kConfidentSide);
  for (const Proposal& proposal : proposals) {
    if (finder.timed_out()) break;
    const auto& [detection, roll] = proposal;
    std::optional<FoundFace> seen;
    auto face = close ? finder.verify_close(detection)
                      : finder.verify(detection, roll, pass == DetectionPass::kEnhanced, &seen);
    if (face) {
      face->detection.found_by = found_by;
      faces.push_back(std::move(*face));
    } else if (seen) {
      unstable.push_back({proposal, std::move(*seen)});
    }
  }
  // Several views may show the same face, even in different rotations. Keeps the face with the most
  // stable landmarks.
  keep_one_of_each(faces, [](const FoundFace& face) {
    return face.instability.value_or(std::numeric_limits<float>::infinity());
  });
  if (hints || found_by == FoundBy::kRotated) {
    append_beside(std::move(unstable), found_by, faces);
  }
}

}  // namespace

int side_for_first_pass(const Pack& pack) {
  // 1.5 times the detector's frame, so that landmarks of a large face are the same as in the full
  // image.
  return 3 * std::max(pack.detector.width, pack.detector.height) / 2;
}

void order(std::vector<Detection>& detections) { order_found(detections, std::identity()); }
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
  float min_roll = std::numeric_limits<float>::infinity();
  for (const FoundFace& face : faces) {
    if (face.detection.found_by != FoundBy::kPrimary) continue;
    min_roll = std::min(min_roll, std::abs(eye_line_degrees(five_points(face.points))));
  }
  return min_roll <= kUprightRoll || (faces.size() == 1 && std::isfinite(min_roll));
}

}  // namespace facematch
