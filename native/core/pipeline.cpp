#include "pipeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "embed/quality.h"
#include "error.h"
#include "find/detection_passes.h"
#include "find/same_face.h"
#include "image/contrast.h"
#include "image/halftone.h"
#include "image/image.h"
#include "runtime/timer.h"

namespace facematch {
namespace {

// Grey levels that a chip must span, or it is stretched; chips of ordinary photos span more.
constexpr int kMinRange = 110;

// Takes one image through the stages.
class Analyser {
 public:
  Analyser(const Engine& engine, Bytes bytes, const AnalyseOptions& options)
      : engine_(engine),
        options_(options),
        image_(bytes, options.limits, side_for_first_pass(engine.pack),
               Budget(options.image_timeout_ms, options.cancelled)) {}

  // What is searched does not depend on min_det_score: a lower one adds faces, a higher one leaves
  // some out.
  Analysis run() {
    Finder finder(engine_, image_, options_);
    faces_ = find(image_, finder);
    smallest_side_ = finder.smallest_side();
    const float pitch = image_.two_tone_pitch();
    for (FoundFace& found : faces_) found.dot_pitch = std::max(found.dot_pitch, pitch);
    if (options_.use_heuristic_fallback) find_in_print(pitch);
    add_doubtful(finder, pitch);
    std::erase_if(faces_, [&](const FoundFace& found) {
      return found.face.detection_score < options_.min_det_score;
    });
    if (options_.detect_presentation_attack) liveness_stage();
    return report();
  }

 private:
  // The faces of an image, embedded.
  std::vector<FoundFace> find(Image& image, Finder& finder) {
    std::vector<FoundFace> faces;
    const auto passes = detection_passes(options_.use_heuristic_fallback);
    for (const DetectionPass pass : passes) {
      run_pass(pass, finder, faces, timings_);
      const bool last = pass == passes.back() || finder.cut_short();
      // Faces that do not end the search are embedded only when there is no further pass.
      if (!last && !ends_search(pass, faces)) continue;
      order(faces);
      align_stage(image, faces);
      faces_omitted_ = embed_stage(faces, kMaxFaces);
      if (last || ends_search(pass, faces)) break;
    }
    search_timed_out_ = search_timed_out_ || finder.was_cut_short();
    return faces;
  }

  // Looks again with the dots merged where an image without a face, or a face, is printed with
  // them. `pitch`: of two tones.
  void find_in_print(float pitch) {
    if (search_timed_out_) return;
    if (faces_.empty() || pitch > 0) pitch = std::max(pitch, pitch_of_image());
    for (const FoundFace& found : faces_) pitch = std::max(pitch, found.dot_pitch);
    if (!(pitch > 0)) return;
    Image merged = image_.without_dots(pitch);
    Finder finder(engine_, merged, options_);
    for (FoundFace& found : find(merged, finder)) {
      found.face.found_by = FoundBy::kEnhanced;
      found.face.quality.dot_pitch = pitch;
      faces_.push_back(std::move(found));
    }
    keep_one_of_each(faces_, [](const FoundFace& found) { return found.dot_pitch; });
    order(faces_);
    if (faces_.size() > kMaxFaces) {
      faces_omitted_ += static_cast<int>(faces_.size()) - kMaxFaces;
      faces_.resize(kMaxFaces);
    }
  }

  void add_doubtful(Finder& finder, float pitch) {
    if (search_timed_out_) return;
    std::vector<FoundFace> all = faces_;
    find_doubtful(finder, options_.min_det_score, all, timings_);
    std::vector<FoundFace> more(std::make_move_iterator(all.begin() + std::ssize(faces_)),
                                std::make_move_iterator(all.end()));
    if (more.empty()) return;
    align_stage(image_, more);
    for (FoundFace& found : more) found.dot_pitch = std::max(found.dot_pitch, pitch);
    faces_omitted_ = embed_stage(more, static_cast<size_t>(kMaxFaces) - faces_.size());
    std::move(more.begin(), more.end(), std::back_inserter(faces_));
    order(faces_);
  }

