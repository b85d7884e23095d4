#include "manifest.h"

#include "../core/runtime/manifest.h"

namespace facematch::binding {
namespace {

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

}  // namespace facematch::binding
