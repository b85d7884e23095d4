#include "values.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace facematch::binding {
namespace {

int to_int(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().Int32Value();
}
float to_float(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().FloatValue();
}
bool to_bool(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Boolean>().Value();
}

std::optional<Digest> to_digest(const Napi::Object& object, const char* name) {
  if (!object.Has(name)) return std::nullopt;
  const Napi::Value value = object.Get(name);
  Digest digest;
  if (!is_bytes(value) || to_bytes(value).size() != digest.size()) {
    throw Error(ErrorCode::kInternalError, std::string(name) + " is not of 32 bytes");
  }
  std::ranges::copy(to_bytes(value), digest.begin());
  return digest;
}

const char* field_of(int image) { return image == 2 ? "image2" : "image1"; }

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
  object.Set("pose", pose);
  object.Set("quality", quality);
  return object;
}

Napi::Object from_report(Napi::Env env, const ImageReport& report) {
  auto faces = Napi::Array::New(env, report.faces.size());
  for (size_t i = 0; i < report.faces.size(); ++i) {
    faces.Set(static_cast<uint32_t>(i), from_face(env, report.faces[i], i));
  }
  auto object = Napi::Object::New(env);
  object.Set("width", report.width);
  object.Set("height", report.height);
  object.Set("format", kFormats[static_cast<size_t>(report.format)]);
  object.Set("orientation", report.orientation);
  object.Set("faces", faces);
  if (report.look_cut_short) object.Set("look_cut_short", true);
  return object;
}

Napi::Value from_pairs(Napi::Env env, const std::vector<Pair>& pairs) {
  auto array = Napi::Array::New(env, pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto object = Napi::Object::New(env);
    object.Set("image1_face_index", pairs[i].image1_face_index);
    object.Set("image2_face_index", pairs[i].image2_face_index);
    object.Set("similarity", pairs[i].similarity);
    object.Set("normalised_similarity", pairs[i].normalised_similarity);
    array.Set(static_cast<uint32_t>(i), object);
  }
  return array;
}

}  // namespace

bool is_bytes(const Napi::Value& value) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
}

Bytes to_bytes(const Napi::Value& value) {
  const auto array = value.As<Napi::Uint8Array>();
  return {array.Data(), array.ByteLength()};
}

Bytes to_range(Bytes body, const Napi::Value& range) {
  const auto object = range.As<Napi::Object>();
  const auto start = static_cast<size_t>(object.Get("start").As<Napi::Number>().Int64Value());
  const auto end = static_cast<size_t>(object.Get("end").As<Napi::Number>().Int64Value());
  if (start > end || end > body.size()) {
    throw Error(ErrorCode::kInternalError, "a picture lies outside its body");
  }
  return body.subspan(start, end - start);
}

ImageLimits to_limits(const Napi::Object& object) {
  return {.max_pixels = object.Get("max_pixels").As<Napi::Number>().Int64Value(),
          .min_side = to_int(object, "min_side")};
}

DetectOptions to_detect_options(const Napi::Object& object) {
  DetectOptions options;
  options.limits = to_limits(object);
  const std::string mode = object.Get("accuracy_mode").As<Napi::String>();
  options.accuracy_mode = mode == "fast" ? AccuracyMode::kFast : AccuracyMode::kBalance;
  options.min_det_score = to_float(object, "min_det_score");
  options.use_heuristic_fallback = to_bool(object, "use_heuristic_fallback");
  if (object.Has("picture_ms"))
    options.picture_ms = object.Get("picture_ms").As<Napi::Number>().DoubleValue();
  return options;
}

MatchOptions to_match_options(const Napi::Object& object) {
  MatchOptions options;
  static_cast<DetectOptions&>(options) = to_detect_options(object);
  options.image1_face_index = to_int(object, "image1_face_index");
  options.image2_face_index = to_int(object, "image2_face_index");
  options.auto_pair_best = to_bool(object, "auto_pair_best");
  options.parallel = object.Has("parallel") && to_bool(object, "parallel");
  options.image1_sha256 = to_digest(object, "image1_sha256");
  options.image2_sha256 = to_digest(object, "image2_sha256");
  return options;
}

