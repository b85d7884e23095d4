#include "pipeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "embed/quality.h"
#include "error.h"
#include "find/detection_passes.h"
#include "find/proposals.h"
#include "find/same_face.h"
#include "image/contrast.h"
#include "image/halftone.h"
#include "image/image.h"
#include "runtime/timer.h"

namespace facematch {
namespace {

// A chip whose grey levels span at most this many levels is stretched over the whole range. Chips
// of ordinary photos span more.
constexpr int kMinRange = 110;

// Maximum number of candidates that are faces, and of those that are other detections. Three
// candidates in four rotations fill one frame of 320 x 240. Six candidates find no more of 80
// people on ID cards.
constexpr size_t kMaxCandidates = 3;

// The rotation of a face is uncertain if it has a lower score or a larger roll, or if a later pass
// found it. The further search compares the face's scores in all four rotations.
constexpr float kCertainScore = 0.95f;
constexpr float kUprightRoll = 15;  // degrees

// Runs the stages on one image.
class Analyser {
 public:
  Analyser(const Engine& engine, Bytes bytes, const AnalyseOptions& options)
      : engine_(engine),
        options_(options),
        image_(bytes, options.limits, side_for_first_pass(engine.pack),
               Budget(options.image_timeout_ms, options.cancelled)) {}

  // A lower min_det_score only adds faces, and a higher one only removes some.
  Analysis run() {
    Finder finder(engine_, image_, options_);
    Found found = find(image_, finder);
    const float pitch = image_.two_tone_pitch();
    for (FoundFace& face : found.faces) face.dot_pitch = std::max(face.dot_pitch, pitch);
    if (options_.use_heuristic_fallback) found = find_in_print(std::move(found), pitch);
    found = add_doubtful(finder, std::move(found), pitch);
    std::vector<Candidate> candidates = candidates_of(finder.candidates(), found);
    Analysis analysis = judge(std::move(found));
    analysis.candidates = std::move(candidates);
    return analysis;
  }

  // Searches where an earlier analysis of the image may have missed a face.
  Analysis run_further(const EarlierAnalysis& earlier) {
    Finder finder(engine_, image_, options_);
    std::vector<FoundFace> faces = find_further(finder, earlier, timings_);
    order(faces);
    Found found = embed_stage(image_, std::move(faces), kMaxFaces);
    found.coverage.add(finder.coverage());
    Analysis analysis = judge(std::move(found));
    for (size_t i = 0; i < earlier.faces.size(); ++i) {
      const auto replaces = [&](const Face& face) { return overlap(face.box, earlier.faces[i]); };
      if (std::ranges::any_of(analysis.faces, replaces)) analysis.replaced.push_back(i);
    }
    return analysis;
  }

 private:
  // The embedded faces of an image, and those omitted because of kMaxFaces or the time limit.
  struct Found {
    std::vector<FoundFace> faces;
    std::vector<FoundFace> omitted;
    Coverage coverage;
  };

  // Drops the faces below min_det_score, and returns the others with live scores if requested.
  Analysis judge(Found found) {
    const auto is_below = [&](const FoundFace& face) {
      return face.detection.score < options_.min_det_score;
    };
    std::erase_if(found.faces, is_below);
    std::erase_if(found.omitted, is_below);
    if (options_.detect_presentation_attack) liveness_stage(found.faces);
    return report(std::move(found));
  }

  // Returns faces whose rotation is uncertain, and the best detections that do not overlap a face
  // or each other. `detections` are best first.
  std::vector<Candidate> candidates_of(std::span<const Detection> detections,
                                       const Found& found) const {
    std::vector<Candidate> faces, others;
    if (!options_.use_heuristic_fallback || found.coverage.complete()) return faces;
    for (const FoundFace& face : found.faces) {
      const float roll = eye_line_degrees(five_points(face.points));
      const Detection& seen = face.detection;
      if (faces.size() == kMaxCandidates) break;
      const bool is_certain = seen.found_by == FoundBy::kPrimary && seen.score >= kCertainScore &&
                              std::abs(roll) <= kUprightRoll;
      if (!is_certain) faces.push_back({seen.box, seen.score});
    }
    for (const Detection& one : detections) {
      if (others.size() == kMaxCandidates) break;
      const bool repeats = std::any_of(others.begin(), others.end(), [&](const Candidate& better) {
        return overlap(better.box, one.box);
      });
      if (repeats || is_known(found.faces, one.box) || is_known(found.omitted, one.box)) continue;
      others.push_back({one.box, one.score});
    }
    faces.insert(faces.end(), others.begin(), others.end());
    return faces;
  }

