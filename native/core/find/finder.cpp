#include "finder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../image/contrast.h"
#include "same_face.h"

namespace facematch {
namespace {

// The counts below are of people in the sample photos (turned, dark, cropped, tiny, and in rotated
// group photos) and of faces in 321 development photos.

// Sides of the close-ups in pixels. The detector works best if the face fills half the side of the
// close-up. For landmarks, the close-up must be twice as large as the net's crop. With these sides
// 87 of 96 people are found. With a kCloseup of 160 or 320, 89 or 90 are found; with a
// kSmallCloseup of 96 or 192, 87 or 88.
constexpr int kCloseup = 240;
constexpr int kSmallCloseup = 128;  // also BlazeFace's frame

// Minimum intersection over union of a redetected face and the expected box. With 0.5, one of 344
// faces is missed and three profiles need the fallback; 0.15 changes nothing.
constexpr float kMinIou = 0.3f;
// Maximum roll of an upright face in degrees. A close-up of a face with a larger roll is cropped
// again. With 10, one more of 96 people is found; with 30, the same number.
constexpr float kMaxRoll = 20;

// Rolls to try, in degrees. The landmark net works up to 45 degrees from each.
constexpr std::array kRolls = {0.0f, 90.0f, -90.0f, 180.0f};
constexpr size_t kMaxGuesses = 3;  // with one, two of 94 people are missed

struct Guess {
  float roll;
  float instability;
};

// Checks the layout of the landmarks after rotating the face upright.
bool plausible_upright(const Points68& points, const Box& box, float degrees,
                       const EmbedderSpec& embedder) {
  const Similarity upright = square_crop(box.centre(), 1, degrees, 1);
  return plausible(five_points(moved(points, upright)), moved(box, upright),
                   embedder.template_points);
}

}  // namespace

bool Finder::timed_out() {
  timed_out_ = timed_out_ || image_.budget().spent();
  return timed_out_;
}

std::vector<Detection> Finder::detect(const Detector& detector, const View& view, float min_score) {
  if (timed_out()) return {};
  if (detector_runs_ >= kMaxDetectorRuns) {
    runs_used_up_ = true;
    return {};
  }
  ++detector_runs_;
  return detector.detect(view, min_score);
}

std::optional<Detection> Finder::redetect(const Detector& detector, const View& view,
                                          const Box& expected) {
  // Selects the detection with the largest overlap. If two people are cheek to cheek, the detection
  // with the highest score may be the neighbour's.
  std::optional<Detection> closest;
  float max_iou = kMinIou;
  for (const Detection& seen : detect(detector, view, detector.spec().second_look_score)) {
    const float iou = intersection_over_union(seen.box.square(), expected.square());
    if (iou < max_iou) continue;
    max_iou = iou;
    closest = seen;
  }
  return closest;
}

std::optional<Detection> Finder::redetect_close(const Box& expected, float roll) {
  return redetect(*engine_.close_detector, closeup(image_, expected, roll, kSmallCloseup),
                  expected);
}

View Finder::pixels_of(const Box& box) {
  const Landmarker& landmarker = engine_.landmarker;
  const float scale = static_cast<float>(landmarker.crop_size()) / landmarker.crop_side(box);
  return image_.decode_part({around_face(box), scale});
}

float Finder::misfit(const FoundFace& face) const {
  return template_error(five_points(face.points), engine_.pack.embedder.template_points);
}

float Finder::measure(const View& view, const FoundFace& face,
                      std::span<const Perturbation> perturbations) const {
  return instability(engine_.landmarker, view, face.detection.box, face.points, perturbations);
}

// A test for a face of the first detection pass. The tests of kTests run in order until one accepts
// the face.
struct Finder::Test {
  bool (Finder::*accepts)(FoundFace& face);
  bool runs_detector;
  // Skips the test if a face of the image is known to be upright, because rotated faces are rare
  // next to upright ones.
  bool skip_beside_upright;
  bool detects_upright;
};

const std::array<Finder::Test, 5> Finder::kTests = {{
    {&Finder::is_clear, false, false, true},
    {&Finder::is_quickly_stable, false, false, true},
    {&Finder::is_thoroughly_stable, false, true, true},
    {&Finder::has_likely_roll, true, true, true},
    // Accepts blurred faces, half-hidden ones and profiles, on which landmarks are unstable.
    {&Finder::is_redetected, true, false, false},
}};

std::optional<Confirmed> Finder::confirm(const Detection& detection, bool beside_upright) {
  if (timed_out()) return std::nullopt;
  FoundFace face;
  face.detection = detection;
  const bool refine = options_.refine_landmarks || options_.accuracy_mode == AccuracyMode::kBalance;
  face.points = engine_.landmarker.find(pixels_of(detection.box), detection.box, refine);
  for (const Test& test : kTests) {
    if (test.skip_beside_upright && beside_upright) continue;
    if (test.runs_detector && !may_confirm_by_detector()) return std::nullopt;
    if (!(this->*test.accepts)(face)) continue;
    if (face.detection.found_by == FoundBy::kRotated) return Confirmed{std::move(face), false};
    predict_landmarks_again(face, 0);
    return Confirmed{std::move(face), test.detects_upright};
  }
  return std::nullopt;
}

bool Finder::is_clear(FoundFace& face) {
  return face.detection.score >= engine_.pack.detector.clear_score &&
         std::abs(eye_line_degrees(five_points(face.points))) <= kMaxRoll &&
         misfit(face) <= engine_.pack.landmarks.clear_template_error;
}

bool Finder::is_quickly_stable(FoundFace& face) {
  return measure(pixels_of(face.detection.box), face, quick_perturbations()) <=
         engine_.pack.landmarks.max_instability.quick;
}

bool Finder::is_thoroughly_stable(FoundFace& face) {
  return measure(pixels_of(face.detection.box), face, thorough_perturbations()) <=
         engine_.pack.landmarks.max_instability.thorough;
}

bool Finder::is_redetected(FoundFace& face) {
  const Box& box = face.detection.box;
  return redetect(engine_.detector, closeup(image_, box, 0, kCloseup), box).has_value();
}

bool Finder::may_confirm_by_detector() {
  if (detector_runs_ < kMaxRunsToConfirm) return true;
  runs_used_up_ = true;
  return false;
}

// Landmarks that do not fit the template often belong to a turned or covered face with an
// inaccurate box. Predicts such landmarks again in the box of the close detector.
void Finder::predict_landmarks_again(FoundFace& face, float roll) {
  if (!engine_.close_detector) return;
  if (misfit(face) <= engine_.pack.landmarks.clear_template_error) return;
  const auto seen = redetect_close(face.detection.box, roll);
  if (!seen) return;
  FoundFace again = face;
  again.points = engine_.landmarker.find(pixels_of(seen->box), seen->box, false, roll);
  // If the new points are far from the first ones, and further from the centre of the box, they
  // belong to a neighbour.
  if (!landmarks_coincide(face, again) && off_centre(again) > off_centre(face)) return;
  again.first_points = face.points;
  face = std::move(again);
}

// Tries the rolls with the most stable landmarks. An upright face keeps its box and score; a
// rotated face gets those of the close-up.
bool Finder::has_likely_roll(FoundFace& face) {
  const Detection detection = face.detection;
  const View small = closeup(image_, detection.box, 0, kSmallCloseup);
  // Sorted by instability.
  std::array<Guess, kRolls.size()> guesses;
  std::transform(kRolls.begin(), kRolls.end(), guesses.begin(), [&](float roll) {
    FoundFace guess;
    guess.detection = detection;
    guess.points = engine_.landmarker.find(small, detection.box, true, roll);
    return Guess{roll, measure(small, guess, thorough_perturbations())};
  });
  std::stable_sort(guesses.begin(), guesses.end(),
                   [](const Guess& a, const Guess& b) { return a.instability < b.instability; });
  for (const Guess& guess : std::span(guesses).first(kMaxGuesses)) {
    auto verified = verify(detection, guess.roll, false);
    if (!verified) continue;
    if (guess.roll == 0) {
      verified->detection = detection;
    } else {
      verified->detection.found_by = FoundBy::kRotated;
    }
    face = std::move(*verified);
    return true;
  }
  return false;
}

std::optional<FoundFace> Finder::verify_close(const Detection& detection) {
  const auto seen = redetect_close(detection.box, 0);
  if (!seen) return std::nullopt;
  FoundFace face;
  face.detection = *seen;
  const View view = pixels_of(seen->box);
  face.points = engine_.landmarker.find(view, seen->box, false);
  face.instability = measure(view, face, thorough_perturbations());
  if (*face.instability > engine_.pack.landmarks.max_instability.close_detector)
    return std::nullopt;
  return face;
}

// Detects the face again and predicts its landmarks, in a close-up that shows it upright. Sets
// `view` to that close-up.
std::optional<FoundFace> Finder::redetect_upright(const Detection& detection, float roll,
                                                  bool contrast_stretched, View& view) {
  FoundFace face;
  face.detection = detection;
  Box& box = face.detection.box;
  for (int attempt = 0; attempt < 2; ++attempt) {
    view = closeup(image_, box, roll, kCloseup);
    if (contrast_stretched) view.bgr = stretch_contrast(view.bgr);
    const auto seen = redetect(engine_.detector, view, box);
    if (!seen) return std::nullopt;
    box = seen->box;
    face.detection.score = seen->score;
    if (box.longer_side() < kMinFaceSide) return std::nullopt;
    face.points = engine_.landmarker.find(view, box, true, roll);
    if (degrees_from(roll, five_points(face.points)) <= kMaxRoll) break;
    // The roll of a profile, or of a covered face, may be wrong.
    predict_landmarks_again(face, roll);
    if (degrees_from(roll, five_points(face.points)) <= kMaxRoll) break;
    roll = eye_line_degrees(five_points(face.points));
  }
  return face;
}

std::optional<FoundFace> Finder::verify(const Detection& detection, float roll,
                                        bool contrast_stretched,
                                        std::optional<FoundFace>* unstable) {
  View view;
  auto face = redetect_upright(detection, roll, contrast_stretched, view);
  if (!face) return std::nullopt;
  face->instability = measure(view, *face, thorough_perturbations());
  const float seen_roll = eye_line_degrees(five_points(face->points));
  if (*face->instability > engine_.pack.landmarks.max_instability.closeup ||
      !plausible_upright(face->points, face->detection.box, seen_roll, engine_.pack.embedder)) {
    if (unstable != nullptr) *unstable = std::move(face);
    return std::nullopt;
  }
  return face;
}

}  // namespace facematch
