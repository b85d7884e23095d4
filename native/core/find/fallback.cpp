#include "fallback.h"

#include <algorithm>
#include <array>

#include "../image/contrast.h"

namespace facematch {
namespace {

// Below this longer side of the picture, small tiles show no more detail than the large ones.
constexpr int kLeastForSmallTiles = 900;

// Lower than a face needs: the verifier decides.
constexpr float kProposalScore = 0.5f;
constexpr size_t kMostProposals = 16;  // that a step verifies, best first
constexpr float kSameFace = 0.4f;      // intersection over union

constexpr std::array kPaddedShares = {0.5f, 0.3f};

using Views = std::vector<View>;

void add_rotated(Views& views, const View& view, int first) {
  for (int quarters = first; quarters < 4; ++quarters) views.push_back(rotated(view, quarters));
}

Views rotated_views(Scales& scales) {
  Views views;
  add_rotated(views, scales.overview(), 1);
  return views;
}

Views padded_views(Scales& scales) {
  Views views;
  for (const float share : kPaddedShares) add_rotated(views, padded(scales.overview(), share), 0);
  return views;
}

Views enhanced_views(Scales& scales) {
  Views views;
  View view = scales.overview();
  view.bgr = stretch_contrast(view.bgr);
  add_rotated(views, view, 0);
  view.bgr = equalised(view.bgr);
  add_rotated(views, view, 0);
  return views;
}

Views large_tiles(Scales& scales) { return tiles(scales.detail(), 2); }

Views small_tiles(Scales& scales) {
  const View& view = scales.detail();
  if (std::max(view.bgr.cols, view.bgr.rows) < kLeastForSmallTiles) return {};
  return tiles(view, 5);
}

struct Step {
  FoundBy found_by;
  Views (*views)(Scales& scales);
  bool contrast_stretched;  // stretches close-ups and chips too
};

// Most likely first, most expensive last. Rotation is common and costs three detector runs; tiles
// cost 29 and find false faces in foliage. The padded and enhanced steps also rotate, which is
// cheap; tiles do not.
constexpr std::array kSteps = {
    Step{FoundBy::kRotated, rotated_views, false}, Step{FoundBy::kPadded, padded_views, false},
    Step{FoundBy::kEnhanced, enhanced_views, true}, Step{FoundBy::kTiled, large_tiles, false},
    Step{FoundBy::kTiled, small_tiles, false}};
static_assert(kSteps.size() == kFallbackSteps);

struct Proposal {
  Detection detection;
  float roll;
};

std::vector<Proposal> proposals_of(Verifier& verifier, const Views& views) {
  std::vector<Proposal> all;
  for (const View& view : views) {
    for (const Detection& detection : verifier.detect(view, kProposalScore)) {
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
    if (kept.size() == kMostProposals) break;
  }
  return kept;
}

// Several views may show the same face, also in different rotations: the candidate with the most
// stable landmarks is right.
std::vector<Candidate> most_stable(std::vector<Candidate> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.instability < b.instability; });
  std::vector<Candidate> kept;
  for (const Candidate& candidate : candidates) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Candidate& better) {
      return intersection_over_union(better.detection.box, candidate.detection.box) > kSameFace;
    });
    if (!known) kept.push_back(candidate);
  }
  return kept;
}

}  // namespace

std::vector<Candidate> run_fallback_step(Verifier& verifier, size_t number,
                                         std::vector<Candidate> found) {
  const Step& step = kSteps.at(number);
  const Views views = step.views(verifier.scales());
  for (const Proposal& proposal : proposals_of(verifier, views)) {
    if (verifier.cut_short()) break;
    auto candidate = verifier.verify(proposal.detection, proposal.roll, step.contrast_stretched);
    if (!candidate) continue;
    candidate->detection.found_by = step.found_by;
    found.push_back(*candidate);
  }
  return most_stable(std::move(found));
}

}  // namespace facematch
