#include "onnx_runtime.h"

#include "../core/runtime/net_facts.h"
#include "../core/runtime/onnx_runtime.h"

namespace facematch::binding {
namespace {

std::vector<std::string> to_texts(const Napi::Array& array) {
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value value = array[i];
    texts.push_back(value.ToString());
  }
  return texts;
}

std::vector<int64_t> to_sides(const Napi::Array& array) {
  std::vector<int64_t> sides;
  for (uint32_t i = 0; i < array.Length(); ++i) {
    const Napi::Value value = array[i];
    sides.push_back(value.ToNumber().Int64Value());
  }
  return sides;
}

template <typename List>
Napi::Array from_list(Napi::Env env, const List& list) {
  auto array = Napi::Array::New(env, list.size());
  for (uint32_t i = 0; i < list.size(); ++i) array.Set(i, list[i]);
  return array;
}

Napi::Array from_tensors(Napi::Env env, const std::vector<TensorFacts>& tensors) {
  auto array = Napi::Array::New(env, tensors.size());
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    auto object = Napi::Object::New(env);
    object.Set("name", tensors[i].name);
    object.Set("type", tensors[i].type);
    const std::vector<double> shape(tensors[i].shape.begin(), tensors[i].shape.end());
    object.Set("shape", from_list(env, shape));
    array.Set(i, object);
  }
  return array;
}

void UseOnnxRuntime(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsArray() || !info[1].IsString())
    throw Napi::TypeError::New(env, "Expected a list of providers and the file of a library");
  throwing(env, [&] {
    use_onnx_runtime(to_texts(info[0].As<Napi::Array>()), info[1].As<Napi::String>());
  });
}

Napi::Value OnnxRuntime(const Napi::CallbackInfo& info) {
  const OnnxRuntimeFacts facts = onnx_runtime_facts();
  auto object = Napi::Object::New(info.Env());
  object.Set("version", facts.version);
  object.Set("providers", from_list(info.Env(), facts.providers));
  object.Set("available", from_list(info.Env(), facts.available));
  return object;
}

Napi::Value DescribeNet(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString()) throw Napi::TypeError::New(env, "Expected the file of a net first");
  return throwing(env, [&]() -> Napi::Value {
    const auto shape =
        info[1].IsArray() ? to_sides(info[1].As<Napi::Array>()) : std::vector<int64_t>{};
    const NetFacts net = net_facts(info[0].As<Napi::String>(), shape);
    auto object = Napi::Object::New(env);
    object.Set("inputs", from_tensors(env, net.inputs));
    object.Set("outputs", from_tensors(env, net.outputs));
    return object;
  });
}

}  // namespace

void export_onnx_runtime(Napi::Env env, Napi::Object exports) {
  exports.Set("describeNet", Napi::Function::New(env, DescribeNet));
  exports.Set("onnxRuntime", Napi::Function::New(env, OnnxRuntime));
  exports.Set("useOnnxRuntime", Napi::Function::New(env, UseOnnxRuntime));
}

}  // namespace facematch::binding
