#include "pipeline.h"

#include <algorithm>
#include <utility>

#include "companion.h"
#include "compare.h"
#include "contrast.h"
#include "decode.h"
#include "error.h"
#include "fallback.h"
#include "quality.h"
#include "resolution.h"
#include "subject.h"
#include "timer.h"

namespace facematch {
namespace {

void decode_stage(Bytes bytes, const DetectOptions& options, int wanted_side, const Budget& budget,
                  Subject& subject, StageTimings& timings) {
  const Timer timer(timings.decode);
  subject.image = decode(bytes, options.limits, wanted_side, budget);
}

// Largest first, and no more than an answer lists.
template <typename Found, typename ToDetection>
void order(std::vector<Found>& found, ToDetection to_detection) {
  const auto weight = [&](const Found& one) {
    const Detection& detection = to_detection(one);
    return detection.box.area() * detection.score;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  if (found.size() > kMaxFaces) found.resize(kMaxFaces);
}

std::vector<Detection> detect_stage(const Engine& engine, const DetectOptions& options,
                                    const Subject& subject, StageTimings& timings) {
  const Timer timer(timings.detect);
  auto detections = engine.detector.detect(subject.image.bgr, options.min_det_score);
  order(detections, [](const Detection& detection) { return detection; });
  return detections;
}

// Landmarks, and whether they lie on a face.
std::vector<Candidate> confirm_stage(Verifier& verifier, const DetectOptions& options,
                                     const std::vector<Detection>& detections,
                                     StageTimings& timings) {
  const Timer timer(timings.align);
  std::vector<Candidate> candidates;
  for (const Detection& detection : detections) {
    const auto candidate = verifier.confirm(detection);
    if (!candidate) continue;
    // Without the fallback a turned face is none: nothing good comes of comparing it as it is.
    const bool turned = candidate->detection.found_by != FoundBy::kPrimary;
    if (options.use_heuristic_fallback || !turned) candidates.push_back(*candidate);
  }
  return candidates;
}

// A face with all that the stages make of it, so that what is dropped goes as a whole.
struct EmbeddedFace {
  Candidate candidate;
  Face face;
  cv::Mat chip;
  Comparable embedded;
};

const Detection& detection_of(const Candidate& candidate) { return candidate.detection; }
const Detection& detection_of(const EmbeddedFace& face) { return face.candidate.detection; }

template <typename Found>
bool any_upright(const std::vector<Found>& found) {
  return std::any_of(found.begin(), found.end(), [](const Found& one) {
    return detection_of(one).found_by == FoundBy::kPrimary;
  });
}

void fallback_stage(Verifier& verifier, std::vector<Candidate>& candidates, StageTimings& timings) {
  const Timer timer(timings.detect);
  candidates = run_fallback(verifier, std::move(candidates));
}

std::vector<EmbeddedFace> align_stage(const Engine& engine, const Image& image,
                                      const std::vector<Candidate>& candidates,
                                      StageTimings& timings) {
  const Timer timer(timings.align);
  const float up = 1 / image.scale;                // decoded pixels -> pixels of the full picture
  const Point middle((up - 1) / 2, (up - 1) / 2);  // of the pixels that a decoded one stands for
  std::vector<EmbeddedFace> faces;
  for (const Candidate& candidate : candidates) {
    const Landmarks five = five_points(candidate.points);
    const Similarity alignment = engine.embedder.align(five);
    cv::Mat chip;
    engine.embedder.chip(image.bgr, alignment, chip);
    const float side = static_cast<float>(engine.embedder.chip_size()) / alignment.scale();
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
    faces.push_back({.candidate = candidate, .face = face, .chip = chip, .embedded = {}});
  }
  return faces;
}

// Every face: only its embedding tells whether it is a human one.
void embed_stage(const Engine& engine, const DetectOptions& options,
                 std::vector<EmbeddedFace>& faces, StageTimings& timings) {
  const Timer timer(timings.embed);
  const bool mirror = options.accuracy_mode == AccuracyMode::kBalance;
  for (EmbeddedFace& one : faces) {
    Comparable& embedded = one.embedded;
    embedded.embedding = engine.embedder.embed(one.chip, mirror);
    embedded.cohort_score = engine.cohort.score(embedded.embedding);
    one.face.human_score = engine.human.score(embedded.embedding);
  }
}

void human_stage(const Engine& engine, std::vector<EmbeddedFace>& faces) {
  std::erase_if(faces, [&](const EmbeddedFace& one) {
    const auto& score = one.face.human_score;
    return score && !engine.human.passes(*score);
  });
}

// The candidates that are of human faces, ready to be compared, largest first.
std::vector<EmbeddedFace> human_faces(const Engine& engine, const DetectOptions& options,
                                      const Image& image, std::vector<Candidate> candidates,
                                      StageTimings& timings) {
  order(candidates, [](const Candidate& candidate) { return candidate.detection; });
  auto faces = align_stage(engine, image, candidates, timings);
  embed_stage(engine, options, faces, timings);
  human_stage(engine, faces);
  return faces;
}

std::vector<Candidate> candidates_of(const std::vector<EmbeddedFace>& faces) {
  std::vector<Candidate> candidates;
  for (const EmbeddedFace& face : faces) candidates.push_back(face.candidate);
  return candidates;
}

void report_stage(std::vector<EmbeddedFace> faces, Subject& subject) {
  const Image& image = subject.image;
  subject.report = {.width = image.width,
                    .height = image.height,
                    .format = image.format,
                    .orientation = image.orientation,
                    .faces = {}};
  for (EmbeddedFace& one : faces) {
    subject.report.faces.push_back(one.face);
    subject.embedded.push_back(std::move(one.embedded));
  }
}

// Runs `stage`, marking a refusal with the picture it is about.
template <typename Stage>
void for_image(int image, Stage stage) {
  try {
    stage();
  } catch (Error& error) {
    error.image = image;
    throw;
  }
}

// Decodes the picture again where it is less than `side` pixels long, and answers how many times
// finer it is then.
float finer_stage(Bytes bytes, const DetectOptions& options, int side, const Budget& budget,
                  Subject& subject, StageTimings& timings) {
  const float before = subject.image.scale;
  if (before < 1 && side > std::max(subject.image.bgr.cols, subject.image.bgr.rows)) {
    decode_stage(bytes, options, side, budget, subject, timings);
  }
  return subject.image.scale / before;
}

void find_faces(const Engine& engine, Bytes bytes, const DetectOptions& options, Subject& subject,
                StageTimings& timings) {
  const Budget budget = options.picture_ms > 0 ? Budget(options.picture_ms) : Budget();
  decode_stage(bytes, options, side_for_detector(engine.pack), budget, subject, timings);
  auto detections = detect_stage(engine, options, subject, timings);
  const int side = side_for_faces(engine.pack, subject.image, detections);
  const float finer = finer_stage(bytes, options, side, budget, subject, timings);
  for (Detection& detection : detections) detection = scaled(detection, finer);
  Verifier verifier(engine, subject.image.bgr, options, budget);
  auto candidates = confirm_stage(verifier, options, detections, timings);
  std::vector<EmbeddedFace> faces;
  if (any_upright(candidates)) {
    faces = human_faces(engine, options, subject.image, candidates, timings);
    candidates = candidates_of(faces);
  }
  if (options.use_heuristic_fallback && !any_upright(faces)) {
    if (!verifier.cut_short()) {
      // The ladder looks at parts of the picture, and at faces that are small in it.
      const int full = std::max(subject.image.width, subject.image.height);
      const float finest = finer_stage(bytes, options, full, budget, subject, timings);
      for (Candidate& candidate : candidates) candidate = scaled(candidate, finest);
      verifier.use(subject.image.bgr);
      fallback_stage(verifier, candidates, timings);
    }
    faces = human_faces(engine, options, subject.image, std::move(candidates), timings);
  }
  report_stage(std::move(faces), subject);
  subject.report.look_cut_short = verifier.was_cut_short();
}

void require_faces(const Subject& first, const Subject& second) {
  const std::array<bool, 2> missing = {first.report.faces.empty(), second.report.faces.empty()};
  if (!missing[0] && !missing[1]) return;
  Error error(ErrorCode::kNoFaceFound);
  error.missing = missing;
  error.cut_short = {missing[0] && first.report.look_cut_short,
                     missing[1] && second.report.look_cut_short};
  error.image = missing[0] ? 1 : 2;
  throw error;
}

void require_index(const Subject& subject, int index) {
  const int found = static_cast<int>(subject.report.faces.size());
  if (index < found) return;
  Error error(ErrorCode::kFaceIndexOutOfRange);
  error.faces_found = found;
  throw error;
}

}  // namespace

MatchResult match(const Engine& engine, Bytes image1, Bytes image2, const MatchOptions& options) {
  Subject first, second;
  StageTimings first_timings, second_timings;
  first.key = key_of(options.image1_sha256, engine.pack, options);
  second.key = key_of(options.image2_sha256, engine.pack, options);
  const auto look = [&](Bytes image, Subject& subject, StageTimings& timings) {
    recall(subject);
    if (!subject.known) find_faces(engine, image, options, subject, timings);
  };
  run_both(
      options.parallel, [&] { for_image(1, [&] { look(image1, first, first_timings); }); },
      [&] { for_image(2, [&] { look(image2, second, second_timings); }); });
  require_faces(first, second);
  for_image(1, [&] { require_index(first, options.image1_face_index); });
  for_image(2, [&] { require_index(second, options.image2_face_index); });
  const auto settle = [&](int index, Subject& subject) {
    remember(subject);
    // Without auto_pair_best an automatic choice is the largest face.
    if (index < 0 && !options.auto_pair_best) index = 0;
    if (index >= 0) leave_only(static_cast<size_t>(index), subject);
  };
  settle(options.image1_face_index, first);
  settle(options.image2_face_index, second);
  std::vector<Pair> pairs = compare_all(first.embedded, second.embedded);
  return {.image1 = std::move(first.report),
          .image2 = std::move(second.report),
          .pairs = std::move(pairs),
          .timings_ms = first_timings + second_timings};
}

DetectResult detect(const Engine& engine, Bytes image, const DetectOptions& options,
                    bool want_embeddings) {
  Subject subject;
  StageTimings timings;
  find_faces(engine, image, options, subject, timings);
  if (!want_embeddings) subject.embedded.clear();
  return {.image = std::move(subject.report),
          .embedded = std::move(subject.embedded),
          .timings_ms = timings};
}

}  // namespace facematch
