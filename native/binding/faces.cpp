#include "faces.h"

#include <algorithm>
#include <string>

#include "../core/error.h"

namespace facematch::binding {
namespace {

float to_float(const Napi::Value& value) { return value.As<Napi::Number>().FloatValue(); }

Point to_point(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  return {to_float(array.Get(uint32_t{0})), to_float(array.Get(uint32_t{1}))};
}

Box to_box(const Napi::Object& box) {
  return {to_float(box.Get("x")), to_float(box.Get("y")), to_float(box.Get("width")),
          to_float(box.Get("height"))};
}

Landmarks to_landmarks(const Napi::Object& points) {
  return {to_point(points.Get("right_eye")), to_point(points.Get("left_eye")),
          to_point(points.Get("nose")), to_point(points.Get("mouth_right")),
          to_point(points.Get("mouth_left"))};
}

FoundBy to_found_by(const std::string& word) {
  const auto* found = std::find(kFoundBy.begin(), kFoundBy.end(), word);
  if (found != kFoundBy.end()) return static_cast<FoundBy>(found - kFoundBy.begin());
  throw Error(ErrorCode::kInternalError, "a face was found by a step that is not known: " + word);
}

Face to_face(const Napi::Object& object) {
  Face face;
  face.box = to_box(object.Get("box").As<Napi::Object>());
  face.landmarks = to_landmarks(object.Get("landmarks").As<Napi::Object>());
  face.detection_score = to_float(object.Get("detection_score"));
  face.found_by = to_found_by(object.Get("found_by").As<Napi::String>());
  return face;
}

}  // namespace

std::vector<Face> to_faces(const Napi::Array& array) {
  std::vector<Face> faces;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    faces.push_back(to_face(array.Get(i).As<Napi::Object>()));
  }
  return faces;
}

}  // namespace facematch::binding
