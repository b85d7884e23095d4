#include "examiner.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "levels.h"
#include "plausibility.h"

namespace facematch {
namespace {

// Sides of the close-ups, pixels. The detector's wants a face of half its frame; the landmarks' has
// to hold twice the crop that their net looks at.
constexpr int kCloseup = 240;
constexpr int kSmallCloseup = 128;

// A face that lies on its side or on its head rarely scores this much, and its landmarks, which the
// net then invents, rarely fit a face so well.
constexpr float kClearScore = 0.999998f;
constexpr float kClearMisfit = 0.1f;

// Wobbles (see steadiness.h). Up to these a face that the first look saw is upright and real: on
// one further look, on five; and so is, on five, one that a close-up shows.
constexpr float kQuickWobble = 0.021f;
constexpr float kThoroughWobble = 0.02f;
constexpr float kMostWobble = 0.023f;

// Pixels, longer side of the box: below there is nothing left to compare, and noise passes for
// much.
constexpr float kLeastSide = 14;
constexpr float kLeastOverlap = 0.3f;
// A close-up that turns out to lean by more than this is cut again, upright.
constexpr float kMostLean = 20;

// Ways up that a face is tried in; the landmarks find what leans up to 45 degrees from each.
constexpr std::array kLeans = {0.0f, 90.0f, -90.0f, 180.0f};
constexpr size_t kMostGuesses = 3;
constexpr float kUprightBonus = 0.7f;

struct Guess {
  float lean;
  float wobble;
};

Box square(const Box& box) {
  const float side = std::max(box.width, box.height);
  const Point center = box.center();
  return {center.x - side / 2, center.y - side / 2, side, side};
}

}  // namespace

Examiner::Examiner(const Engine& engine, const cv::Mat& bgr, const DetectOptions& options)
    : engine_(engine), bgr_(bgr), options_(options), scales_(bgr) {}

void Examiner::use(const cv::Mat& bgr) {
  bgr_ = bgr;
  scales_ = Scales(bgr);
}

std::vector<Detection> Examiner::look(const View& view, float min_score) {
  if (detector_runs_ >= kMostDetectorRuns) return {};
  ++detector_runs_;
  auto detections = engine_.detector.detect(view.bgr, min_score);
  for (Detection& detection : detections) detection.box = moved(detection.box, view.to_picture);
  return detections;
}

std::optional<Detection> Examiner::second_look(const View& view, const Box& expected) {
  const float needed = std::max(options_.min_det_score, engine_.pack.detector.second_look_score);
  for (const Detection& seen : look(view, needed)) {
    if (overlap(square(seen.box), square(expected)) >= kLeastOverlap) return seen;
  }
  return std::nullopt;
}

Examiner::Direction Examiner::try_direction(const View& view, const Box& box, float lean) const {
  const Points68 points = engine_.landmarker.find(view.bgr, box, true, lean);
  return {.points = points,
          .wobble = wobble(engine_.landmarker, view.bgr, box, points, thorough_nudges())};
}

bool Examiner::clear(const Sighting& sighting) const {
  const Landmarks five = five_points(sighting.points);
  return sighting.detection.score >= kClearScore && std::abs(eye_line_degrees(five)) <= kMostLean &&
         misfit(five, engine_.pack.embedder.template_points) <= kClearMisfit;
}

bool Examiner::steady(const Sighting& sighting, std::span<const Nudge> nudges, float most) const {
  return wobble(engine_.landmarker, bgr_, sighting.detection.box, sighting.points, nudges) <= most;
}

bool Examiner::seen_again(const Detection& detection) {
  return second_look(scales_.closeup(detection.box, 0, kCloseup), detection.box).has_value();
}

std::optional<Sighting> Examiner::confirm(const Detection& detection) {
  const bool refine = options_.accuracy_mode == AccuracyMode::kBalance;
  const Sighting plain{.detection = detection,
                       .points = engine_.landmarker.find(bgr_, detection.box, refine)};
  if (detector_runs_ >= kMostToConfirm) return plain;
  if (clear(plain) || steady(plain, quick_nudges(), kQuickWobble)) {
    upright_seen_ = true;
    return plain;
  }
  if (upright_seen_) return seen_again(detection) ? std::optional(plain) : std::nullopt;
  if (steady(plain, thorough_nudges(), kThoroughWobble)) {
    upright_seen_ = true;
    return plain;
  }
  return look_around(plain);
}

std::optional<Sighting> Examiner::look_around(const Sighting& plain) {
  const Detection& detection = plain.detection;
  const View small = scales_.closeup(detection.box, 0, kSmallCloseup);
  const Box box = moved(detection.box, small.to_picture.inverse());
  // Most promising first. Upright faces are so much more common that another way up has to hold
  // much stiller.
  std::array<Guess, kLeans.size()> guesses;
  std::transform(kLeans.begin(), kLeans.end(), guesses.begin(),
                 [&](float lean) { return Guess{lean, try_direction(small, box, lean).wobble}; });
  guesses.front().wobble *= kUprightBonus;
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.wobble < b.wobble; });
  for (size_t i = 0; i < kMostGuesses; ++i) {
    auto sighting = examine(detection, guesses[i].lean, false);
    if (!sighting) continue;
    if (guesses[i].lean == 0) {
      upright_seen_ = true;
      sighting->detection = detection;
    } else {
      sighting->detection.found_by = FoundBy::kRotated;
    }
    return sighting;
  }
  // Landmarks wander on blurred faces, on half hidden ones and on profiles: then the detector's
  // word is enough, as nothing but the first look is at stake.
  return seen_again(detection) ? std::optional(plain) : std::nullopt;
}

std::optional<Sighting> Examiner::examine(const Detection& candidate, float lean, bool levelled_) {
  Detection seen = candidate;
  for (int attempt = 0; attempt < 2; ++attempt) {
    View view = scales_.closeup(seen.box, lean, kCloseup);
    if (levelled_) view.bgr = levelled(view.bgr);
    const auto again = second_look(view, seen.box);
    if (!again) return std::nullopt;
    seen.box = again->box;
    seen.score = again->score;
    if (std::max(seen.box.width, seen.box.height) < kLeastSide) return std::nullopt;
    const Box box = moved(seen.box, view.to_picture.inverse());
    const Direction direction = try_direction(view, box, 0);
    const float off = eye_line_degrees(five_points(direction.points));
    if (attempt == 0 && std::abs(off) > kMostLean) {
      lean += off;
      continue;
    }
    // For the layout the crop is turned by what it still leans.
    const Similarity upright =
        square_crop(box.center(), static_cast<float>(kCloseup), off, kCloseup);
    if (direction.wobble > kMostWobble ||
        !plausible(five_points(moved(direction.points, upright)), moved(box, upright),
                   engine_.pack.embedder.template_points)) {
      return std::nullopt;
    }
    return Sighting{.detection = seen,
                    .points = moved(direction.points, view.to_picture),
                    .wobble = direction.wobble,
                    .levelled = levelled_};
  }
  return std::nullopt;
}

}  // namespace facematch
