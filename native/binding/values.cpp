#include "values.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace facematch::binding {
namespace {

float to_float(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().FloatValue();
}
bool to_bool(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Boolean>().Value();
}

Napi::Object from_timings(Napi::Env env, const StageTimings& timings) {
  auto object = Napi::Object::New(env);
  object.Set("decode", timings.decode);
  object.Set("detect", timings.detect);
  object.Set("align", timings.align);
  object.Set("embed", timings.embed);
  return object;
}

Napi::Value from_point(Napi::Env env, const Point& point) {
  auto array = Napi::Array::New(env, 2);
  array.Set(uint32_t{0}, point.x);
  array.Set(uint32_t{1}, point.y);
  return array;
}

Napi::Object from_face(Napi::Env env, const Face& face, size_t index) {
  auto box = Napi::Object::New(env);
  box.Set("x", face.box.x);
  box.Set("y", face.box.y);
  box.Set("width", face.box.width);
  box.Set("height", face.box.height);
  auto landmarks = Napi::Object::New(env);
  landmarks.Set("right_eye", from_point(env, face.landmarks.right_eye));
  landmarks.Set("left_eye", from_point(env, face.landmarks.left_eye));
  landmarks.Set("nose", from_point(env, face.landmarks.nose));
  landmarks.Set("mouth_right", from_point(env, face.landmarks.mouth_right));
  landmarks.Set("mouth_left", from_point(env, face.landmarks.mouth_left));
  auto pose = Napi::Object::New(env);
  pose.Set("yaw", face.pose.yaw);
  pose.Set("pitch", face.pose.pitch);
  pose.Set("roll", face.pose.roll);
  auto quality = Napi::Object::New(env);
  quality.Set("sharpness", face.quality.sharpness);
  quality.Set("brightness", face.quality.brightness);
  quality.Set("face_pixels", face.quality.face_pixels);
  auto object = Napi::Object::New(env);
  object.Set("index", static_cast<double>(index));
  object.Set("box", box);
  object.Set("landmarks", landmarks);
  object.Set("detection_score", face.detection_score);
  object.Set("found_by", kFoundBy[static_cast<size_t>(face.found_by)]);
  if (face.human_score) object.Set("human_score", *face.human_score);
  if (face.occlusion_score) object.Set("occlusion_score", *face.occlusion_score);
  if (face.live_score) object.Set("live_score", *face.live_score);
  object.Set("pose", pose);
  object.Set("quality", quality);
  // Owned by V8: an external buffer could not be transferred to another thread.
  auto embedding = Napi::Float32Array::New(env, face.embedding.size());
  std::copy(face.embedding.begin(), face.embedding.end(), embedding.Data());
  object.Set("embedding", embedding);
  object.Set("cohort_score", face.cohort_score);
  return object;
}

}  // namespace

bool is_bytes(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

Bytes to_bytes(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.ByteLength()};
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
  if (object.Has("picture_ms"))
    options.picture_ms = object.Get("picture_ms").As<Napi::Number>().DoubleValue();
  return options;
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
  if (analysis.look_cut_short) image.Set("look_cut_short", true);
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("image", image);
  object.Set("timings_ms", from_timings(env, analysis.timings_ms));
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
