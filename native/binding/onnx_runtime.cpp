#include "onnx_runtime.h"

#include "../core/runtime/net_facts.h"
#include "../core/runtime/onnx_runtime.h"

namespace facematch::binding {
namespace {

template <typename Convert>
auto to_list(const Napi::Value& value, Convert convert) {
  std::vector<decltype(convert(value))> list;
  if (!value.IsArray()) return list;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) list.push_back(convert(array[i]));
  return list;
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
    const auto text = [](const Napi::Value& value) -> std::string { return value.ToString(); };
    use_onnx_runtime(to_list(info[0], text), info[1].As<Napi::String>());
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
    const auto side = [](const Napi::Value& value) { return value.ToNumber().Int64Value(); };
    const NetFacts net = net_facts(info[0].As<Napi::String>(), to_list(info[1], side));
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
