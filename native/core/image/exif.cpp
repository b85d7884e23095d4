#include "exif.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace facematch {

namespace {

// Returns the number of bytes of a value of a TIFF type; 0 for a type that is not an integer.
size_t bytes_of(uint32_t type) {
  constexpr std::array<uint8_t, 10> kBytes = {0, 1, 0, 2, 4, 0, 1, 0, 2, 4};
  return type < kBytes.size() ? kBytes[type] : 0;
}

// TIFF 6.0 section 2: byte order mark, 42, offset of IFD0; an IFD is a count and 12-byte entries
// of tag, type, number of values, and up to four bytes of values.
class Tiff {
 public:
  explicit Tiff(std::span<const uint8_t> bytes) : bytes_(bytes) {
    if (bytes.size() < 8 || bytes[0] != bytes[1] || (bytes[0] != 'I' && bytes[0] != 'M')) return;
    little_endian_ = bytes[0] == 'I';
    if (number(2, 2) != 42) return;
    const size_t start = number(4, 4);
    first_ = start + 2;
    end_ = std::min(bytes.size(), first_ + size_t{12} * number(start, 2));
  }

  // Returns 0 beyond the end.
  uint32_t number(size_t at, size_t bytes) const {
    if (at + bytes > bytes_.size()) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value = value << 8 | bytes_[little_endian_ ? at + bytes - 1 - i : at + i];
    }
    return value;
  }

  // Calls `use` with the offset of each entry of IFD0 with that tag, until `use` returns true.
  template <typename Use>
  void each(uint32_t tag, Use use) const {
    for (size_t entry = first_; entry < end_; entry += 12) {
      if (number(entry, 2) == tag && use(entry)) return;
    }
  }

  bool has(uint32_t tag) const {
    bool found = false;
    each(tag, [&](size_t) { return found = true; });
    return found;
  }

 private:
  std::span<const uint8_t> bytes_;
  bool little_endian_ = true;
  size_t first_ = 0;
  size_t end_ = 0;
};

}  // namespace

std::optional<int> exif_orientation(std::span<const uint8_t> block) {
  constexpr uint32_t kOrientation = 0x0112;
  if (block.size() >= 6 && std::memcmp(block.data(), "Exif", 5) == 0) block = block.subspan(6);
  const Tiff tiff(block);
  std::optional<int> found;
  tiff.each(kOrientation, [&](size_t entry) {
    const size_t bytes = bytes_of(tiff.number(entry + 2, 2)), count = tiff.number(entry + 4, 4);
    const uint32_t value = count >= 1 && count * bytes <= 4 ? tiff.number(entry + 8, bytes) : 0;
    if (value >= 1 && value <= 8) found = static_cast<int>(value);
    return found.has_value();
  });
  return found;
}

bool is_camera_raw(std::span<const uint8_t> file) {
  constexpr uint32_t kMake = 0x010F, kSubIfds = 0x014A, kDngVersion = 0xC612;
  const Tiff tiff(file);
  return tiff.has(kDngVersion) || (tiff.has(kMake) && tiff.has(kSubIfds));
}

}  // namespace facematch
