// PReLU on bytes with the channels last, as an operator for ONNX Runtime: it has none for integers,
// and one composed of its own operators is slow (models/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace facematch {
namespace ort {
struct OperatorDomain;
}

// y = saturate(floor(f * (x - x_zero) + 1/2) + y_zero), where f is `up` for an x above x_zero and
// the channel's `down` for one below. It uses only integers, so every CPU returns the same.
class BytePRelu {
 public:
  struct Constants {
    int16_t x_zero;
    int16_t up;
    int16_t raise;  // y_zero + 1/2, with the fractional bits of a product
    int16_t top;    // 255 and all those bits
    int16_t scale;  // whose upper half of a product drops those bits
  };

  // The factors are below 16 in size, and multiples of 2^-b with the largest b <= 15 for which all
  // fit in 15 bits. Throws std::invalid_argument for others.
  BytePRelu(uint8_t x_zero, float up, std::span<const float> down, uint8_t y_zero);

  size_t channels() const { return down_.size(); }

  // `x` and `y` have the same size, a multiple of channels(), and may be the same. `portably`: as
  // on a CPU without wider instructions.
  void run(std::span<const uint8_t> x, std::span<uint8_t> y, bool portably = false) const;

 private:
  std::vector<int16_t> down_;
  Constants constants_{};
};

// The domain "facematch" with the operator BytePRelu: inputs x, x_zero, up, down, y_zero; output y.
// All but x are constants of the net. Lives as long as the process.
ort::OperatorDomain* own_operators();

}  // namespace facematch
