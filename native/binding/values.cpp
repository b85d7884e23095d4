#include "values.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "../core/runtime/manifest.h"

namespace facematch::binding {
namespace {

// Implements the Node of core/runtime/manifest.h for Napi values.
struct Node {
  Napi::Value value;

  Node at(const char* member) const { return {value.As<Napi::Object>().Get(member)}; }
  bool present() const { return !value.IsUndefined(); }
  bool is_list() const { return value.IsArray(); }
  std::vector<Node> items() const {
    const auto list = value.As<Napi::Array>();
    std::vector<Node> all;
    for (uint32_t i = 0; i < list.Length(); ++i) all.push_back({list.Get(i)});
    return all;
  }
  float number() const { return value.As<Napi::Number>().FloatValue(); }
  int whole() const { return value.As<Napi::Number>().Int32Value(); }
  std::string text() const { return value.As<Napi::String>(); }
};

float to_float(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().FloatValue();
}
bool to_bool(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Boolean>().Value();
}

Napi::Object from_numbers(Napi::Env env,
                          std::initializer_list<std::pair<const char*, double>> members) {
  auto object = Napi::Object::New(env);
  for (const auto& [name, number] : members) object.Set(name, number);
  return object;
}

Napi::Object from_landmarks(Napi::Env env, const Landmarks& landmarks) {
  constexpr std::array kNames = {"right_eye", "left_eye", "nose", "mouth_right", "mouth_left"};
  auto object = Napi::Object::New(env);
  for (size_t i = 0; i < kNames.size(); ++i) {
    const Point point = landmarks.points()[i];
    auto pair = Napi::Array::New(env, 2);
    pair.Set(uint32_t{0}, point.x);
    pair.Set(uint32_t{1}, point.y);
    object.Set(kNames[i], pair);
  }
  return object;
}

Napi::Object from_face(Napi::Env env, const Face& face, size_t index) {
  const auto& [box, landmarks, score, found_by, human, occlusion, live, pose, quality, embedding,
               cohort_score] = face;
  auto object = Napi::Object::New(env);
  object.Set("index", static_cast<double>(index));
  object.Set("box",
             from_numbers(
                 env, {{"x", box.x}, {"y", box.y}, {"width", box.width}, {"height", box.height}}));
  object.Set("landmarks", from_landmarks(env, landmarks));
  object.Set("detection_score", score);
  object.Set("found_by", kFoundBy[static_cast<size_t>(found_by)]);
  if (human) object.Set("human_score", *human);
  if (occlusion) object.Set("occlusion_score", *occlusion);
  if (live) object.Set("live_score", *live);
  object.Set("pose",
             from_numbers(env, {{"yaw", pose.yaw}, {"pitch", pose.pitch}, {"roll", pose.roll}}));
  object.Set("quality", from_numbers(env, {{"sharpness", quality.sharpness},
                                           {"brightness", quality.brightness},
                                           {"face_pixels", quality.face_pixels},
                                           {"dot_pitch_px", quality.dot_pitch},
                                           {"stretch_ratio", quality.stretch}}));
  // V8 owns the array, because an external buffer cannot be transferred to another thread.
  auto numbers = Napi::Float32Array::New(env, embedding.size());
  std::copy(embedding.begin(), embedding.end(), numbers.Data());
  object.Set("embedding", numbers);
  object.Set("cohort_score", cohort_score);
  return object;
}

// Sets nothing if the whole image was searched in all four rotations.
void set_searched_rotations(Napi::Env env, const Coverage& coverage, Napi::Object& image) {
  if (coverage.complete()) return;
  auto rotations = Napi::Array::New(env);
  for (size_t quarters = 0; quarters < coverage.min_side.size(); ++quarters) {
    if (coverage.min_side.at(quarters) == Coverage::kNotSearched) continue;
    rotations.Set(rotations.Length(), 90 * static_cast<double>(quarters));
  }
  image.Set("searched_rotations", rotations);
}

}  // namespace

Pack to_pack(const std::string& directory, const Napi::Value& manifest) {
  return pack_of(directory, ManifestValue<Node>{{manifest}});
}

Napi::Value detector_outputs(const Napi::Value& detector) {
  const DetectorSpec spec = grids_of(ManifestValue<Node>{{detector}});
  const auto outputs = detector_family(spec.family).outputs(spec, {spec.width, spec.height});
  auto array = Napi::Array::New(detector.Env(), outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    auto object = Napi::Object::New(detector.Env());
    object.Set("member", outputs[i].member);
    object.Set("stride", outputs[i].stride);
    object.Set("rows", static_cast<double>(outputs[i].rows));
    object.Set("columns", static_cast<double>(outputs[i].columns));
    array.Set(i, object);
  }
  return array;
}

AnalyseOptions to_analyse_options(const Napi::Object& object) {
  AnalyseOptions options;
  options.limits = {.max_pixels = object.Get("max_pixels").As<Napi::Number>().Int64Value(),
                    .min_side = object.Get("min_side").As<Napi::Number>().Int32Value()};
  const std::string mode = object.Get("accuracy_mode").As<Napi::String>();
  options.accuracy_mode = mode == "fast" ? AccuracyMode::kFast : AccuracyMode::kBalance;
  options.min_det_score = to_float(object, "min_det_score");
  options.use_heuristic_fallback = to_bool(object, "use_heuristic_fallback");
  if (object.Has("detect_presentation_attack"))
    options.detect_presentation_attack = to_bool(object, "detect_presentation_attack");
  if (object.Has("refine_landmarks"))
    options.refine_landmarks = to_bool(object, "refine_landmarks");
  if (object.Has("image_timeout_ms"))
    options.image_timeout_ms = object.Get("image_timeout_ms").As<Napi::Number>().DoubleValue();
  return options;
}

EarlierAnalysis to_earlier_analysis(const Napi::Object& object) {
  const auto to_box = [](const Napi::Object& box) {
    return Box{to_float(box, "x"), to_float(box, "y"), to_float(box, "width"),
               to_float(box, "height")};
  };
  EarlierAnalysis earlier;
  for (const Node& box : Node{object.Get("faces")}.items()) {
    earlier.faces.push_back(to_box(box.value.As<Napi::Object>()));
  }
  for (const Node& one : Node{object.Get("candidates")}.items()) {
    const auto candidate = one.value.As<Napi::Object>();
    earlier.candidates.push_back({to_box(candidate), to_float(candidate, "score")});
  }
  return earlier;
}

Napi::Value from_analysis(Napi::Env env, const Analysis& analysis) {
  auto faces = Napi::Array::New(env, analysis.faces.size());
  for (size_t i = 0; i < analysis.faces.size(); ++i) {
    faces.Set(static_cast<uint32_t>(i), from_face(env, analysis.faces[i], i));
  }
  auto image = Napi::Object::New(env);
  image.Set("width", analysis.width);
  image.Set("height", analysis.height);
  image.Set("format", kFormats[static_cast<size_t>(analysis.format)]);
  image.Set("orientation", analysis.orientation);
  image.Set("faces", faces);
  image.Set("min_detectable_face_px", analysis.min_detectable_face_px());
  if (analysis.faces_omitted > 0) image.Set("faces_omitted", analysis.faces_omitted);
  if (analysis.coverage.timed_out) image.Set("search_timed_out", true);
  set_searched_rotations(env, analysis.coverage, image);
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("image", image);
  object.Set("cpu_ms", analysis.cpu_ms);
  auto candidates = Napi::Array::New(env, analysis.candidates.size());
  for (size_t i = 0; i < analysis.candidates.size(); ++i) {
    const auto& [box, score] = analysis.candidates[i];
    candidates.Set(static_cast<uint32_t>(i), from_numbers(env, {{"x", box.x},
                                                                {"y", box.y},
                                                                {"width", box.width},
                                                                {"height", box.height},
                                                                {"score", score}}));
  }
  object.Set("candidates", candidates);
  if (!analysis.replaced.empty()) {
    auto replaced = Napi::Array::New(env, analysis.replaced.size());
    for (size_t i = 0; i < analysis.replaced.size(); ++i) {
      replaced.Set(static_cast<uint32_t>(i), static_cast<double>(analysis.replaced[i]));
    }
    object.Set("replaced", replaced);
  }
  const auto& [decode, detect, align, embed] = analysis.timings_ms;
  object.Set(
      "timings_ms",
      from_numbers(env,
                   {{"decode", decode}, {"detect", detect}, {"align", align}, {"embed", embed}}));
  return object;
}

Napi::Value from_error(Napi::Env env, const Error& error) {
  auto object = Napi::Object::New(env);
  object.Set("ok", false);
  object.Set("code", kErrorCodes[static_cast<size_t>(error.code)]);
  switch (error.code) {
    case ErrorCode::kUnsupportedImageFormat:
      object.Set("detected", error.detected);
      break;
    case ErrorCode::kImageDecodeFailed:
      object.Set("reason", error.message);
      break;
    case ErrorCode::kImageTooComplex:
      break;
    case ErrorCode::kImageDimensions:
      object.Set("width", error.width);
      object.Set("height", error.height);
      object.Set("limit_pixels", static_cast<double>(error.limit_pixels));
      break;
    case ErrorCode::kInternalError:
      object.Set("message", error.message);
      break;
  }
  return object;
}

}  // namespace facematch::binding
