#include "exif_block.h"

namespace facematch::testing {
namespace {

class Writer {
 public:
  explicit Writer(bool little_endian) : little_endian_(little_endian) {}

  void u16(uint16_t value) {
    const auto high = static_cast<uint8_t>(value >> 8);
    const auto low = static_cast<uint8_t>(value & 0xFF);
    bytes.push_back(little_endian_ ? low : high);
    bytes.push_back(little_endian_ ? high : low);
  }

  void u32(uint32_t value) {
    const auto high = static_cast<uint16_t>(value >> 16);
    const auto low = static_cast<uint16_t>(value & 0xFFFF);
    u16(little_endian_ ? low : high);
    u16(little_endian_ ? high : low);
  }

  // A value of type SHORT is in the first of the four bytes, in either byte order.
  void entry(uint16_t tag, uint16_t type, uint16_t value) {
    u16(tag);
    u16(type);
    u32(1);
    u16(value);
    u16(0);
  }

  std::vector<uint8_t> bytes;

 private:
  bool little_endian_;
};

}  // namespace

std::vector<uint8_t> ExifBlock::bytes() const {
  Writer out(little_endian);
  if (jpeg_prefix) out.bytes = {'E', 'x', 'i', 'f', 0, 0};
  const uint8_t mark = little_endian ? 'I' : 'M';
  out.bytes.insert(out.bytes.end(), {mark, mark});
  out.u16(magic);
  out.u32(claimed_start.value_or(8));
  out.u16(claimed_count.value_or(static_cast<uint16_t>(entries_before + 1)));
  for (int i = 0; i < entries_before; ++i) out.entry(static_cast<uint16_t>(0x0100 + i), 3, 7);
  out.entry(tag, type, orientation);
  out.u32(0);  // no further IFD
  return out.bytes;
}

}  // namespace facematch::testing
