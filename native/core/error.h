// The refusals that the core can answer with. The words are those of src/errors.ts, kept equal by a
// test.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace facematch {

enum class ErrorCode {
  kUnsupportedImageFormat,  // not JPEG, PNG or WebP: `detected`
  kImageDecodeFailed,       // damaged
  kImageDimensions,         // judged from the header: `width`, `height`, `limit_pixels`
  kImageTooComplex,         // decoding took more time than a picture may take
  kNoFaceFound,             // `missing` says in which image
  kFaceIndexOutOfRange,     // `faces_found`
  kInternalError,           // `message`, for the log
};

constexpr std::array<const char*, 7> kErrorCodes = {
    "unsupported_image_format", "image_decode_failed", "image_dimensions",
    "image_too_complex",        "no_face_found",       "face_index_out_of_range",
    "internal_error",
};

struct Error : std::exception {
  ErrorCode code;
  int image = 1;  // 1 or 2: which field of the form it is about
  std::string detected;
  int width = 0;
  int height = 0;
  int64_t limit_pixels = 0;
  int faces_found = 0;
  std::array<bool, 2> missing = {false, false};
  std::array<bool, 2> cut_short = {false, false};  // of the missing: time ran out while looking
  std::string message;

  explicit Error(ErrorCode error_code) : code(error_code) {}
  Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}

  const char* what() const noexcept override {
    return message.empty() ? kErrorCodes[static_cast<size_t>(code)] : message.c_str();
  }
};

}  // namespace facematch
