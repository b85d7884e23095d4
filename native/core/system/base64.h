// Base64 in the JSON of a body, decoded in place: no copy of an image is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace facematch {

struct Base64Progress {
  size_t read;     // bytes of the text
  size_t written;  // bytes that they encode, written from the start of the text
};

// Decodes whole groups of four letters (RFC 4648 section 4), which may be written with the escapes
// of JSON (RFC 8259 section 7), up to the first incomplete group: the end, padding, or an error.
Base64Progress decode_base64_groups(std::span<uint8_t> text);

}  // namespace facematch
