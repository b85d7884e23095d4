// Plain structs that the stages exchange.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <vector>

namespace facematch {

enum class Format { kJpeg, kPng, kWebp };
enum class AccuracyMode { kFast, kBalance };
enum class FoundBy { kPrimary, kTiled, kRotated, kPadded, kEnhanced };

// Values of the API, in the order of FoundBy.
constexpr std::array<const char*, 5> kFoundBy = {"primary", "tiled", "rotated", "padded",
                                                 "enhanced"};
static_assert(static_cast<size_t>(FoundBy::kEnhanced) + 1 == kFoundBy.size());

// Values of the API, in the order of Format.
constexpr std::array<const char*, 3> kFormats = {"jpeg", "png", "webp"};

// Coordinates are in pixels of the full, upright image, origin top left, unless a comment says
// otherwise. Points refer to the centres of pixels, as in OpenCV's warps: (0, 0) is the centre of
// the first pixel.
using Point = cv::Point2f;

// Boxes refer to the edges of pixels: x = 0 is the left edge of the image.
struct Box {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;

  float area() const { return width * height; }
  float longer_side() const { return std::max(width, height); }
  Point centre() const { return {x + width / 2, y + height / 2}; }
  // Returns a square of the longer side around the same centre.
  Box square() const {
    const float side = longer_side();
    return {centre().x - side / 2, centre().y - side / 2, side, side};
  }
};

// The five points that alignment needs, in the order of the pack's template. Left and right are the
// person's own.
struct Landmarks {
  Point right_eye, left_eye, nose, mouth_right, mouth_left;

  std::array<Point, 5> points() const {
    return {right_eye, left_eye, nose, mouth_right, mouth_left};
  }
};

struct ImageLimits {
  int64_t max_pixels = 64'000'000;
  int min_side = 16;
};

// Degrees. yaw > 0: the person looks to their own left; pitch > 0: up; roll > 0: the head is
// rotated clockwise in the image, towards the person's left shoulder.
struct Pose {
  float yaw = 0;
  float pitch = 0;
  float roll = 0;
};

struct Quality {
  float sharpness = 0;    // 0..1, see quality.h
  float brightness = 0;   // 0..1, mean luma of the aligned face
  float face_pixels = 0;  // side of the aligned face in pixels of the full image
  float dot_pitch = 0;    // distance between a print's dots in pixels of the full image; 0: none
  float stretch = 1;      // factor by which the image was stretched along one axis, see quality.h
};

// A unit vector.
using Embedding = std::vector<float>;

struct Face {
  Box box;
  Landmarks landmarks;
  float detection_score = 0;  // 0..1
  FoundBy found_by = FoundBy::kPrimary;
  std::optional<float> human_score;      // higher: more likely a human face
  std::optional<float> occlusion_score;  // above 0: nose and mouth are covered
  std::optional<float> live_score;       // 0..1, see liveness.h; only if requested
  Pose pose;
  Quality quality;
  Embedding embedding;
  float cohort_score = 0;  // Cohort::score() of the embedding
};

// Milliseconds spent in each stage.
struct StageTimings {
  double decode = 0;
  double detect = 0;
  double align = 0;
  double embed = 0;
};

struct AnalyseOptions {
  ImageLimits limits;
  AccuracyMode accuracy_mode = AccuracyMode::kBalance;
  float min_det_score = 0;
  bool use_heuristic_fallback = true;
  bool detect_presentation_attack =
      false;  // adds live_score to every face, if the pack supports it
  // Refines the landmarks in either mode. The pose from unrefined landmarks is too noisy to follow
  // a moving head.
  bool refine_landmarks = false;
  // Maximum CPU time for the image.
  double image_timeout_ms = std::numeric_limits<double>::infinity();
  // Another thread cancels the call by setting this to a value other than 0. The call then ends
  // soon, and its result must be ignored. Null: the call is never cancelled.
  const std::atomic<uint8_t>* cancelled = nullptr;
};

// The coverage of a search for faces.
struct Coverage {
  static constexpr float kNotSearched = std::numeric_limits<float>::infinity();

  // Minimum longer side in pixels of the faces that a search of the whole image finds, by rotation
  // of the face (index: clockwise quarter turns).
  std::array<float, 4> min_side = {kNotSearched, kNotSearched, kNotSearched, kNotSearched};
  // True if the limit on CPU time or detector runs ended the search before it was complete.
  bool timed_out = false;

  void searched(size_t quarters, float side) {
    min_side.at(quarters) = std::min(min_side.at(quarters), side);
  }

  // Returns true if the whole image was searched in all four rotations.
  bool complete() const {
    return std::ranges::none_of(min_side, [](float side) { return side == kNotSearched; });
  }

  // Adds the coverage of another search of the same image.
  void add(const Coverage& other) {
    for (size_t quarters = 0; quarters < min_side.size(); ++quarters) {
      searched(quarters, other.min_side.at(quarters));
    }
    timed_out = timed_out || other.timed_out;
  }
};

// A place in the image where the detector was unsure whether there is a face, or how it is rotated.
struct Candidate {
  Box box;
  float score = 0;
};

// Results of a first analysis that a further search of the image needs.
struct EarlierAnalysis {
  std::vector<Box> faces;
  std::vector<Candidate> candidates;
};

// The result for one image.
struct Analysis {
  int width = 0;  // of the upright image, pixels
  int height = 0;
  Format format = Format::kJpeg;
  int orientation = 1;      // EXIF, 1..8
  std::vector<Face> faces;  // largest first (box area x detection score)
  int faces_omitted = 0;    // because of kMaxFaces or the CPU time limit
  Coverage coverage;
  StageTimings timings_ms;
  double cpu_ms = 0;  // CPU time of the analysis
  // Places for a further search. Empty without the fallback, or if all rotations were searched.
  std::vector<Candidate> candidates;
  // Set by a further search: indexes of the earlier faces that `faces` replace, because they were
  // found in a wrong rotation.
  std::vector<size_t> replaced;

  // Returns the minimum longer side in pixels of a face that the search can find in every searched
  // rotation; the image's longer side if no rotation was searched completely.
  int min_detectable_face_px() const;
};

// Maximum number of faces per image; the largest are kept.
constexpr int kMaxFaces = 100;

}  // namespace facematch
