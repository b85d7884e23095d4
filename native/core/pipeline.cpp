#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "embed/quality.h"
#include "error.h"
#include "find/fallback.h"
#include "find/resolution.h"
#include "image/contrast.h"
#include "image/decode.h"
#include "runtime/timer.h"

namespace facematch {
namespace {

struct FoundFace {
  Candidate candidate;
  Face face;
  cv::Mat chip;
};

const Detection& detection_of(const Detection& detection) { return detection; }
const Detection& detection_of(const Candidate& candidate) { return candidate.detection; }
const Detection& detection_of(const FoundFace& found) { return found.candidate.detection; }

// Largest first, at most kMaxFaces.
template <typename Found>
void order(std::vector<Found>& found) {
  const auto weight = [](const Found& one) {
    const Detection& detection = detection_of(one);
    return detection.box.area() * detection.score;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return weight(a) > weight(b); });
  if (found.size() > kMaxFaces) found.resize(kMaxFaces);
}

template <typename Found>
bool any_upright(const std::vector<Found>& found) {
  return std::any_of(found.begin(), found.end(), [](const Found& one) {
    return detection_of(one).found_by == FoundBy::kPrimary;
  });
}

// Takes one picture through the stages.
class Analyser {
 public:
  Analyser(const Engine& engine, Bytes bytes, const AnalyseOptions& options)
      : engine_(engine),
        bytes_(bytes),
        options_(options),
        budget_(options.picture_ms, options.cancelled) {}

  Analysis run() {
    decode_stage(side_for_detector(engine_.pack));
    Verifier verifier(engine_, image_.bgr, options_, budget_);
    auto detections = detect_stage(verifier);
    const float finer = finer_stage(side_for_faces(engine_.pack, image_, detections));
    for (Detection& detection : detections) detection = scaled(detection, finer);
    if (finer > 1) verifier.use(image_.bgr);
    auto candidates = confirm_stage(verifier, detections);
    std::vector<FoundFace> faces;
    if (any_upright(candidates)) {
      faces = human_faces(candidates);
      candidates.clear();
      for (const FoundFace& face : faces) candidates.push_back(face.candidate);
    }
    if (options_.use_heuristic_fallback && !any_upright(faces)) {
      faces = run_fallback(verifier, std::move(candidates));
    }
    return report(std::move(faces), verifier.was_cut_short());
  }

 private:
  void decode_stage(int wanted_side) {
    const Timer timer(timings_.decode);
    image_ = {};  // frees the memory of a coarser copy first
    image_ = decode(bytes_, options_.limits, wanted_side, budget_);
  }

  // Decodes the picture again at a larger scale when its longer side has less than `side` pixels.
  // Returns the ratio of the new scale to the old one.
  float finer_stage(int side) {
    const float before = image_.scale;
    if (before < 1 && side > std::max(image_.bgr.cols, image_.bgr.rows)) decode_stage(side);
    return image_.scale / before;
  }

  // The first pass. A huge picture is shrunk once for all passes.
  std::vector<Detection> detect_stage(Verifier& verifier) {
    const Timer timer(timings_.detect);
    const View whole{.bgr = image_.bgr, .to_picture = {}};
    const View& view = is_huge(image_.bgr) ? verifier.scales().detail() : whole;
    auto detections = engine_.detector.detect(view.bgr, options_.min_det_score);
    for (Detection& detection : detections) detection.box = moved(detection.box, view.to_picture);
    order(detections);
    return detections;
  }

  // Finds landmarks and drops what is not a face.
  std::vector<Candidate> confirm_stage(Verifier& verifier,
                                       const std::vector<Detection>& detections) {
    const Timer timer(timings_.align);
    std::vector<Candidate> candidates;
    for (const Detection& detection : detections) {
      const auto candidate = verifier.confirm(detection);
      if (!candidate) continue;
      // Without the fallback rotated faces are dropped: unrotated, they cannot be compared.
      const bool rotated = candidate->detection.found_by != FoundBy::kPrimary;
      if (options_.use_heuristic_fallback || !rotated) candidates.push_back(*candidate);
    }
    return candidates;
  }