Napi::Value from_match(Napi::Env env, const MatchResult& result) {
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("image1", from_report(env, result.image1));
  object.Set("image2", from_report(env, result.image2));
  object.Set("pairs", from_pairs(env, result.pairs));
  object.Set("timings_ms", from_timings(env, result.timings_ms));
  return object;
}

Napi::Value from_detect(Napi::Env env, const DetectResult& result, bool with_embeddings) {
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("image", from_report(env, result.image));
  object.Set("timings_ms", from_timings(env, result.timings_ms));
  if (!with_embeddings) return object;
  // Owned by V8, for an external buffer could not be moved to another thread.
  auto embeddings = Napi::Array::New(env, result.embedded.size());
  auto cohort_scores = Napi::Array::New(env, result.embedded.size());
  for (size_t i = 0; i < result.embedded.size(); ++i) {
    const auto& [embedding, cohort_score] = result.embedded[i];
    auto array = Napi::Float32Array::New(env, embedding.size());
    std::copy(embedding.begin(), embedding.end(), array.Data());
    embeddings.Set(static_cast<uint32_t>(i), array);
    cohort_scores.Set(static_cast<uint32_t>(i), cohort_score);
  }
  object.Set("cohort_scores", cohort_scores);
  object.Set("embeddings", embeddings);
  return object;
}

Napi::Value from_png(Napi::Env env, const std::vector<uint8_t>& png) {
  auto array = Napi::Uint8Array::New(env, png.size());
  std::copy(png.begin(), png.end(), array.Data());
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("png", array);
  return object;
}

Napi::Value from_counts(Napi::Env env, const EmbeddingCache::Counts& counts) {
  auto object = Napi::Object::New(env);
  object.Set("hits", static_cast<double>(counts.hits));
  object.Set("misses", static_cast<double>(counts.misses));
  object.Set("pictures", static_cast<double>(counts.pictures));
  return object;
}

Napi::Value from_error(Napi::Env env, const Error& error) {
  auto object = Napi::Object::New(env);
  object.Set("ok", false);
  object.Set("code", kErrorCodes[static_cast<size_t>(error.code)]);
  switch (error.code) {
    case ErrorCode::kUnsupportedImageFormat:
      object.Set("field", field_of(error.image));
      object.Set("detected", error.detected);
      break;
    case ErrorCode::kImageDecodeFailed:
    case ErrorCode::kImageTooComplex:
      object.Set("field", field_of(error.image));
      break;
    case ErrorCode::kImageDimensions:
      object.Set("field", field_of(error.image));
      object.Set("width", error.width);
      object.Set("height", error.height);
      object.Set("limit_pixels", static_cast<double>(error.limit_pixels));
      break;
    case ErrorCode::kNoFaceFound: {
      auto errors = Napi::Array::New(env);
      for (int image = 1; image <= 2; ++image) {
        if (!error.missing[static_cast<size_t>(image - 1)]) continue;
        auto entry = Napi::Object::New(env);
        entry.Set("field", field_of(image));
        entry.Set("code", kErrorCodes[static_cast<size_t>(error.code)]);
        if (error.cut_short[static_cast<size_t>(image - 1)]) entry.Set("look_cut_short", true);
        errors.Set(errors.Length(), entry);
      }
      object.Set("errors", errors);
      break;
    }
    case ErrorCode::kFaceIndexOutOfRange:
      object.Set("field", field_of(error.image));
      object.Set("faces_found", error.faces_found);
      break;
    case ErrorCode::kInternalError:
      object.Set("message", error.message);
      break;
  }
  return object;
}

}  // namespace facematch::binding
