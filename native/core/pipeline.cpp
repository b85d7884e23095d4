#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "contrast.h"
#include "decode.h"
#include "error.h"
#include "fallback.h"
#include "quality.h"
#include "resolution.h"
#include "timer.h"

namespace facematch {
namespace {

// A face on its way to the answer.
struct FoundFace {
  Candidate candidate;
  Face face;
  cv::Mat chip;
};

const Detection& detection_of(const Detection& detection) { return detection; }
const Detection& detection_of(const Candidate& candidate) { return candidate.detection; }
const Detection& detection_of(const FoundFace& found) { return found.candidate.detection; }

// Largest first, and no more than an answer lists.
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

// One picture on its way through the stages.
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
    image_ = {};  // its memory, before there is another
    image_ = decode(bytes_, options_.limits, wanted_side, budget_);
  }

  // Decodes the picture again where it is less than `side` pixels long, and answers how many times
  // finer it is then.
  float finer_stage(int side) {
    const float before = image_.scale;
    if (before < 1 && side > std::max(image_.bgr.cols, image_.bgr.rows)) decode_stage(side);
    return image_.scale / before;
  }

  // A huge picture is shrunk once for all looks.
  std::vector<Detection> detect_stage(Verifier& verifier) {
    const Timer timer(timings_.detect);
    const View whole{.bgr = image_.bgr, .to_picture = {}};
    const View& view = is_huge(image_.bgr) ? verifier.scales().detail() : whole;
    auto detections = engine_.detector.detect(view.bgr, options_.min_det_score);
    for (Detection& detection : detections) detection.box = moved(detection.box, view.to_picture);
    order(detections);
    return detections;
  }

  // Landmarks, and whether they lie on a face.
  std::vector<Candidate> confirm_stage(Verifier& verifier,
                                       const std::vector<Detection>& detections) {
    const Timer timer(timings_.align);
    std::vector<Candidate> candidates;
    for (const Detection& detection : detections) {
      const auto candidate = verifier.confirm(detection);
      if (!candidate) continue;
      // Without the fallback a turned face is none: nothing good comes of comparing it as it is.
      const bool rotated = candidate->detection.found_by != FoundBy::kPrimary;
      if (options_.use_heuristic_fallback || !rotated) candidates.push_back(*candidate);
    }
    return candidates;
  }

  // The step that shows a human face is the last one. `turned`: what the first look found that is
  // not upright. With such a face only the first step is tried, for others in the same picture.
  std::vector<FoundFace> run_fallback(Verifier& verifier, std::vector<Candidate> rotated) {
    if (verifier.cut_short()) return human_faces(std::move(rotated));
    // The ladder looks at parts of the picture, and at faces that are small in it.
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

  // The candidates that are of human faces, largest first.
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
    const Point middle((up - 1) / 2, (up - 1) / 2);  // of the pixels that a decoded one stands for
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
      // Quality is the picture's own; only the embedding gets what helps it.
      face.quality = measure_quality(chip, side * up);
      if (candidate.contrast_stretched) chip = stretch_contrast(chip);
      faces.push_back({.candidate = candidate, .face = std::move(face), .chip = chip});
    }
    return faces;
  }

  // Every face: only its embedding tells whether it is a human one.
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
