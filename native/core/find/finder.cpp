#include "finder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../image/contrast.h"

namespace facematch {
namespace {

// Sides of the close-ups, pixels. For the detector a face should have half the side of its frame;
// for landmarks the close-up must be twice as large as the net's crop.
constexpr int kCloseup = 240;
constexpr int kSmallCloseup = 128;  // BlazeFace's frame as well

// Shortest longer side of the box, pixels: smaller faces cannot be compared, and noise passes for
// faces.
constexpr float kMinSide = 14;
constexpr float kMinIou = 0.3f;
// A close-up with a larger roll is cut again, upright.
constexpr float kMaxRoll = 20;

// Rotations that are tried; landmarks are found up to 45 degrees from each.
constexpr std::array kRolls = {0.0f, 90.0f, -90.0f, 180.0f};
constexpr size_t kMaxGuesses = 3;
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

// A face whose eye line has that angle, as it would be upright: checks the layout.
bool plausible_upright(const Points68& points, const Box& box, float degrees,
                       const EmbedderSpec& embedder) {
  const Similarity upright = square_crop(box.centre(), 1, degrees, 1);
  return plausible(five_points(moved(points, upright)), moved(box, upright),
                   embedder.template_points);
}

}  // namespace

// Cheapest first; the first that decides ends the questions. `clear` costs nothing, `stable_once`
// one run of the landmark net, `stable` five, `with_another_roll` some 30 and up to six of the
// detector, `seen_again` one of the detector.
const std::array<Finder::Test, 6> Finder::kTests = {{
    {&Finder::clear, true},
    {&Finder::stable_once, true},
    {&Finder::seen_again_beside_upright, false},
    {&Finder::stable, true},
    {&Finder::with_another_roll, true},
    // Landmarks are unstable on blurred faces, half hidden ones and profiles.
    {&Finder::seen_again, false},
}};

Finder::Finder(const Engine& engine, Picture& picture, const AnalyseOptions& options)
    : engine_(engine), picture_(picture), options_(options) {}

bool Finder::cut_short() {
  cut_short_ = cut_short_ || picture_.budget().spent();
  return cut_short_;
}

std::vector<Detection> Finder::detect(const Detector& detector, const View& view, float min_score) {
  if (cut_short()) return {};
  if (detector_runs_ >= kMaxDetectorRuns) {
    runs_used_up_ = true;
    return {};
  }
  ++detector_runs_;
  return detector.detect(view, min_score);
}

std::optional<Detection> Finder::redetect(const Detector& detector, const View& view,
                                          float min_score, const Box& expected) {
  for (const Detection& seen : detect(detector, view, min_score)) {
    if (intersection_over_union(square(seen.box), square(expected)) >= kMinIou) return seen;
  }
  return std::nullopt;
}

std::optional<Detection> Finder::redetect(const View& view, const Box& expected) {
  const float needed = std::max(options_.min_det_score, engine_.pack.detector.second_look_score);
  return redetect(engine_.detector, view, needed, expected);
}

std::optional<Detection> Finder::redetect_close(const Box& expected) {
  const float needed =
      std::max(options_.min_det_score, engine_.pack.close_detector->second_look_score);
  return redetect(*engine_.close_detector, picture_.closeup(expected, 0, kSmallCloseup), needed,
                  expected);
}

const View& Finder::pixels_of(const Box& box) {
  const Landmarker& landmarker = engine_.landmarker;
  const float scale = static_cast<float>(landmarker.crop_size()) / landmarker.crop_side(box);
  return picture_.for_crops({around_face(box), scale});
}

float Finder::misfit(const FoundFace& face) const {
  return template_error(five_points(face.points), engine_.pack.embedder.template_points);
}

float Finder::measure(const View& view, const FoundFace& face,
                      std::span<const Perturbation> perturbations) const {
  return instability(engine_.landmarker, view, face.detection.box, face.points, perturbations);
}

std::optional<FoundFace> Finder::confirm(const Detection& detection) {
  if (cut_short()) return std::nullopt;
  const bool refine = options_.accuracy_mode == AccuracyMode::kBalance;
  FoundFace face;
  face.detection = detection;
  face.points = engine_.landmarker.find(pixels_of(detection.box), detection.box, refine);
  for (const Test& test : kTests) {
    const Verdict verdict = (this->*test.ask)(face);
    if (verdict == Verdict::kNoFace) return std::nullopt;
    if (verdict == Verdict::kUndecided) continue;
    const bool rotated = face.detection.found_by == FoundBy::kRotated;
    upright_seen_ = upright_seen_ || (test.proves_upright && !rotated);
    if (!rotated) realign(face);
    return face;
  }
  return std::nullopt;
}

// A face that does not fit the template is often turned or covered, and the box then fits it badly:
// landmarks are predicted again in the box of the close detector.
void Finder::realign(FoundFace& face) {
  if (!engine_.close_detector) return;
  if (misfit(face) <= engine_.pack.landmarks.clear_template_error) return;
  const auto seen = redetect_close(face.detection.box);
  if (seen) face.points = engine_.landmarker.find(pixels_of(seen->box), seen->box, false);
}

std::optional<FoundFace> Finder::verify_close(const Detection& detection) {
  const auto seen = redetect_close(detection.box);
  if (!seen) return std::nullopt;
  FoundFace face;
  face.detection = *seen;
  const View& view = pixels_of(seen->box);
  face.points = engine_.landmarker.find(view, seen->box, false);
  face.instability = measure(view, face, thorough_perturbations());
  if (face.instability > engine_.pack.landmarks.max_instability.close_detector) return std::nullopt;
  return face;
}

bool Finder::may_confirm_by_detector() {
  if (detector_runs_ < kMaxRunsToConfirm) return true;
  runs_used_up_ = true;
  return false;
}

Finder::Verdict Finder::clear(FoundFace& face) {
  const bool is_clear = face.detection.score >= engine_.pack.detector.clear_score &&
                        std::abs(eye_line_degrees(five_points(face.points))) <= kMaxRoll &&
                        misfit(face) <= engine_.pack.landmarks.clear_template_error;
  return is_clear ? Verdict::kFace : Verdict::kUndecided;
}

Finder::Verdict Finder::stable_once(FoundFace& face) {
  const float moved = measure(pixels_of(face.detection.box), face, quick_perturbations());
  return moved <= engine_.pack.landmarks.max_instability.quick ? Verdict::kFace
                                                               : Verdict::kUndecided;
}

Finder::Verdict Finder::stable(FoundFace& face) {
  const float moved = measure(pixels_of(face.detection.box), face, thorough_perturbations());
  return moved <= engine_.pack.landmarks.max_instability.thorough ? Verdict::kFace
                                                                  : Verdict::kUndecided;
}

Finder::Verdict Finder::seen_again(FoundFace& face) {
  if (!may_confirm_by_detector()) return Verdict::kNoFace;
  const Box& box = face.detection.box;
  const auto seen = redetect(picture_.closeup(box, 0, kCloseup), box);
  return seen ? Verdict::kFace : Verdict::kNoFace;
}

Finder::Verdict Finder::seen_again_beside_upright(FoundFace& face) {
  return upright_seen_ ? seen_again(face) : Verdict::kUndecided;
}

Finder::Verdict Finder::with_another_roll(FoundFace& face) {
  if (!may_confirm_by_detector()) return Verdict::kNoFace;
  const Detection detection = face.detection;
  const View small = picture_.closeup(detection.box, 0, kSmallCloseup);
  // Most promising first. Upright faces are much more common, so another rotation must have much
  // more stable landmarks.
  std::array<Guess, kRolls.size()> guesses;
  std::transform(kRolls.begin(), kRolls.end(), guesses.begin(), [&](float roll) {
    FoundFace guess;
    guess.detection = detection;
    guess.points = engine_.landmarker.find(small, detection.box, true, roll);
    return Guess{roll, measure(small, guess, thorough_perturbations())};
  });
  guesses.front().instability *= kUprightBonus;
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.instability < b.instability; });
  for (const Guess& guess : std::span(guesses).first(kMaxGuesses)) {
    const auto verified = verify(detection, guess.roll, false);
    if (!verified) continue;
    face = *verified;
    if (guess.roll == 0) {
      face.detection = detection;
    } else {
      face.detection.found_by = FoundBy::kRotated;
    }
    return Verdict::kFace;
  }
  return Verdict::kUndecided;
}

std::optional<FoundFace> Finder::verify(const Detection& detection, float roll,
                                        bool contrast_stretched) {
  FoundFace face;
  face.detection = detection;
  Box& box = face.detection.box;
  for (int attempt = 0; attempt < 2; ++attempt) {
    View view = picture_.closeup(box, roll, kCloseup);
    if (contrast_stretched) view.bgr = stretch_contrast(view.bgr);
    const auto seen = redetect(view, box);
    if (!seen) return std::nullopt;
    box = seen->box;
    face.detection.score = seen->score;
    if (std::max(box.width, box.height) < kMinSide) return std::nullopt;
    face.points = engine_.landmarker.find(view, box, true, roll);
    const float seen_roll = eye_line_degrees(five_points(face.points));
    const bool off = std::abs(std::remainder(seen_roll - roll, 360.0f)) > kMaxRoll;
    if (attempt == 0 && off) {
      roll = seen_roll;
      continue;
    }
    face.instability = measure(view, face, thorough_perturbations());
    if (face.instability > engine_.pack.landmarks.max_instability.closeup ||
        !plausible_upright(face.points, box, seen_roll, engine_.pack.embedder)) {
      return std::nullopt;
    }
    return face;
  }
  return std::nullopt;
}

}  // namespace facematch
