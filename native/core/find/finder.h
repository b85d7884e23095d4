// Finds the faces of one image: runs the detector on views of it, and checks the detections.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../engine.h"
#include "../image/image.h"
#include "landmark_check.h"

namespace facematch {

// A face during the analysis. Each stage sets further members.
struct FoundFace {
  Detection detection;
  Points68 points;
  std::optional<Points68> first_points;  // if predict_landmarks_again() replaced them
  std::optional<float> instability;      // if measured thoroughly, see landmark_check.h
  cv::Mat chip;                          // set by alignment
  float dot_pitch = 0;  // set by alignment: distance between printed dots, pixels of the image
  Face face;            // set by alignment and embedding
};

// A face of the first pass, and whether the test that accepted it also proves that the face is
// upright.
struct Confirmed {
  FoundFace face;
  bool upright = false;
};

// Minimum longer side of the box in pixels. Smaller faces cannot be compared, and the detector
// mistakes noise for them.
constexpr float kMinFaceSide = 14;

// Maximum number of detector runs of a finder. After kMaxRunsToConfirm runs, faces of the first
// pass that the detector would have to confirm are dropped. The remaining runs are reserved for the
// following passes.
constexpr int kMaxDetectorRuns = 480;
constexpr int kMaxRunsToConfirm = 240;

// State that the detection passes over one image share. Not thread-safe. Engine, image and options
// must outlive it.
class Finder {
 public:
  Finder(const Engine& engine, Image& image, const AnalyseOptions& options)
      : engine_(engine), image_(image), options_(options) {}

  // Runs a detector of the engine on a view. Returns nothing after kMaxDetectorRuns, or if the
  // budget is spent.
  std::vector<Detection> detect(const Detector& detector, const View& view, float min_score);

  // Confirms a face of the first pass. A rotated face gets a new box and found_by `rotated`.
  // Returns nothing for an unconfirmed face. `beside_upright`: another face of the image is known
  // to be upright, so this face is not tried in other rotations.
  std::optional<Confirmed> confirm(const Detection& detection, bool beside_upright);

  // Detects the face again in a close-up, rotated upright by `roll`, and requires landmarks that
  // are plausible and stable. Box, score and points of the result are those of the close-up.
  // If only the landmarks fail, as on blurred faces, half-hidden ones and profiles, sets `unstable`
  // (if given) to the face.
  std::optional<FoundFace> verify(const Detection& detection, float roll, bool contrast_stretched,
                                  std::optional<FoundFace>* unstable = nullptr);

  // Detects a face of the close detector again, unrotated, and requires stable landmarks. Such
  // faces are turned, covered or blurred, so the limit is less strict. The engine must have a close
  // detector.
  std::optional<FoundFace> verify_close(const Detection& detection);

  const Engine& engine() const { return engine_; }
  Image& image() { return image_; }
  const Image& image() const { return image_; }
  const AnalyseOptions& options() const { return options_; }
  int detector_runs() const { return detector_runs_; }

  // Records that the whole image was searched for faces with a longer side of at least `side`
  // pixels. `quarters`: their rotation, in clockwise steps of 90 degrees. Does nothing if the
  // budget is spent.
  void searched(size_t quarters, float side) {
    if (!timed_out()) coverage_.searched(quarters, side);
  }
  // Returns the coverage of all passes of this finder.
  Coverage coverage() const {
    Coverage coverage = coverage_;
    coverage.timed_out = is_incomplete();
    return coverage;
  }

  // Records the detections in the whole image that are at least kHintSide large in the detector's
  // frame (see proposals.h), best first.
  void set_candidates(std::vector<Detection> detections) { candidates_ = std::move(detections); }
  const std::vector<Detection>& candidates() const { return candidates_; }

  // Returns true if the budget is spent, which ends the search.
  bool timed_out();
  // Returns true if timed_out() has returned true, or if more detector runs were needed than
  // allowed.
  bool is_incomplete() const { return timed_out_ || runs_used_up_; }

 private:
  struct Test;
  static const std::array<Test, 5> kTests;
  std::optional<Detection> redetect(const Detector& detector, const View& view,
                                    const Box& expected);
  std::optional<Detection> redetect_close(const Box& expected, float roll);
  View pixels_of(const Box& box);
  float misfit(const FoundFace& face) const;
  float measure(const View& view, const FoundFace& face,
                std::span<const Perturbation> perturbations) const;
  bool is_clear(FoundFace& face);
  bool is_quickly_stable(FoundFace& face);
  bool is_thoroughly_stable(FoundFace& face);
  bool has_likely_roll(FoundFace& face);
  bool is_redetected(FoundFace& face);
  bool may_confirm_by_detector();
  void predict_landmarks_again(FoundFace& face, float roll);
  std::optional<FoundFace> redetect_upright(const Detection& detection, float roll,
                                            bool contrast_stretched, View& view);

  const Engine& engine_;
  Image& image_;
  const AnalyseOptions& options_;
  bool timed_out_ = false;
  bool runs_used_up_ = false;
  int detector_runs_ = 0;
  Coverage coverage_;
  std::vector<Detection> candidates_;
};

}  // namespace facematch
