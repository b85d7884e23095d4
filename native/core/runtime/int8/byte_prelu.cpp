#include "byte_prelu.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>

#include "../ort.h"

namespace facematch {
namespace {

using Constants = BytePRelu::Constants;

constexpr int kMaxBits = 15;
constexpr int kMinBits = 11;
// Shift of a distance from x_zero. The distance has nine bits, including its sign.
constexpr int kDistanceBits = 7;

// Returns the upper half of a product. Every CPU has a vector instruction for it, so the whole loop
// stays within 16 bits.
inline int16_t high_product(int16_t a, int16_t b) {
  return static_cast<int16_t>((int32_t{a} * b) >> 16);
}

// The compiler vectorises this loop. No sum overflows: see the constructor.
[[gnu::always_inline]] inline void run_rows(std::span<const uint8_t> x, uint8_t* y,
                                            std::span<const int16_t> down_of,
                                            const Constants& constants) {
  const auto [x_zero, up, raise, top, scale] = constants;
  const int16_t* const down = down_of.data();
  const size_t size = x.size(), channels = down_of.size();
  for (size_t row = 0; row < size; row += channels) {
    const uint8_t* const from = x.data() + row;
    uint8_t* const to = y + row;
// `from` and `to` may be the same: no iteration reads what another writes.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (size_t c = 0; c < channels; ++c) {
      const auto distance = static_cast<int16_t>(from[c] - x_zero);
      const int16_t below = down[c];  // read unconditionally to avoid a branch
      const auto factor =
          static_cast<int16_t>(below + ((up - below) & -static_cast<int16_t>(distance > 0)));
      const int16_t bent = high_product(static_cast<int16_t>(distance << kDistanceBits), factor);
      const auto raised = static_cast<int16_t>(bent + raise);
      // Multiplies again, because a shift by a variable is not a 16-bit vector instruction.
      to[c] = static_cast<uint8_t>(high_product(std::clamp<int16_t>(raised, 0, top), scale));
    }
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void run_avx2(std::span<const uint8_t> x, uint8_t* y,
                                      std::span<const int16_t> down, const Constants& constants) {
  run_rows(x, y, down, constants);
}
#endif

}  // namespace

// If a factor has b fractional bits, a product has b - 9: the distance adds kDistanceBits, and
// high_product drops 16. A factor has 15 bits, so a product stays within 2^14. So does y_zero,
// which is at most 255 * 2^6.
BytePRelu::BytePRelu(uint8_t x_zero, float up, std::span<const float> down, uint8_t y_zero) {
  float max_factor = std::abs(up);
  for (const float factor : down) max_factor = std::max(max_factor, std::abs(factor));
  constexpr float kMaxFactor = std::numeric_limits<int16_t>::max();
  int bits = kMaxBits;
  while (bits > kMinBits && !(std::ldexp(max_factor, bits) <= kMaxFactor)) --bits;
  const auto whole = [&](float factor) {
    const float scaled = std::ldexp(factor, bits);
    if (!(std::abs(scaled) <= kMaxFactor) || scaled != std::trunc(scaled)) {
      throw std::invalid_argument("a factor of BytePRelu does not fit in 16 bits");
    }
    return static_cast<int16_t>(scaled);
  };
  std::transform(down.begin(), down.end(), std::back_inserter(down_), whole);
  if (down_.empty()) throw std::invalid_argument("BytePRelu has no channels");
  const int left = bits + kDistanceBits - 16;
  constants_ = {.x_zero = x_zero,
                .up = whole(up),
                .raise = static_cast<int16_t>((y_zero << left) + (1 << (left - 1))),
                .top = static_cast<int16_t>((256 << left) - 1),
                .scale = static_cast<int16_t>(1 << (16 - left))};
}

void BytePRelu::run(std::span<const uint8_t> x, std::span<uint8_t> y,
                    [[maybe_unused]] bool portable) const {
#ifdef __x86_64__
  if (!portable && __builtin_cpu_supports("avx2")) return run_avx2(x, y.data(), down_, constants_);
#endif
  run_rows(x, y.data(), down_, constants_);
}

namespace {

enum Input : size_t { kX, kXZero, kUp, kDown, kYZero, kInputs };

template <typename T>
std::span<const T> constant(const ort::KernelInfo* info, Input input) {
  int is_constant = 0;
  const ort::ValueData* value = nullptr;
  ort::check(ort::api::KernelInfoGetConstantInput_tensor(info, input, &is_constant, &value));
  const size_t size = is_constant != 0 ? ort::type_of(value).count() : 0;
  if (size == 0) throw std::invalid_argument("an input of BytePRelu is not a constant");
  return {ort::data_of<T>(value), size};
}

void run(const BytePRelu& prelu, ort::KernelContext* context) {
  const ort::ValueData* x = nullptr;
  ort::check(ort::api::KernelContext_GetInput(context, kX, &x));
  const auto type = ort::type_of(x);
  const auto& shape = type.shape;
  if (shape.empty() || static_cast<size_t>(shape.back()) != prelu.channels()) {
    throw std::invalid_argument(
        "the input of BytePRelu has a different number of channels than its factors");
  }
  ort::ValueData* y = nullptr;
  ort::check(ort::api::KernelContext_GetOutput(context, 0, shape.data(), shape.size(), &y));
  prelu.run({ort::data_of<uint8_t>(x), type.count()}, {ort::data_of<uint8_t>(y), type.count()});
}

// ONNX Runtime calls these functions from C, so they must not throw.
ort::CustomOperator described() {
  using ort::CustomOperator;
  CustomOperator one;
  one.name = [](const CustomOperator*) { return "BytePRelu"; };
  one.provider = [](const CustomOperator*) -> const char* { return nullptr; };  // the CPU
  one.input_count = [](const CustomOperator*) -> size_t { return kInputs; };
  one.input_type = [](const CustomOperator*, size_t input) {
    return input == kUp || input == kDown ? ort::Element::kFloat : ort::Element::kUint8;
  };
  one.output_count = [](const CustomOperator*) -> size_t { return 1; };
  one.output_type = [](const CustomOperator*, size_t) { return ort::Element::kUint8; };
  one.input_presence = [](const CustomOperator*, size_t) { return ort::Presence::kRequired; };
  one.output_presence = one.input_presence;
  one.input_memory = [](const CustomOperator*, size_t) { return ort::MemoryKind::kDefault; };
  one.variadic_input_minimum = [](const CustomOperator*) { return 1; };
  one.variadic_input_alike = one.variadic_input_minimum;
  one.variadic_output_minimum = one.variadic_input_minimum;
  one.variadic_output_alike = one.variadic_input_minimum;
  one.first_version = one.variadic_input_minimum;
  one.last_version = [](const CustomOperator*) { return std::numeric_limits<int>::max(); };
  one.create = [](const CustomOperator*, ort::Table, const ort::KernelInfo* info,
                  void** kernel) noexcept -> ort::StatusData* {
    try {
      *kernel = std::make_unique<BytePRelu>(
                    constant<uint8_t>(info, kXZero)[0], constant<float>(info, kUp)[0],
                    constant<float>(info, kDown), constant<uint8_t>(info, kYZero)[0])
                    .release();
      return nullptr;
    } catch (const std::exception& error) {
      return ort::status_of(ort::ErrorKind::kInvalidGraph, error);
    }
  };
  one.compute = [](void* kernel, ort::KernelContext* context) noexcept -> ort::StatusData* {
    try {
      run(*static_cast<const BytePRelu*>(kernel), context);
      return nullptr;
    } catch (const std::exception& error) {
      return ort::status_of(ort::ErrorKind::kFail, error);
    }
  };
  one.destroy = [](void* kernel) { delete static_cast<BytePRelu*>(kernel); };
  // The output has the type and shape of x. Without this function, the runtime would not know the
  // shapes after the operator, and would optimise less.
  one.infer_shape = [](const CustomOperator*, ort::ShapeContext* context) -> ort::StatusData* {
    ort::TensorTypeData* x = nullptr;
    auto* status = ort::api::ShapeInferContext_GetInputTypeShape(context, kX, &x);
    if (status != nullptr) return status;
    return ort::api::ShapeInferContext_SetOutputTypeShape(context, 0, x);
  };
  // The output may reuse the memory of x, which has no other reader.
  one.may_share = [](int** input, int** output) -> size_t {
    *input = new int[1]{kX};
    *output = new int[1]{0};
    return 1;
  };
  one.release_may_share = [](int* input, int* output) {
    delete[] input;
    delete[] output;
  };
  return one;
}

}  // namespace

ort::OperatorDomain* own_operators() {
  static const ort::CustomOperator one = described();
  static auto* const domain = ort::make_domain("facematch", one);
  return domain;
}

}  // namespace facematch
