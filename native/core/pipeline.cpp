#include "pipeline.h"

#include <algorithm>
#include <chrono>

#include "companion.h"
#include "compare.h"
#include "decode.h"
#include "error.h"
#include "quality.h"

namespace facematch {
namespace {

// Adds the time until the end of the scope to one stage.
class Timer {
 public:
  explicit Timer(double& milliseconds) : milliseconds_(milliseconds) {}
  ~Timer() {
    const std::chrono::duration<double, std::milli> spent = Clock::now() - start_;
    milliseconds_ += spent.count();
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& milliseconds_;
  Clock::time_point start_ = Clock::now();
};

// A picture on its way through the stages.
struct Subject {
  Image image;
  std::vector<Face> faces;           // in pixels of the full picture
  std::vector<cv::Mat> chips;        // one a face
  std::vector<Comparable> embedded;  // one a face; without embedding where it is not compared
};

void decode_stage(Bytes bytes, const DetectOptions& options, Subject& subject,
                  StageTimings& timings) {
  const Timer timer(timings.decode);
  subject.image = decode(bytes, options.limits, 0);
}

std::vector<Detection> detect_stage(const Engine& engine, const DetectOptions& options,
                                    const Subject& subject, StageTimings& timings) {
  const Timer timer(timings.detect);
  auto detections = engine.detector.detect(subject.image.bgr, options.min_det_score);
  const auto weight = [](const Detection& d) { return d.box.area() * d.score; };
  std::stable_sort(detections.begin(), detections.end(),
                   [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  if (detections.size() > kMaxFaces) detections.resize(kMaxFaces);
  return detections;
}

void align_stage(const Engine& engine, const DetectOptions& options,
                 const std::vector<Detection>& detections, Subject& subject,
                 StageTimings& timings) {
  const Timer timer(timings.align);
  const cv::Mat& bgr = subject.image.bgr;
  const float up = 1 / subject.image.scale;  // decoded pixels -> pixels of the full picture
  const bool refine = options.accuracy_mode == AccuracyMode::kBalance;
  for (const Detection& detection : detections) {
    const Points68 points = engine.landmarker.find(bgr, detection.box, refine);
    const Landmarks five = five_points(points);
    const Similarity alignment = engine.embedder.align(five);
    cv::Mat chip;
    engine.embedder.chip(bgr, alignment, chip);
    const float side = static_cast<float>(engine.embedder.chip_size()) / alignment.scale();
    const Box& box = detection.box;
    Face face;
    face.box = {box.x * up, box.y * up, box.width * up, box.height * up};
    face.landmarks = {five.right_eye * up, five.left_eye * up, five.nose * up,
                      five.mouth_right * up, five.mouth_left * up};
    face.detection_score = detection.score;
    face.found_by = detection.found_by;
    face.pose = estimate_pose(points);
    face.quality = measure_quality(chip, side * up);
    subject.faces.push_back(face);
    subject.chips.push_back(chip);
  }
}

// `chosen`: the only face to embed, or -1 for all.
void embed_stage(const Engine& engine, const DetectOptions& options, int chosen, Subject& subject,
                 StageTimings& timings) {
  const Timer timer(timings.embed);
  const bool mirror = options.accuracy_mode == AccuracyMode::kBalance;
  subject.embedded.resize(subject.faces.size());
  for (size_t i = 0; i < subject.faces.size(); ++i) {
    if (chosen >= 0 && i != static_cast<size_t>(chosen)) continue;
    Comparable& face = subject.embedded[i];
    face.embedding = engine.embedder.embed(subject.chips[i], mirror);
    face.cohort_score = engine.cohort.score(face.embedding);
  }
}

ImageReport report(Subject& subject) {
  return {.width = subject.image.width,
          .height = subject.image.height,
          .format = subject.image.format,
          .orientation = subject.image.orientation,
          .faces = std::move(subject.faces)};
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

void find_faces(const Engine& engine, Bytes bytes, const DetectOptions& options, Subject& subject,
                StageTimings& timings) {
  decode_stage(bytes, options, subject, timings);
  const auto detections = detect_stage(engine, options, subject, timings);
  align_stage(engine, options, detections, subject, timings);
}

void require_faces(const Subject& first, const Subject& second) {
  if (!first.faces.empty() && !second.faces.empty()) return;
  Error error(ErrorCode::kNoFaceFound);
  error.missing = {first.faces.empty(), second.faces.empty()};
  error.image = first.faces.empty() ? 1 : 2;
  throw error;
}

void require_index(const Subject& subject, int index) {
  const int found = static_cast<int>(subject.faces.size());
  if (index < found) return;
  Error error(ErrorCode::kFaceIndexOutOfRange);
  error.faces_found = found;
  throw error;
}

}  // namespace

MatchResult match(const Engine& engine, Bytes image1, Bytes image2, const MatchOptions& options) {
  Subject first, second;
  StageTimings first_timings, second_timings;
  run_both(
      options.parallel,
      [&] { for_image(1, [&] { find_faces(engine, image1, options, first, first_timings); }); },
      [&] { for_image(2, [&] { find_faces(engine, image2, options, second, second_timings); }); });
  require_faces(first, second);
  for_image(1, [&] { require_index(first, options.image1_face_index); });
  for_image(2, [&] { require_index(second, options.image2_face_index); });
  // Without auto_pair_best an automatic choice is the largest face.
  const auto chosen = [&](int index) { return index < 0 && !options.auto_pair_best ? 0 : index; };
  run_both(
      options.parallel,
      [&] {
        embed_stage(engine, options, chosen(options.image1_face_index), first, first_timings);
      },
      [&] {
        embed_stage(engine, options, chosen(options.image2_face_index), second, second_timings);
      });
  std::vector<Pair> pairs = compare_all(first.embedded, second.embedded);
  return {.image1 = report(first),
          .image2 = report(second),
          .pairs = std::move(pairs),
          .timings_ms = first_timings + second_timings};
}

DetectResult detect(const Engine& engine, Bytes image, const DetectOptions& options,
                    bool want_embeddings) {
  Subject subject;
  StageTimings timings;
  find_faces(engine, image, options, subject, timings);
  if (want_embeddings) embed_stage(engine, options, -1, subject, timings);
  return {.image = report(subject), .embedded = std::move(subject.embedded), .timings_ms = timings};
}

}  // namespace facematch
