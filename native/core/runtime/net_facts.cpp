#include "net_facts.h"

#include <algorithm>

#include "onnx_runtime.h"

namespace facematch {
namespace {

std::string type_word(ONNXTensorElementDataType type) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return "float";
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? "float16" : "other";
}

TensorFacts facts_of(const std::string& name, const Ort::TypeInfo& type) {
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return {name, "other", {}};
  const auto info = type.GetTensorTypeAndShapeInfo();
  return {name, type_word(info.GetElementType()), info.GetShape()};
}

void measure_outputs(Ort::Session& session, const std::vector<int64_t>& input_shape,
                     NetFacts& net) {
  Ort::AllocatorWithDefaultOptions allocator;
  auto zeros = Ort::Value::CreateTensor<float>(allocator, input_shape.data(), input_shape.size());
  std::fill_n(zeros.GetTensorMutableData<float>(),
              zeros.GetTensorTypeAndShapeInfo().GetElementCount(), 0.0f);
  const char* input_name = net.inputs.front().name.c_str();
  std::vector<const char*> names;
  for (const auto& output : net.outputs) names.push_back(output.name.c_str());
  const auto results =
      session.Run(Ort::RunOptions{nullptr}, &input_name, &zeros, 1, names.data(), names.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].IsTensor()) continue;
    const auto info = results[i].GetTensorTypeAndShapeInfo();
    net.outputs[i] = {net.outputs[i].name, type_word(info.GetElementType()), info.GetShape()};
  }
}

}  // namespace

NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape) {
  NetFacts net;
  as_errors("the net " + path + " cannot be used: ", [&] {
    Ort::Session session(environment(), path.c_str(), session_options({"cpu"}));
    const auto [inputs, outputs] = names_of(session);
    for (size_t i = 0; i < inputs.size(); ++i)
      net.inputs.push_back(facts_of(inputs[i], session.GetInputTypeInfo(i)));
    for (size_t i = 0; i < outputs.size(); ++i)
      net.outputs.push_back(facts_of(outputs[i], session.GetOutputTypeInfo(i)));
    if (input_shape.empty()) return;
    if (inputs.empty()) throw Error(ErrorCode::kInternalError, "the net " + path + " has no input");
    measure_outputs(session, input_shape, net);
  });
  return net;
}

}  // namespace facematch
