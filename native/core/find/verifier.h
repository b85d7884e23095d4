// Decides whether a detection is a face, and how it is rotated.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../engine.h"
#include "../image/view.h"
#include "../runtime/budget.h"
#include "landmark_check.h"

namespace facematch {

// A face between detection and alignment.
struct Candidate {
  Detection detection;
  Points68 points;                  // in pixels of the picture, as the detection's box
  float instability = 0;            // see landmark_check.h
  bool contrast_stretched = false;  // found in a stretched view; the chip is stretched too
};

// The most detector runs on any picture after the first pass, and how many of them may confirm what
// the first pass found; the rest is for the fallback.
constexpr int kMostDetectorRuns = 120;
constexpr int kMostToConfirm = 40;

// Verifies the detections of one picture and counts the detector's runs. For one thread; the
// picture must outlive it.
class Verifier {
 public:
  Verifier(const Engine& engine, const cv::Mat& bgr, const AnalyseOptions& options,
           const Budget& budget = {});

  // Runs the detector on a view; boxes are in pixels of the picture. Nothing after
  // kMostDetectorRuns or when the budget is used up.
  std::vector<Detection> detect(const View& view, float min_score);

  // Confirms a face of the first pass; call it for the largest first. A clear face is accepted;
  // otherwise stable landmarks are required (one or six more runs of the landmark net). An unstable
  // one is tried in four directions and returned rotated (found_by `rotated`), unchanged, or not at
  // all. Beside an upright face one more detection is enough. After kMostToConfirm runs faces are
  // accepted unchecked.
  std::optional<Candidate> confirm(const Detection& detection);

  // Detects the face again in a close-up, rotated upright by `roll`, and requires landmarks that
  // are plausible and stable. Box, score and points of the result are those of the close-up.
  std::optional<Candidate> verify(const Detection& candidate, float roll, bool contrast_stretched);

  // Continues on a larger copy of the same picture.
  void use(const cv::Mat& bgr);

  Scales& scales() { return scales_; }
  int detector_runs() const { return detector_runs_; }

  // Checks the budget: when it is used up, the search ends.
  bool cut_short();
  // Whether cut_short() has returned true.
  bool was_cut_short() const { return cut_short_; }

 private:
  struct MeasuredLandmarks {
    Points68 points;  // pixels of the view
    float instability = 0;
  };

  bool clear(const Candidate& candidate) const;
  bool stable(const Candidate& candidate, std::span<const Perturbation> perturbations,
              float most) const;
  bool redetected(const Detection& detection);
  MeasuredLandmarks find_landmarks(const View& view, const Box& box, float roll) const;
  std::optional<Candidate> try_rotations(const Candidate& plain);
  std::optional<Detection> redetect(const View& view, const Box& expected);

  const Engine& engine_;
  cv::Mat bgr_;
  const AnalyseOptions& options_;
  Budget budget_;
  bool cut_short_ = false;
  Scales scales_;
  int detector_runs_ = 0;
  bool upright_seen_ = false;
};

}  // namespace facematch
