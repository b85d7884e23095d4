#include "fallback.h"

#include <algorithm>
#include <array>

#include "levels.h"

namespace facematch {
namespace {

// Smaller tiles than the large ones show no more of a picture whose longer side is below this.
constexpr int kLeastForSmallTiles = 900;

// What a look only suggests may score less than a face has to: the second look decides.
constexpr float kSuggestion = 0.5f;
constexpr size_t kMostSuggestions = 16;  // that a step may examine, best first
constexpr float kSameFace = 0.4f;        // intersection over union

constexpr std::array kPaddedShares = {0.5f, 0.3f};

using Views = std::vector<View>;

void add_turned(Views& views, const View& view, int first) {
  for (int quarters = first; quarters < 4; ++quarters) views.push_back(turned(view, quarters));
}

Views rotated_views(Scales& scales) {
  Views views;
  add_turned(views, scales.overview(), 1);
  return views;
}

Views padded_views(Scales& scales) {
  Views views;
  for (const float share : kPaddedShares) add_turned(views, padded(scales.overview(), share), 0);
  return views;
}

Views enhanced_views(Scales& scales) {
  Views views;
  View view = scales.overview();
  view.bgr = levelled(view.bgr);
  add_turned(views, view, 0);
  view.bgr = equalised(view.bgr);
  add_turned(views, view, 0);
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
  bool levelled;  // whether close-ups and chips are levelled as well
};

// Likeliest first, dearest last: phones turn pictures daily and a turn costs three looks, where
// tiles cost 29 and see faces in leaves. Turned close-ups, dark ones and pale ones cost little
// more than upright ones, so those steps turn too; tiles do not.
constexpr std::array kSteps = {
    Step{FoundBy::kRotated, rotated_views, false}, Step{FoundBy::kPadded, padded_views, false},
    Step{FoundBy::kEnhanced, enhanced_views, true}, Step{FoundBy::kTiled, large_tiles, false},
    Step{FoundBy::kTiled, small_tiles, false}};

struct Suggestion {
  Detection detection;
  float lean;
};

std::vector<Suggestion> suggestions_of(Examiner& examiner, const Views& views) {
  std::vector<Suggestion> all;
  for (const View& view : views) {
    for (const Detection& detection : examiner.look(view, kSuggestion)) {
      all.push_back({detection, view.lean()});
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.detection.score > b.detection.score;
  });
  std::vector<Suggestion> kept;
  for (const Suggestion& suggestion : all) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Suggestion& better) {
      return better.lean == suggestion.lean &&
             overlap(better.detection.box, suggestion.detection.box) > kSameFace;
    });
    if (!known) kept.push_back(suggestion);
    if (kept.size() == kMostSuggestions) break;
  }
  return kept;
}

// A face may be seen in several views, turned ones too: where its landmarks hold stillest is right.
std::vector<Sighting> stillest(std::vector<Sighting> sightings) {
  std::stable_sort(sightings.begin(), sightings.end(),
                   [](const auto& a, const auto& b) { return a.wobble < b.wobble; });
  std::vector<Sighting> kept;
  for (const Sighting& sighting : sightings) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Sighting& better) {
      return overlap(better.detection.box, sighting.detection.box) > kSameFace;
    });
    if (!known) kept.push_back(sighting);
  }
  return kept;
}

}  // namespace

std::vector<Sighting> climb(Examiner& examiner, std::vector<Sighting> found) {
  for (const Step& step : kSteps) {
    const Views views = step.views(examiner.scales());
    for (const Suggestion& suggestion : suggestions_of(examiner, views)) {
      auto sighting = examiner.examine(suggestion.detection, suggestion.lean, step.levelled);
      if (!sighting) continue;
      sighting->detection.found_by = step.found_by;
      found.push_back(*sighting);
    }
    if (!found.empty()) return stillest(std::move(found));
  }
  return {};
}

}  // namespace facematch
