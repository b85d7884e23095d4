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

// Numbers of the fields that are read, from onnx.proto.
constexpr uint64_t kModelGraph = 7;
constexpr uint64_t kGraphNode = 1, kGraphInitializer = 5;
constexpr uint64_t kNodeInput = 1, kNodeOperator = 4, kNodeDomain = 7;
constexpr uint64_t kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr uint8_t kUint8 = 2, kInt8 = 3;

// Inputs of QLinearConv.
constexpr size_t kWeights = 3, kZeroPoint = 5;

constexpr uint8_t kShift = 128;

struct Field {
  uint64_t number;
  std::span<uint8_t> bytes;  // of a number its varint, of all else the content
};

std::string_view text_of(const Field& field) {
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}

// The fields of one message of a protobuf file, one after another; it ends early where the message
// is damaged.
class Fields {
 public:
  explicit Fields(std::span<uint8_t> message) : rest_(message) {}

  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag) return std::nullopt;
    const uint64_t number = *tag >> 3;
    const std::span<uint8_t> start = rest_;
    switch (*tag & 7) {
      case 0:
        if (!varint()) return std::nullopt;
        return Field{number, start.first(start.size() - rest_.size())};
      case 1:
        return take(number, 8);
      case 2: {
        const auto size = varint();
        return size ? take(number, *size) : std::nullopt;
      }
      case 5:
        return take(number, 4);
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < rest_.size() && i < 9; ++i) {
      value |= static_cast<uint64_t>(rest_[i] & 0x7F) << (7 * i);
      if ((rest_[i] & 0x80) != 0) continue;
      rest_ = rest_.subspan(i + 1);
      return value;
    }
    return std::nullopt;
  }

  std::optional<Field> take(uint64_t number, uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const Field field{number, rest_.first(static_cast<size_t>(size))};
    rest_ = rest_.subspan(static_cast<size_t>(size));
    return field;
  }

  std::span<uint8_t> rest_;
};

template <typename Use>
void each(std::span<uint8_t> message, uint64_t number, Use use) {
  Fields fields(message);
  while (const auto field = fields.next()) {
    if (field->number == number) use(*field);
  }
}

// The names of weights and zero points.
void collect(std::span<uint8_t> node, std::set<std::string_view>& names) {
  std::vector<std::string_view> inputs;
  std::string_view operation, domain;
  Fields fields(node);
  while (const auto field = fields.next()) {
    if (field->number == kNodeInput) inputs.push_back(text_of(*field));
    if (field->number == kNodeOperator) operation = text_of(*field);
    if (field->number == kNodeDomain) domain = text_of(*field);
  }
  if (operation != "QLinearConv" || domain != "com.microsoft" || inputs.size() <= kZeroPoint)
    return;
  names.insert({inputs[kWeights], inputs[kZeroPoint]});
}

bool move_up(std::span<uint8_t> tensor, const std::set<std::string_view>& names) {
  std::optional<Field> type, name, raw;
  Fields fields(tensor);
  while (const auto field = fields.next()) {
    if (field->number == kTensorType) type = field;
    if (field->number == kTensorName) name = field;
    if (field->number == kTensorRaw) raw = field;
  }
  if (!type || !name || !raw || type->bytes.front() != kInt8) return false;
  if (!names.contains(text_of(*name))) return false;
  type->bytes.front() = kUint8;
  for (uint8_t& byte : raw->bytes) byte ^= kShift;
  return true;
}

}  // namespace

bool make_weights_unsigned(std::span<uint8_t> model) {
  bool any = false;
  each(model, kModelGraph, [&](const Field& graph) {
    std::set<std::string_view> names;
    each(graph.bytes, kGraphNode, [&](const Field& node) { collect(node.bytes, names); });
    each(graph.bytes, kGraphInitializer,
         [&](const Field& tensor) { any = move_up(tensor.bytes, names) || any; });
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
