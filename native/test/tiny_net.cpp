#include "tiny_net.h"

namespace facematch::testing {
namespace {

// A message of Protocol Buffers. Field numbers are those of onnx.proto, IR version 7.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }

  Message& bytes(int field, const std::string& value) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }

  Message& message(int field, const Message& value) { return bytes(field, value.text_); }

  const std::string& text() const { return text_; }

 private:
  void varint(uint64_t value) {
    for (; value >= 128; value >>= 7) text_ += static_cast<char>(value | 128);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

Message node(const std::string& type, const std::vector<std::string>& inputs,
             const std::string& output) {
  Message message;
  for (const auto& input : inputs) message.bytes(1, input);
  return message.bytes(2, output).bytes(4, type);
}

Message cast(const std::string& input, const std::string& output, int to) {
  constexpr int kIntAttribute = 2;
  const Message attribute =
      Message().bytes(1, "to").number(3, static_cast<uint64_t>(to)).number(20, kIntAttribute);
  return node("Cast", {input}, output).message(5, attribute);
}

Message integers(const std::string& name, const std::vector<int64_t>& values) {
  constexpr int kIntsAttribute = 7;
  Message attribute = Message().bytes(1, name).number(20, kIntsAttribute);
  for (const int64_t value : values) attribute.number(8, static_cast<uint64_t>(value));
  return attribute;
}

// TensorProto of one dimension.
template <typename Number>
Message constant(const std::string& name, int type, const std::vector<Number>& numbers) {
  const auto* const raw = reinterpret_cast<const char*>(numbers.data());
  return Message()
      .number(1, numbers.size())
      .number(2, static_cast<uint64_t>(type))
      .bytes(8, name)
      .bytes(9, {raw, raw + numbers.size() * sizeof(Number)});
}

// ValueInfoProto. An output declares no shape.
Message value(const std::string& name, int type, const std::vector<int64_t>* shape,
              bool one_name = false) {
  Message tensor;
  tensor.number(1, static_cast<uint64_t>(type));
  if (shape != nullptr) {
    Message dimensions;
    for (size_t i = 0; i < shape->size(); ++i) {
      const int64_t side = (*shape)[i];
      dimensions.message(1, side < 0
                                ? Message().bytes(2, one_name ? "?" : "open" + std::to_string(i))
                                : Message().number(1, static_cast<uint64_t>(side)));
    }
    tensor.message(2, dimensions);
  }
  return Message().bytes(1, name).message(2, Message().message(1, tensor));
}

}  // namespace

ByteVector TinyNet::file() const {
  Message graph;
  const bool floats = input_type == kFloatType;
  if (!floats) graph.message(1, cast(input, "as floats", kFloatType));
  const std::string from = floats ? input : "as floats";
  graph.message(1, node("ReduceMean", {from}, "mean"));
  for (const TinyOutput& output : outputs) {
    const std::string own = "of " + output.name + ": ";
    if (output.kind == TinyKind::kWhere) {
      graph.message(1, node("NonZero", {from}, own + "positions"))
          .message(1, cast(own + "positions", output.name, output.type));
      continue;
    }
    const bool casts = output.kind == TinyKind::kCast;
    const std::string shaped = casts ? own + "shaped" : output.name;
    const std::string sum = output.shape.empty() ? shaped : own + "sum";
    graph.message(5, constant(own + "numbers", kFloatType, output.numbers));
    if (output.kind == TinyKind::kCells) {
      const std::vector<int64_t> window = {output.stride, output.stride};
      graph
          .message(1, node("AveragePool", {from}, own + "pooled")
                          .message(5, integers("kernel_shape", window))
                          .message(5, integers("strides", window)))
          .message(
              1,
              node("ReduceMean", {own + "pooled"}, own + "cells").message(5, integers("axes", {1})))
          .message(1, node("Reshape", {own + "cells", own + "column"}, own + "rows"))
          .message(1, node("Mul", {own + "rows", own + "numbers"}, sum))
          .message(5, constant<int64_t>(own + "column", kInt64Type, {-1, 1}));
    } else {
      graph.message(1, node("Mul", {"mean", own + "gain"}, own + "share"))
          .message(1, node("Add", {own + "share", own + "numbers"}, sum))
          .message(5, constant<float>(own + "gain", kFloatType, {output.gain}));
    }
    if (!output.shape.empty()) {
      graph.message(1, node("Reshape", {sum, own + "shape"}, shaped))
          .message(5, constant(own + "shape", kInt64Type, output.shape));
    }
    if (casts) graph.message(1, cast(shaped, output.name, output.type));
  }
  graph.bytes(2, "tiny").message(11, value(input, input_type, &shape, one_name));
  for (const TinyOutput& output : outputs)
    graph.message(12, value(output.name, output.type, nullptr));
  constexpr int kIrVersion = 7, kOperators = 11;
  const std::string text = Message()
                               .number(1, kIrVersion)
                               .message(7, graph)
                               .message(8, Message().bytes(1, "").number(2, kOperators))
                               .text();
  return {text.begin(), text.end()};
}

}  // namespace facematch::testing