  Found find(Image& image, Finder& finder) {
    Found found;
    const auto passes = detection_passes(options_.use_heuristic_fallback);
    for (const DetectionPass pass : passes) {
      run_pass(pass, finder, found.faces, timings_);
      const bool last = pass == passes.back() || finder.timed_out();
      // Faces that do not end the search are embedded only if there is no further pass.
      if (!last && !ends_search(pass, found.faces)) continue;
      order(found.faces);
      found = embed_stage(image, std::move(found.faces), kMaxFaces);
      if (last || ends_search(pass, found.faces)) break;
    }
    found.coverage.add(finder.coverage());
    return found;
  }

  // Searches again with the dots merged if a face, or an image without a face, is printed in dots.
  // `pitch`: pitch of a two-tone print, or 0.
  Found find_in_print(Found found, float pitch) {
    if (found.coverage.timed_out) return found;
    if (found.faces.empty() || pitch > 0) pitch = std::max(pitch, pitch_of_image());
    for (const FoundFace& face : found.faces) pitch = std::max(pitch, face.dot_pitch);
    if (!(pitch > 0)) return found;
    Image merged = image_.without_dots(pitch);
    Finder finder(engine_, merged, options_);
    Found more = find(merged, finder);
    for (FoundFace& face : more.faces) {
      face.face.found_by = FoundBy::kEnhanced;
      face.face.quality.dot_pitch = pitch;
      found.faces.push_back(std::move(face));
    }
    keep_one_of_each(found.faces, [](const FoundFace& face) { return face.dot_pitch; });
    order(found.faces);
    found.omitted = without_known(std::move(found.omitted), found.faces);
    append_new(found.omitted, without_known(std::move(more.omitted), found.faces));
    if (found.faces.size() > kMaxFaces) {
      const auto end = found.faces.begin() + kMaxFaces;
      std::move(end, found.faces.end(), std::back_inserter(found.omitted));
      found.faces.erase(end, found.faces.end());
    }
    found.coverage.timed_out = found.coverage.timed_out || more.coverage.timed_out;
    return found;
  }

  Found add_doubtful(Finder& finder, Found found, float pitch) {
    if (found.coverage.timed_out) return found;
    std::vector<FoundFace> known = found.faces;
    known.insert(known.end(), found.omitted.begin(), found.omitted.end());
    std::vector<FoundFace> doubtful =
        find_doubtful(finder, options_.min_det_score, std::move(known), timings_);
    found.coverage.add(finder.coverage());
    Found more = embed_stage(image_, std::move(doubtful), kMaxFaces - found.faces.size());
    for (FoundFace& face : more.faces) {
      face.dot_pitch = std::max(face.dot_pitch, pitch);
      found.faces.push_back(std::move(face));
    }
    order(found.faces);
    std::move(more.omitted.begin(), more.omitted.end(), std::back_inserter(found.omitted));
    found.coverage.add(more.coverage);
    return found;
  }

  float pitch_of_image() {
    const Timer timer(timings_.detect, image_.decode_ms());
    return image_.dot_pitch();
  }

  void align(Image& image, FoundFace& found) {
    const Timer timer(timings_.align, image.decode_ms());
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
                  .pose = correct_yaw(estimate_pose(found.points)),
                  // Measures the original chip; only the embedding uses the stretched one.
                  .quality = measure_quality(found.chip, face_pixels),
                  .embedding = {}};
    found.face.quality.stretch = stretch(found.points);
    found.dot_pitch = dot_pitch(found.chip) / alignment.scale();
    found.chip = stretch_contrast(found.chip, kMinRange);
  }

