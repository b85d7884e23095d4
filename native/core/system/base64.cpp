#include "base64.h"

#include <array>
#include <string_view>

namespace facematch {
namespace {

constexpr uint8_t kOther = 64;  // not a letter of the alphabet

constexpr std::array<uint8_t, 256> values_of_letters() {
  std::array<uint8_t, 256> values{};
  values.fill(kOther);
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < letters.size(); ++i)
    values[static_cast<uint8_t>(letters[i])] = static_cast<uint8_t>(i);
  return values;
}
constexpr auto kValues = values_of_letters();

int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int letter = c | 0x20;
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// Returns the value of the letter at `at`, and advances `at`. Returns kOther if there is no letter.
uint8_t next_value(std::span<const uint8_t> text, size_t& at) {
  if (at >= text.size()) return kOther;
  if (text[at] != '\\') return kValues[text[at++]];
  if (at + 1 < text.size() && text[at + 1] == '/') {
    at += 2;
    return kValues['/'];
  }
  if (at + 6 > text.size() || text[at + 1] != 'u' || text[at + 2] != '0' || text[at + 3] != '0')
    return kOther;
  const int high = hex_digit(text[at + 4]), low = hex_digit(text[at + 5]);
  if (high < 0 || low < 0) return kOther;
  at += 6;
  return kValues[static_cast<size_t>(high * 16 + low)];
}

}  // namespace

Base64Progress decode_base64_groups(std::span<uint8_t> text) {
  Base64Progress done{0, 0};
  for (;;) {
    size_t at = done.read;
    uint32_t bits = 0;
    uint8_t faults = 0;
    if (at + 4 <= text.size()) {
      for (size_t i = 0; i < 4; ++i) {
        const uint8_t value = kValues[text[at + i]];
        faults |= value;
        bits = bits << 6 | (value & 63);
      }
    }
    if (at + 4 <= text.size() && faults < kOther) {
      at += 4;
    } else {
      bits = 0;
      for (int i = 0; i < 4; ++i) {
        const uint8_t value = next_value(text, at);
        if (value == kOther) return done;
        bits = bits << 6 | value;
      }
    }
    // Never overwrites unread bytes, because a group has at least four bytes.
    text[done.written] = static_cast<uint8_t>(bits >> 16);
    text[done.written + 1] = static_cast<uint8_t>(bits >> 8);
    text[done.written + 2] = static_cast<uint8_t>(bits);
    done = {at, done.written + 3};
  }
}

}  // namespace facematch
