#include "values.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
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

// What was found, one number after the other; src/engine/found-numbers.ts gives each its name. One
// array is made, and cloned from thread to thread, far more cheaply than an object of a hundred
// members.
class Numbers {
 public:
  void add(const StageTimings& timings) {
    add({timings.decode, timings.detect, timings.align, timings.embed});
  }

  void add(const ImageReport& report) {
    add({static_cast<double>(report.width), static_cast<double>(report.height),
         static_cast<double>(report.format), static_cast<double>(report.orientation)});
    add_size(report.faces.size());
    for (const Face& face : report.faces) add(face);
  }

  void add(const std::vector<Pair>& pairs) {
    add_size(pairs.size());
    for (const Pair& pair : pairs) {
      add({static_cast<double>(pair.image1_face_index), static_cast<double>(pair.image2_face_index),
           pair.similarity, pair.normalised_similarity});
    }
  }

  Napi::Value to_value(Napi::Env env) const {
    auto array = Napi::Float64Array::New(env, all_.size());
    std::ranges::copy(all_, array.Data());
    return array;
  }

 private:
  void add(std::initializer_list<double> numbers) {
    all_.insert(all_.end(), numbers.begin(), numbers.end());
  }

  void add_size(size_t size) { all_.push_back(static_cast<double>(size)); }

  void add(const Face& face) {
    add({face.box.x, face.box.y, face.box.width, face.box.height});
    for (const Point& point : face.landmarks.points()) add({point.x, point.y});
    add({face.detection_score, static_cast<double>(face.found_by)});
    add({face.pose.yaw, face.pose.pitch, face.pose.roll});
    add({face.quality.sharpness, face.quality.brightness, face.quality.face_pixels});
    add({face.human_score.value_or(std::numeric_limits<float>::quiet_NaN())});
  }

  std::vector<double> all_;
};

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
  Numbers numbers;
  numbers.add(result.timings_ms);
  numbers.add(result.image1);
  numbers.add(result.image2);
  numbers.add(result.pairs);
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("numbers", numbers.to_value(env));
  return object;
}

Napi::Value from_detect(Napi::Env env, const DetectResult& result, bool with_embeddings) {
  Numbers numbers;
  numbers.add(result.timings_ms);
  numbers.add(result.image);
  auto object = Napi::Object::New(env);
  object.Set("ok", true);
  object.Set("numbers", numbers.to_value(env));
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