  // Aligns and embeds the faces in order, and drops those whose embedding is not human. Stops after
  // `max_faces` human faces. Also stops at the CPU time limit, but not before the first face.
  Found embed_stage(Image& image, std::vector<FoundFace> faces, size_t max_faces) {
    Found found;
    if (max_faces > 0)
      decode_for_chips(image, std::span(faces).first(std::min(max_faces, faces.size())));
    auto next = faces.begin();
    for (; next != faces.end() && found.faces.size() < max_faces; ++next) {
      image_.budget().check_cancelled();
      if (next != faces.begin() && image_.budget().spent()) {
        found.coverage.timed_out = true;
        break;
      }
      align(image, *next);
      embed(*next);
      if (is_human(*next)) found.faces.push_back(std::move(*next));
    }
    std::move(next, faces.end(), std::back_inserter(found.omitted));
    return found;
  }

  void decode_for_chips(Image& image, std::span<const FoundFace> faces) {
    const Timer timer(timings_.align, image.decode_ms());
    std::vector<Part> parts;
    for (const FoundFace& face : faces) {
      parts.push_back(engine_.embedder.part_for(face.detection.box));
    }
    image.decode_parts(parts);
  }

  void embed(FoundFace& found) {
    const Timer timer(timings_.embed);
    Face& face = found.face;
    face.embedding =
        engine_.embedder.embed(found.chip, options_.accuracy_mode == AccuracyMode::kBalance);
    face.cohort_score = engine_.cohort.score(face.embedding);
    face.human_score = engine_.human.score(face.embedding);
    face.occlusion_score = engine_.occlusion.score(face.embedding);
  }

  bool is_human(const FoundFace& found) const {
    const auto& score = found.face.human_score;
    return !score || *score >= engine_.pack.human->min_score;
  }

  // Counts the time as embedding, except for decoding.
  void liveness_stage(std::vector<FoundFace>& faces) {
    const Timer timer(timings_.embed, image_.decode_ms());
    for (FoundFace& found : faces) {
      found.face.live_score = engine_.liveness.score(image_, found.face.box);
    }
  }

  Analysis report(Found found) {
    timings_.decode = image_.decode_ms();
    found.coverage.timed_out = found.coverage.timed_out || image_.timed_out();
    Analysis analysis{.width = image_.width(),
                      .height = image_.height(),
                      .format = image_.format(),
                      .orientation = image_.orientation(),
                      .faces = {},
                      .faces_omitted = static_cast<int>(found.omitted.size()),
                      .coverage = found.coverage,
                      .timings_ms = timings_,
                      .cpu_ms = image_.budget().used_ms(),
                      .candidates = {},
                      .replaced = {}};
    for (FoundFace& face : found.faces) {
      Quality& quality = face.face.quality;
      quality.dot_pitch = std::max(quality.dot_pitch, face.dot_pitch);
      analysis.faces.push_back(std::move(face.face));
    }
    return analysis;
  }

  const Engine& engine_;
  const AnalyseOptions& options_;
  Image image_;
  StageTimings timings_;
};

}  // namespace

int Analysis::min_detectable_face_px() const {
  const auto longer = static_cast<float>(std::max(width, height));
  float side = 0;
  for (const float one : coverage.min_side) {
    if (one < Coverage::kNotSearched) side = std::max(side, one);
  }
  if (side == 0) side = longer;
  return static_cast<int>(std::ceil(std::min(std::max(side, kMinFaceSide), longer)));
}

Analysis analyse(const Engine& engine, Bytes bytes, const AnalyseOptions& options) {
  return Analyser(engine, bytes, options).run();
}

Analysis analyse_further(const Engine& engine, Bytes bytes, const AnalyseOptions& options,
                         const EarlierAnalysis& earlier) {
  return Analyser(engine, bytes, options).run_further(earlier);
}

}  // namespace facematch
