#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "embed/quality.h"
#include "error.h"
#include "find/looks.h"
#include "image/contrast.h"
#include "image/picture.h"
#include "runtime/timer.h"

namespace facematch {
namespace {

// Grey levels that a chip must span, or it is stretched. Every chip of the development sets spans
// more; in copies darkened to a quarter and to 0.15 the cosine to the original is 0.988 and 0.985
// in the mean, 0.884 and 0.738 without (London and ages of people, mode balance).
constexpr int kMinRange = 110;

// Takes one picture through the stages.
class Analyser {
 public:
  Analyser(const Engine& engine, Bytes bytes, const AnalyseOptions& options)
      : engine_(engine),
        options_(options),
        picture_(bytes, options.limits, side_for_first_look(engine.pack),
                 Budget(options.picture_ms, options.cancelled)),
        finder_(engine, picture_, options) {}

  Analysis run() {
    const auto all = looks(options_.use_heuristic_fallback);
    for (const Look& look : all) {
      look_once(finder_, look, faces_, timings_);
      const bool last = &look == &all.back() || finder_.cut_short();
      // Faces that do not end the search are embedded only when there is no further look.
      if (!last && !ends_search(look, faces_)) continue;
      align_stage();
      embed_stage();
      if (last || ends_search(look, faces_)) break;
    }
    if (options_.detect_presentation_attack) liveness_stage();
    return report();
  }

 private:
  void align_stage() {
    const Timer timer(timings_.align, picture_.decode_ms());
    order(faces_);
    float scale = 0;
    for (const FoundFace& found : faces_) {
      scale = std::max(scale, engine_.embedder.scale_for(found.detection.box));
    }
    picture_.refine(scale);
    for (FoundFace& found : faces_) align(found);
  }

  void align(FoundFace& found) {
    const Landmarks five = five_points(found.points);
    const Similarity alignment = engine_.embedder.align(five);
    engine_.embedder.chip(picture_.for_crops(alignment.scale()), alignment, found.chip);
    const float face_pixels = static_cast<float>(engine_.embedder.chip_size()) / alignment.scale();
    found.face = {.box = found.detection.box,
                  .landmarks = five,
                  .detection_score = found.detection.score,
                  .found_by = found.detection.found_by,
                  .human_score = {},
                  .occlusion_score = {},
                  .live_score = {},
                  .pose = unflattened(estimate_pose(found.points)),
                  // Of the original chip; only the embedding uses the stretched one.
                  .quality = measure_quality(found.chip, face_pixels),
                  .embedding = {}};
    found.chip = stretch_contrast(found.chip, kMinRange);
  }

  // Embeds every face, because the human check needs the embedding, and drops what is not human.
  void embed_stage() {
    const Timer timer(timings_.embed);
    const bool mirror = options_.accuracy_mode == AccuracyMode::kBalance;
    for (FoundFace& found : faces_) {
      if (picture_.budget().cancelled()) throw Error(ErrorCode::kImageTooComplex);
      Face& face = found.face;
      face.embedding = engine_.embedder.embed(found.chip, mirror);
      face.cohort_score = engine_.cohort.score(face.embedding);
      face.human_score = engine_.human.score(face.embedding);
      face.occlusion_score = engine_.occlusion.score(face.embedding);
    }
    std::erase_if(faces_, [&](const FoundFace& found) {
      const auto& score = found.face.human_score;
      return score && *score < engine_.pack.human->bar;
    });
  }

  // Of the faces that are left. Its time counts as embedding, that of a finer decoding as decoding.
  void liveness_stage() {
    if (!engine_.liveness.present() || faces_.empty()) return;
    const Timer timer(timings_.embed, picture_.decode_ms());
    for (FoundFace& found : faces_) {
      found.face.live_score = engine_.liveness.score(picture_, found.face.box);
    }
  }

  Analysis report() {
    timings_.decode = picture_.decode_ms();
    Analysis analysis{.width = picture_.width(),
                      .height = picture_.height(),
                      .format = picture_.format(),
                      .orientation = picture_.orientation(),
                      .faces = {},
                      .look_cut_short = finder_.was_cut_short() || picture_.was_cut_short(),
                      .timings_ms = timings_};
    for (FoundFace& found : faces_) analysis.faces.push_back(std::move(found.face));
    return analysis;
  }

  const Engine& engine_;
  const AnalyseOptions& options_;
  Picture picture_;
  Finder finder_;
  std::vector<FoundFace> faces_;
  StageTimings timings_;
};

}  // namespace

Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options) {
  return Analyser(engine, bytes, options).run();
}

}  // namespace facematch
