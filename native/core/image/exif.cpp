#include "exif.h"

#include <cstring>
#include <optional>

namespace facematch {
namespace {

// TIFF 6.0 section 2: byte order mark, 42, offset of IFD0; an IFD is a count and 12-byte entries.
class TiffReader {
 public:
  explicit TiffReader(std::span<const uint8_t> block) : block_(block) {}

  bool open() {
    if (block_.size() < 8) return false;
    if (block_[0] == 'I' && block_[1] == 'I') {
      little_endian_ = true;
    } else if (!(block_[0] == 'M' && block_[1] == 'M')) {
      return false;
    }
    return u16(2) == 42;
  }

  std::optional<uint16_t> u16(size_t at) const {
    if (at + 2 > block_.size()) return std::nullopt;
    const uint16_t a = block_[at];
    const uint16_t b = block_[at + 1];
    return static_cast<uint16_t>(little_endian_ ? a | b << 8 : a << 8 | b);
  }

  std::optional<uint32_t> u32(size_t at) const {
    const auto first = u16(at);
    const auto second = u16(at + 2);
    if (!first || !second) return std::nullopt;
    const uint32_t a = *first;
    const uint32_t b = *second;
    return little_endian_ ? a | b << 16 : a << 16 | b;
  }

 private:
  std::span<const uint8_t> block_;
  bool little_endian_ = false;
};

}  // namespace

int exif_orientation(std::span<const uint8_t> block) {
  constexpr uint16_t kOrientation = 0x0112;
  constexpr uint16_t kShort = 3;
  if (block.size() >= 6 && std::memcmp(block.data(), "Exif\0\0", 6) == 0) block = block.subspan(6);
  TiffReader tiff(block);
  if (!tiff.open()) return 1;
  const auto ifd = tiff.u32(4);
  if (!ifd) return 1;
  const size_t start = *ifd;
  const auto count = tiff.u16(start);
  if (!count) return 1;
  for (size_t i = 0; i < *count; ++i) {
    const size_t entry = start + 2 + i * 12;
    const auto tag = tiff.u16(entry);
    if (!tag) return 1;
    if (*tag != kOrientation) continue;
    if (tiff.u16(entry + 2) != kShort) return 1;
    const auto value = tiff.u16(entry + 8);
    return value && *value >= 1 && *value <= 8 ? *value : 1;
  }
  return 1;
}

}  // namespace facematch
