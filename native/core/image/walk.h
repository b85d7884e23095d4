// Steps through the items of a file: chunks, segments, bytes for a decoder. Walk checks the budget,
// because a file of a few megabytes may have millions of items.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../runtime/budget.h"

namespace facematch {

class Walk {
 public:
  Walk(std::span<const uint8_t> bytes, const Budget& budget) : rest_(bytes), budget_(&budget) {}

  // Returns the remaining bytes.
  std::span<const uint8_t> rest() const { return rest_; }

  // Skips the next bytes, or all that remain. Returns false if the budget is spent; it does not
  // throw, because callbacks of C libraries call it.
  [[nodiscard]] bool pass(size_t count) {
    rest_ = rest_.subspan(std::min(count, rest_.size()));
    unchecked_ += std::min(count, kBytesBetweenChecks) + kBytesOfStep;
    if (unchecked_ < kBytesBetweenChecks) return true;
    unchecked_ = 0;
    return !budget_->spent();
  }

  // Skips the next bytes and returns them. Throws the error of Budget::stop().
  std::span<const uint8_t> take(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    if (!pass(count)) budget_->stop();
    return taken;
  }

 private:
  // Compressed data of this size may inflate to eight megabytes.
  static constexpr size_t kBytesBetweenChecks = 8192;

  // A step costs as much as reading about this many bytes.
  static constexpr size_t kBytesOfStep = 32;

  std::span<const uint8_t> rest_;
  const Budget* budget_;
  size_t unchecked_ = 0;
};

}  // namespace facematch
