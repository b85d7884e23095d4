#include "proposals.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "same_face.h"

namespace facematch {
namespace {

// Minimum score of a proposal. It may be below a pack's min_det_score, because Finder::verify()
// checks each proposal.
constexpr float kProposalScore = 0.5f;
constexpr size_t kMaxProposals = 2 * kMaxFaces;  // per pass, best first
constexpr float kSameBox = 0.4f;                 // intersection over union

// Side of an enlarged hint in pixels; the face fills half of it. Twelve hints fit into a frame of
// 320 x 240.
constexpr int kSlot = 80;

constexpr float kSameRoll = 45;  // degrees apart

// An upright hint that scores at least kLikelyHint, such as a face that looks down, must score only
// kLikelyScore when enlarged. On pages of 11 to 49 people, 89 of 96 are found; without this
// rule, 85. With kLikelyScore for every hint, 91 are found, but a false hint costs 14 of 37 ms on a
// 12-megapixel photo.
constexpr float kLikelyHint = 0.4f;
constexpr float kLikelyScore = 0.6f;

bool is_known(const std::vector<Proposal>& proposals, const Proposal& one) {
  return std::any_of(proposals.begin(), proposals.end(), [&](const Proposal& better) {
    return better.roll == one.roll &&
           intersection_over_union(better.detection.box, one.detection.box) > kSameBox;
  });
}

// Returns the detections in each enlarged hint, in pixels of the image. The hints are side by side
// in one frame, in squares of `slot` pixels, so that one detector run searches all of them.
std::vector<std::vector<Detection>> detect_enlarged(Finder& finder, const Detector& detector,
                                                    std::span<const Hint> hints, int slot) {
  cv::Mat sheet(detector.spec().height, detector.spec().width, CV_8UC3, cv::Scalar::all(0));
  const int columns = sheet.cols / slot;
  std::vector<Similarity> to_image;
  for (const auto& [proposal, pixels] : hints) {
    const int index = static_cast<int>(to_image.size());
    const cv::Point corner(index % columns * slot, index / columns * slot);
    const Box& box = proposal.detection.box;
    const Similarity crop = square_crop(box.centre(), 2 * box.longer_side(), proposal.roll, slot);
    cv::Mat closeup;
    pixels->crop(crop, slot, closeup, Outside::kMean);
    closeup.copyTo(sheet(cv::Rect(corner, closeup.size())));
    const Similarity from_corner{.tx = -static_cast<float>(corner.x),
                                 .ty = -static_cast<float>(corner.y)};
    to_image.push_back(from_corner.then(crop.inverse()));
  }
  std::vector<std::vector<Detection>> seen(hints.size());
  for (Detection detection : finder.detect(detector, View(sheet), kLikelyScore)) {
    const Point centre = detection.box.centre();
    const int column = static_cast<int>(std::max(0.0f, centre.x)) / slot;
    const int row = static_cast<int>(std::max(0.0f, centre.y)) / slot;
    const auto index = static_cast<size_t>(row * columns + column);
    if (column >= columns || index >= hints.size()) continue;
    detection.box = moved(detection.box, to_image[index]);
    seen[index].push_back(detection);
  }
  return seen;
}

}  // namespace

float scale_in_frame(const Finder& finder, size_t quarters) {
  const DetectorSpec& frame = finder.engine().detector.spec();
  int width = finder.image().width(), height = finder.image().height();
  if (quarters % 2 == 1) std::swap(width, height);
  return std::min(static_cast<float>(frame.width) / static_cast<float>(width),
                  static_cast<float>(frame.height) / static_cast<float>(height));
}

void mark_rotations_searched(Finder& finder, float side_in_frame) {
  for (size_t quarters = 1; quarters < 4; ++quarters) {
    finder.searched(quarters, side_in_frame / scale_in_frame(finder, quarters));
  }
}

bool is_known(const std::vector<FoundFace>& faces, const Box& box) {
  return std::any_of(faces.begin(), faces.end(),
                     [&](const FoundFace& face) { return overlap(face.detection.box, box); });
}

void decode_parts_for(Finder& finder, const std::vector<Detection>& detections) {
  std::vector<Part> parts;
  for (const Detection& detection : detections) {
    parts.push_back(finder.engine().embedder.part_for(detection.box));
  }
  finder.image().decode_parts(parts);
}

void verify_new(Finder& finder, const std::vector<Proposal>& proposals, FoundBy found_by,
                std::vector<FoundFace>& faces) {
  std::vector<Proposal> unknown;
  std::vector<Unstable> unstable;
  std::vector<Detection> detections;
  for (const Proposal& proposal : proposals) {
    if (is_known(faces, proposal.detection.box)) continue;
    unknown.push_back(proposal);
    detections.push_back(proposal.detection);
  }
  decode_parts_for(finder, detections);
  for (const Proposal& proposal : unknown) {
    if (finder.timed_out()) return;
    if (is_known(faces, proposal.detection.box)) continue;
    std::optional<FoundFace> seen;
    auto face = finder.verify(proposal.detection, proposal.roll, false, &seen);
    if (face) {
      face->detection.found_by = found_by;
      append_new(faces, {std::move(*face)});
    } else if (seen) {
      unstable.push_back({proposal, std::move(*seen)});
    }
  }
  append_beside(std::move(unstable), found_by, faces);
}

void append_beside(std::vector<Unstable> unstable, FoundBy found_by,
                   std::vector<FoundFace>& faces) {
  const size_t known = faces.size();
  for (auto& [proposal, face] : unstable) {
    const auto others = std::span(faces).first(known);
    const bool beside =
        std::any_of(others.begin(), others.end(), [roll = proposal.roll](const FoundFace& other) {
          return degrees_from(roll, five_points(other.points)) <= kSameRoll;
        });
    if (!beside || is_known(faces, proposal.detection.box)) continue;
    face.detection.found_by = found_by;
    append_new(faces, {std::move(face)});
  }
}

std::vector<Proposal> enlarged_hints(Finder& finder, const Detector& detector,
                                     std::vector<Hint> hints) {
  std::stable_sort(hints.begin(), hints.end(), [](const Hint& a, const Hint& b) {
    return a.proposal.detection.score > b.proposal.detection.score;
  });
  const int width = detector.spec().width, height = detector.spec().height;
  const int slot = std::min({kSlot, width, height});
  const auto slots = static_cast<size_t>(width / slot) * static_cast<size_t>(height / slot);
  std::vector<Proposal> kept;
  for (size_t first = 0; first < hints.size(); first += slots) {
    const auto some = std::span(hints).subspan(first, std::min(slots, hints.size() - first));
    const auto seen = detect_enlarged(finder, detector, some, slot);
    const size_t before = kept.size();
    for (size_t i = 0; i < some.size(); ++i) {
      const auto& [hint, roll] = some[i].proposal;
      const bool likely = roll == 0 && hint.score >= kLikelyHint;
      const float min_score = likely ? kLikelyScore : detector.spec().second_look_score;
      for (const Detection& detection : seen[i]) {
        if (detection.score < min_score || !overlap(detection.box, hint.box)) continue;
        kept.push_back({detection, roll});
        break;
      }
    }
    if (kept.size() == before) break;
  }
  return kept;
}

std::vector<Proposal> proposals_of(Finder& finder, const Detector& detector,
                                   const std::vector<View>& views, Hints hints,
                                   const std::vector<FoundFace>& known, const View* pixels) {
  std::vector<Proposal> all;
  std::vector<Hint> weak;
  for (const View& view : views) {
    const float min_score = hints == Hints::kEnlarged ? kHintScore : kProposalScore;
    for (const Detection& detection : finder.detect(detector, view, min_score)) {
      if (is_known(known, detection.box)) continue;
      const Proposal proposal{detection, view.roll()};
      if (detection.score < kProposalScore) {
        weak.push_back({proposal, pixels == nullptr ? &view : pixels});
      } else {
        all.push_back(proposal);
      }
    }
  }
  for (Proposal& proposal : enlarged_hints(finder, detector, std::move(weak))) {
    all.push_back(std::move(proposal));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.detection.score > b.detection.score;
  });
  std::vector<Proposal> kept;
  for (const Proposal& proposal : all) {
    if (!is_known(kept, proposal)) kept.push_back(proposal);
    if (kept.size() == kMaxProposals) break;
  }
  return kept;
}

}  // namespace facematch