  float pitch_of_image() {
    const Timer timer(timings_.detect, image_.decode_ms());
    return image_.dot_pitch();
  }

  void align_stage(Image& image, std::vector<FoundFace>& faces) {
    const Timer timer(timings_.align, image.decode_ms());
    std::vector<Part> parts;
    for (const FoundFace& found : faces) {
      parts.push_back(engine_.embedder.part_for(found.detection.box));
    }
    image.decode_parts(parts);
    for (FoundFace& found : faces) align(image, found);
  }

  void align(Image& image, FoundFace& found) {
    const Landmarks five = five_points(found.points);
    const Similarity alignment = engine_.embedder.align(five);
    engine_.embedder.chip(image.decode_part(part_of(alignment, engine_.embedder.chip_size())),
                          alignment, found.chip);
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
    found.face.quality.stretch = stretch(found.points);
    found.dot_pitch = dot_pitch(found.chip) / alignment.scale();
    found.chip = stretch_contrast(found.chip, kMinRange);
  }

  // Embeds the faces in their order, because the human check needs the embedding, and drops what is
  // not human, until `most` are human or the time is used up. Returns how many faces are left.
  int embed_stage(std::vector<FoundFace>& faces, size_t most) {
    const Timer timer(timings_.embed);
    const bool mirror = options_.accuracy_mode == AccuracyMode::kBalance;
    size_t human = 0, next = 0;
    for (; next < faces.size() && human < most; ++next) {
      image_.budget().check_cancelled();
      if (human > 0 && image_.budget().spent()) {
        search_timed_out_ = true;
        break;
      }
      FoundFace& found = faces[next];
      Face& face = found.face;
      face.embedding = engine_.embedder.embed(found.chip, mirror);
      face.cohort_score = engine_.cohort.score(face.embedding);
      face.human_score = engine_.human.score(face.embedding);
      face.occlusion_score = engine_.occlusion.score(face.embedding);
      if (is_human(found)) ++human;
    }
    const int left = static_cast<int>(faces.size() - next);
    faces.resize(next);
    std::erase_if(faces, [&](const FoundFace& found) { return !is_human(found); });
    return left;
  }

  bool is_human(const FoundFace& found) const {
    const auto& score = found.face.human_score;
    return !score || *score >= engine_.pack.human->bar;
  }

  // Of the faces that are left. Its time counts as embedding, that of a finer decoding as decoding.
  void liveness_stage() {
    const Timer timer(timings_.embed, image_.decode_ms());
    for (FoundFace& found : faces_) {
      found.face.live_score = engine_.liveness.score(image_, found.face.box);
    }
  }

  Analysis report() {
    timings_.decode = image_.decode_ms();
    Analysis analysis{.width = image_.width(),
                      .height = image_.height(),
                      .format = image_.format(),
                      .orientation = image_.orientation(),
                      .faces = {},
                      .faces_omitted = faces_omitted_,
                      .search_timed_out = search_timed_out_ || image_.was_cut_short(),
                      .min_detectable_face_px = min_detectable_face_px(),
                      .timings_ms = timings_};
    for (FoundFace& found : faces_) {
      Quality& quality = found.face.quality;
      quality.dot_pitch = std::max(quality.dot_pitch, found.dot_pitch);
      analysis.faces.push_back(std::move(found.face));
    }
    return analysis;
  }

  int min_detectable_face_px() const {
    const auto longer = static_cast<float>(std::max(image_.width(), image_.height()));
    return static_cast<int>(std::ceil(std::min(std::max(smallest_side_, kMinFaceSide), longer)));
  }

  const Engine& engine_;
  const AnalyseOptions& options_;
  Image image_;
  std::vector<FoundFace> faces_;
  int faces_omitted_ = 0;
  float smallest_side_ = 0;
  bool search_timed_out_ = false;
  StageTimings timings_;
};

}  // namespace

Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options) {
  return Analyser(engine, bytes, options).run();
}

}  // namespace facematch
