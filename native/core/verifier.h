// Whether what a detector saw is a face, and which way up it is.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "budget.h"
#include "engine.h"
#include "landmark_stability.h"
#include "view.h"

namespace facematch {

// A face on its way from the detector to the face chip.
struct Candidate {
  Detection detection;
  Points68 points;        // pixels of the picture that was looked at, as the detection's box
  float instability = 0;  // see landmark_stability.h
  bool contrast_stretched = false;  // found with the contrast raised; the chip needs that too
};

// Most runs of the detector on one picture after the first, whatever is in it. The first is for
// every picture; and so many of the others may go to what it found, the rest are the ladder's.
constexpr int kMostDetectorRuns = 120;
constexpr int kMostToConfirm = 40;

// Judges what is seen in one picture, and counts the detector's runs. For one thread, and for as
// long as the picture lives.
class Verifier {
 public:
  Verifier(const Engine& engine, const cv::Mat& bgr, const AnalyseOptions& options,
           const Budget& budget = {});

  // What the detector sees in a view of the picture, in pixels of the picture; nothing once
  // kMostDetectorRuns or the budget are spent.
  std::vector<Detection> detect(const View& view, float min_score);

  // A face that the first look found; the largest come first. One that is clear is taken as it is;
  // one whose landmarks hold still too, after one or six more runs of their net. Else it is looked
  // at more closely and in four directions: the candidate comes back turned (found_by `rotated`),
  // as it is, or not at all. Beside an upright face it need only be seen once more, for few lie
  // down where others stand. In a crowd, the smallest may come last, after kMostToConfirm runs, and
  // are taken as they are.
  std::optional<Candidate> confirm(const Detection& detection);

  // The plausibility check: a second look of the detector at a close-up, upright for a face that
  // leans by `lean` degrees, and landmarks that are laid out like a face and hold still. The
  // candidate's box, score and points are those of the second look.
  std::optional<Candidate> verify(const Detection& candidate, float roll, bool contrast_stretched);

  // Goes on with a finer copy of the same picture.
  void use(const cv::Mat& bgr);

  Scales& scales() { return scales_; }
  int detector_runs() const { return detector_runs_; }

  // Whether the budget is spent, so that what is left is not looked at. Asks the budget.
  bool cut_short();
  // Whether that was answered with yes.
  bool was_cut_short() const { return cut_short_; }

 private:
  struct Rotation {
    Points68 points;  // pixels of the close-up
    float instability = 0;
  };

  bool clear(const Candidate& candidate) const;
  bool stable(const Candidate& candidate, std::span<const Perturbation> perturbations,
              float most) const;
  bool redetected(const Detection& detection);
  Rotation try_rotation(const View& view, const Box& box, float roll) const;
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