  // Runs the fallback steps until one finds a human face. `rotated`: faces of the first pass that
  // are not upright; the first step looks for others like them in the same picture.
  std::vector<FoundFace> run_fallback(Verifier& verifier, std::vector<Candidate> rotated) {
    if (verifier.cut_short()) return human_faces(std::move(rotated));
    // The fallback searches parts of the picture for small faces.
    const float finer = finer_stage(std::max(image_.width, image_.height));
    for (Candidate& candidate : rotated) candidate = scaled(candidate, finer);
    verifier.use(image_.bgr);
    std::vector<FoundFace> faces;
    for (size_t step = 0; step < kFallbackSteps && faces.empty(); ++step) {
      if (verifier.cut_short()) break;
      faces = human_faces(fallback_stage(verifier, step, std::exchange(rotated, {})));
    }
    return faces;
  }

  std::vector<Candidate> fallback_stage(Verifier& verifier, size_t step,
                                        std::vector<Candidate> found) {
    const Timer timer(timings_.detect);
    return run_fallback_step(verifier, step, std::move(found));
  }

  // The candidates that are human faces, largest first.
  std::vector<FoundFace> human_faces(std::vector<Candidate> candidates) {
    order(candidates);
    auto faces = align_stage(candidates);
    embed_stage(faces);
    std::erase_if(faces, [&](const FoundFace& one) {
      const auto& score = one.face.human_score;
      return score && !engine_.human.passes(*score);
    });
    return faces;
  }

  std::vector<FoundFace> align_stage(const std::vector<Candidate>& candidates) {
    const Timer timer(timings_.align);
    const float up = 1 / image_.scale;               // decoded pixels -> pixels of the full picture
    const Point middle((up - 1) / 2, (up - 1) / 2);  // of the full pixels that a decoded one covers
    std::vector<FoundFace> faces;
    for (const Candidate& candidate : candidates) {
      const Landmarks five = five_points(candidate.points);
      const Similarity alignment = engine_.embedder.align(five);
      cv::Mat chip;
      engine_.embedder.chip(image_.bgr, alignment, chip);
      const float side = static_cast<float>(engine_.embedder.chip_size()) / alignment.scale();
      const Box& box = candidate.detection.box;
      Face face;
      face.box = {box.x * up, box.y * up, box.width * up, box.height * up};
      face.landmarks = {five.right_eye * up + middle, five.left_eye * up + middle,
                        five.nose * up + middle, five.mouth_right * up + middle,
                        five.mouth_left * up + middle};
      face.detection_score = candidate.detection.score;
      face.found_by = candidate.detection.found_by;
      face.pose = estimate_pose(candidate.points);
      // Quality describes the original picture; only the embedding uses the stretched one.
      face.quality = measure_quality(chip, side * up);
      if (candidate.contrast_stretched) chip = stretch_contrast(chip);
      faces.push_back({.candidate = candidate, .face = std::move(face), .chip = chip});
    }
    return faces;
  }

  // Embeds every face: the human check needs the embedding.
  void embed_stage(std::vector<FoundFace>& faces) {
    const Timer timer(timings_.embed);
    const bool mirror = options_.accuracy_mode == AccuracyMode::kBalance;
    for (auto& [candidate, face, chip] : faces) {
      if (budget_.cancelled()) throw Error(ErrorCode::kImageTooComplex);
      face.embedding = engine_.embedder.embed(chip, mirror);
      face.cohort_score = engine_.cohort.score(face.embedding);
      face.human_score = engine_.human.score(face.embedding);
    }
  }

  Analysis report(std::vector<FoundFace> found, bool look_cut_short) const {
    Analysis analysis{.width = image_.width,
                      .height = image_.height,
                      .format = image_.format,
                      .orientation = image_.orientation,
                      .faces = {},
                      .look_cut_short = look_cut_short,
                      .timings_ms = timings_};
    for (FoundFace& one : found) analysis.faces.push_back(std::move(one.face));
    return analysis;
  }

  const Engine& engine_;
  const Bytes bytes_;
  const AnalyseOptions& options_;
  const Budget budget_;
  Image image_;
  StageTimings timings_;
};

}  // namespace

Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options) {
  return Analyser(engine, bytes, options).run();
}

}  // namespace facematch
