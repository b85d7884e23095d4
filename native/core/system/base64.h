// Decodes base64 in a JSON body in place, so that images are not copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace facematch {

struct Base64Progress {
  size_t read;     // number of bytes read
  size_t written;  // number of decoded bytes, written to the start of the text
};

// Decodes complete groups of four letters (RFC 4648 section 4), which may contain JSON escapes (RFC
// 8259 section 7). Stops at the first incomplete group: the end, padding, or an error.
Base64Progress decode_base64_groups(std::span<uint8_t> text);

}  // namespace facematch
