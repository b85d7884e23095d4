// PReLU on bytes with the channels last, as a custom operator. ONNX Runtime has no PReLU for
// integers, and one composed of its own operators is slow (docs/research/packs.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace facematch {
namespace ort {
struct OperatorDomain;
}

// y = saturate(floor(f * (x - x_zero) + 1/2) + y_zero), where f is `up` if x > x_zero, and
// otherwise the channel's `down`. It uses only integers, so every CPU returns the same result.
class BytePRelu {
 public:
  struct Constants {
    int16_t x_zero;
    int16_t up;
    int16_t raise;  // y_zero + 1/2, with the fractional bits of a product
    int16_t top;    // 255 with all fractional bits set
    int16_t scale;  // drops the fractional bits in high_product()
  };

  // The absolute values of the factors must be below 16. All must be multiples of 2^-b, for the
  // maximum b <= 15 for which all fit in 15 bits. Throws std::invalid_argument otherwise, and if
  // `down` is empty.
  BytePRelu(uint8_t x_zero, float up, std::span<const float> down, uint8_t y_zero);

  size_t channels() const { return down_.size(); }

  // `x` and `y` have the same size, a multiple of channels(), and may be the same memory.
  // `portable`: does not use AVX2.
  void run(std::span<const uint8_t> x, std::span<uint8_t> y, bool portable = false) const;

 private:
  std::vector<int16_t> down_;
  Constants constants_{};
};

// Returns the domain "facematch" with the operator BytePRelu: inputs x, x_zero, up, down, y_zero;
// output y. All inputs except x are constants of the net. The domain lives as long as the process.
ort::OperatorDomain* own_operators();

}  // namespace facematch
