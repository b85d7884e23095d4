#include "verifier.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../image/contrast.h"

namespace facematch {
namespace {

// Sides of the close-ups, pixels. For the detector a face should have half the side of its frame;
// for landmarks the close-up must be twice as large as the net's crop.
constexpr int kCloseup = 240;
constexpr int kSmallCloseup = 128;

// A face that is not upright rarely has such a score, and the landmarks predicted for it rarely fit
// the template so well.
constexpr float kClearScore = 0.999998f;
constexpr float kClearTemplateError = 0.1f;

// Largest instability (see landmark_check.h) of an upright face: of the first pass with the quick
// and with the thorough perturbations, and of a close-up with the thorough ones.
constexpr float kQuickInstability = 0.021f;
constexpr float kThoroughInstability = 0.02f;
constexpr float kMostInstability = 0.023f;

// Least longer side of the box, pixels: smaller faces cannot be compared, and noise passes for
// faces.
constexpr float kLeastSide = 14;
constexpr float kLeastIou = 0.3f;
// A close-up with a larger roll is cut again, upright.
constexpr float kMostRoll = 20;

// Rotations that are tried; landmarks are found up to 45 degrees from each.
constexpr std::array kRolls = {0.0f, 90.0f, -90.0f, 180.0f};
constexpr size_t kMostGuesses = 3;
constexpr float kUprightBonus = 0.7f;

struct Guess {
  float roll;
  float instability;
};

Box square(const Box& box) {
  const float side = std::max(box.width, box.height);
  const Point centre = box.centre();
  return {centre.x - side / 2, centre.y - side / 2, side, side};
}

}  // namespace

Verifier::Verifier(const Engine& engine, const cv::Mat& bgr, const AnalyseOptions& options,
                   const Budget& budget)
    : engine_(engine), bgr_(bgr), options_(options), budget_(budget), scales_(bgr, budget) {}

bool Verifier::cut_short() {
  cut_short_ = cut_short_ || budget_.spent();
  return cut_short_;
}

void Verifier::use(const cv::Mat& bgr) {
  bgr_ = bgr;
  scales_ = Scales(bgr, budget_);
}

std::vector<Detection> Verifier::detect(const View& view, float min_score) {
  if (detector_runs_ >= kMostDetectorRuns || cut_short()) return {};
  ++detector_runs_;
  auto detections = engine_.detector.detect(view.bgr, min_score);
  for (Detection& detection : detections) detection.box = moved(detection.box, view.to_picture);
  return detections;
}

std::optional<Detection> Verifier::redetect(const View& view, const Box& expected) {
  const float needed = std::max(options_.min_det_score, engine_.pack.detector.second_look_score);
  for (const Detection& seen : detect(view, needed)) {
    if (intersection_over_union(square(seen.box), square(expected)) >= kLeastIou) return seen;
  }
  return std::nullopt;
}

Verifier::MeasuredLandmarks Verifier::find_landmarks(const View& view, const Box& box,
                                                     float roll) const {
  const Points68 points = engine_.landmarker.find(view.bgr, box, true, roll);
  return {.points = points,
          .instability =
              instability(engine_.landmarker, view.bgr, box, points, thorough_perturbations())};
}

bool Verifier::clear(const Candidate& candidate) const {
  const Landmarks five = five_points(candidate.points);
  return candidate.detection.score >= kClearScore &&
         std::abs(eye_line_degrees(five)) <= kMostRoll &&
         template_error(five, engine_.pack.embedder.template_points) <= kClearTemplateError;
}

bool Verifier::stable(const Candidate& candidate, std::span<const Perturbation> perturbations,
                      float most) const {
  return instability(engine_.landmarker, bgr_, candidate.detection.box, candidate.points,
                     perturbations) <= most;
}

bool Verifier::redetected(const Detection& detection) {
  return redetect(scales_.closeup(detection.box, 0, kCloseup), detection.box).has_value();
}

std::optional<Candidate> Verifier::confirm(const Detection& detection) {
  if (cut_short()) return std::nullopt;
  const bool refine = options_.accuracy_mode == AccuracyMode::kBalance;
  const Candidate plain{.detection = detection,
                        .points = engine_.landmarker.find(bgr_, detection.box, refine)};
  if (detector_runs_ >= kMostToConfirm) return plain;
  if (clear(plain) || stable(plain, quick_perturbations(), kQuickInstability)) {
    upright_seen_ = true;
    return plain;
  }
  if (upright_seen_) return redetected(detection) ? std::optional(plain) : std::nullopt;
  if (stable(plain, thorough_perturbations(), kThoroughInstability)) {
    upright_seen_ = true;
    return plain;
  }
  return try_rotations(plain);
}

std::optional<Candidate> Verifier::try_rotations(const Candidate& plain) {
  const Detection& detection = plain.detection;
  const View small = scales_.closeup(detection.box, 0, kSmallCloseup);
  const Box box = moved(detection.box, small.to_picture.inverse());
  // Most promising first. Upright faces are much more common, so another rotation must have much
  // more stable landmarks.
  std::array<Guess, kRolls.size()> guesses;
  std::transform(kRolls.begin(), kRolls.end(), guesses.begin(), [&](float roll) {
    return Guess{roll, find_landmarks(small, box, roll).instability};
  });
  guesses.front().instability *= kUprightBonus;
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.instability < b.instability; });
  for (size_t i = 0; i < kMostGuesses; ++i) {
    auto candidate = verify(detection, guesses[i].roll, false);
    if (!candidate) continue;
    if (guesses[i].roll == 0) {
      upright_seen_ = true;
      candidate->detection = detection;
    } else {
      candidate->detection.found_by = FoundBy::kRotated;
    }
    return candidate;
  }
  // Landmarks are unstable on blurred faces, half hidden ones and profiles. A face of the first
  // pass then only needs to be detected again.
  return redetected(detection) ? std::optional(plain) : std::nullopt;
}

std::optional<Candidate> Verifier::verify(const Detection& candidate, float roll, bool stretch) {
  Detection seen = candidate;
  for (int attempt = 0; attempt < 2; ++attempt) {
    View view = scales_.closeup(seen.box, roll, kCloseup);
    if (stretch) view.bgr = stretch_contrast(view.bgr);
    const auto again = redetect(view, seen.box);
    if (!again) return std::nullopt;
    seen.box = again->box;
    seen.score = again->score;
    if (std::max(seen.box.width, seen.box.height) < kLeastSide) return std::nullopt;
    const Box box = moved(seen.box, view.to_picture.inverse());
    const MeasuredLandmarks found = find_landmarks(view, box, 0);
    const float off = eye_line_degrees(five_points(found.points));
    if (attempt == 0 && std::abs(off) > kMostRoll) {
      roll += off;
      continue;
    }
    // The layout is checked on a crop without the remaining roll.
    const Similarity upright =
        square_crop(box.centre(), static_cast<float>(kCloseup), off, kCloseup);
    if (found.instability > kMostInstability ||
        !plausible(five_points(moved(found.points, upright)), moved(box, upright),
                   engine_.pack.embedder.template_points)) {
      return std::nullopt;
    }
    return Candidate{.detection = seen,
                     .points = moved(found.points, view.to_picture),
                     .instability = found.instability,
                     .contrast_stretched = stretch};
  }
  return std::nullopt;
}

}  // namespace facematch
