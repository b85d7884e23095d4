#include "net_facts.h"

#include <algorithm>

#include "../error.h"
#include "onnx_runtime.h"

namespace facematch {
namespace {

std::string type_word(ONNXTensorElementDataType type) {
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return "float";
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? "float16" : "other";
}

template <typename Info>
TensorFacts facts_of(const std::string& name, const Info& info) {
  return {name, type_word(info.GetElementType()), info.GetShape()};
}

TensorFacts facts_of_type(const std::string& name, const Ort::TypeInfo& type) {
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return {name, "other", {}};
  return facts_of(name, type.GetTensorTypeAndShapeInfo());
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
    net.outputs[i] = facts_of(net.outputs[i].name, results[i].GetTensorTypeAndShapeInfo());
  }
}

}  // namespace

NetFacts net_facts(const std::string& path, const std::vector<int64_t>& input_shape) {
  try {
    Ort::Session session(environment(), path.c_str(), session_options({"cpu"}));
    Ort::AllocatorWithDefaultOptions allocator;
    NetFacts net;
    for (size_t i = 0; i < session.GetInputCount(); ++i) {
      net.inputs.push_back(facts_of_type(session.GetInputNameAllocated(i, allocator).get(),
                                         session.GetInputTypeInfo(i)));
    }
    for (size_t i = 0; i < session.GetOutputCount(); ++i) {
      net.outputs.push_back(facts_of_type(session.GetOutputNameAllocated(i, allocator).get(),
                                          session.GetOutputTypeInfo(i)));
    }
    if (!input_shape.empty() && net.inputs.empty()) {
      throw Error(ErrorCode::kInternalError, "the net " + path + " has no input");
    }
    if (!input_shape.empty()) measure_outputs(session, input_shape, net);
    return net;
  } catch (const Ort::Exception& error) {
    throw Error(ErrorCode::kInternalError, "the net " + path + " cannot be used: " + error.what());
  }
}

}  // namespace facematch
