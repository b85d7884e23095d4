#include "unsigned_weights.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace facematch {
namespace {

// Field numbers from onnx.proto.
constexpr uint64_t kModelGraph = 7;
constexpr uint64_t kGraphNode = 1, kGraphInitializer = 5;
constexpr uint64_t kNodeInput = 1, kNodeOperator = 4, kNodeDomain = 7;
constexpr uint64_t kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr uint8_t kUint8 = 2, kInt8 = 3;

// Inputs of QLinearConv.
constexpr size_t kWeights = 3, kZeroPoint = 5;

constexpr uint8_t kShift = 128;

using Message = std::span<uint8_t>;

std::string_view text_of(Message bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads a number from the front; returns nothing if the message is damaged.
std::optional<uint64_t> varint(Message& rest) {
  uint64_t value = 0;
  for (size_t i = 0; i < rest.size() && i < 9; ++i) {
    value |= static_cast<uint64_t>(rest[i] & 0x7F) << (7 * i);
    if ((rest[i] & 0x80) != 0) continue;
    rest = rest.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

// Calls `use` with the number and the bytes of each field of a protobuf message: the varint of an
// integer, otherwise the content. Stops where the message is damaged.
template <typename Use>
void each_field(Message rest, Use use) {
  while (const auto tag = varint(rest)) {
    const Message start = rest;
    std::optional<uint64_t> size;
    switch (*tag & 7) {
      case 0:
        if (varint(rest)) size = start.size() - rest.size();
        rest = start;
        break;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint(rest);
        break;
      case 5:
        size = 4;
        break;
    }
    if (!size || *size > rest.size()) return;
    use(*tag >> 3, rest.first(static_cast<size_t>(*size)));
    rest = rest.subspan(static_cast<size_t>(*size));
  }
}

// Adds the names of the node's weights and zero points.
void collect(Message node, std::set<std::string_view>& names) {
  std::vector<std::string_view> inputs;
  std::string_view operation, domain;
  each_field(node, [&](uint64_t number, Message bytes) {
    if (number == kNodeInput) inputs.push_back(text_of(bytes));
    if (number == kNodeOperator) operation = text_of(bytes);
    if (number == kNodeDomain) domain = text_of(bytes);
  });
  if (operation != "QLinearConv" || domain != "com.microsoft" || inputs.size() <= kZeroPoint)
    return;
  names.insert({inputs[kWeights], inputs[kZeroPoint]});
}

bool shift_to_unsigned(Message tensor, const std::set<std::string_view>& names) {
  Message type, name, raw;
  each_field(tensor, [&](uint64_t number, Message bytes) {
    if (number == kTensorType) type = bytes;
    if (number == kTensorName) name = bytes;
    if (number == kTensorRaw) raw = bytes;
  });
  if (type.empty() || type.front() != kInt8 || raw.empty() || !names.contains(text_of(name)))
    return false;
  type.front() = kUint8;
  for (uint8_t& byte : raw) byte ^= kShift;
  return true;
}

}  // namespace

bool make_weights_unsigned(std::span<uint8_t> model) {
  bool any = false;
  each_field(model, [&](uint64_t of_model, Message graph) {
    if (of_model != kModelGraph) return;
    std::set<std::string_view> names;
    each_field(graph, [&](uint64_t number, Message node) {
      if (number == kGraphNode) collect(node, names);
    });
    each_field(graph, [&](uint64_t number, Message tensor) {
      if (number == kGraphInitializer) any = shift_to_unsigned(tensor, names) || any;
    });
  });
  return any;
}

std::vector<uint8_t> with_unsigned_weights(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return {};
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> model{std::istreambuf_iterator<char>(file), {}};
  if (!make_weights_unsigned(model)) model.clear();
  return model;
}

}  // namespace facematch
