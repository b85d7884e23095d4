// The errors that the core can throw. src/errors.ts has the same codes; a test compares them.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace facematch {

enum class ErrorCode {
  kUnsupportedImageFormat,  // format, kind of JPEG or colours; sets `detected`
  kImageDecodeFailed,       // damaged image; sets `message`, for the log
  kImageDimensions,         // checked in the header; sets `width`, `height`, `limit_pixels`
  kImageTooComplex,         // decoding exceeded the image's time limit
  kInternalError,           // any other error; sets `message`, for the log
};

constexpr std::array<const char*, 5> kErrorCodes = {
    "unsupported_image_format", "image_decode_failed", "image_dimensions",
    "image_too_complex",        "internal_error",
};

struct Error : std::exception {
  ErrorCode code;
  std::string detected;
  int width = 0;
  int height = 0;
  int64_t limit_pixels = 0;
  std::string message;

  explicit Error(ErrorCode error_code) : code(error_code) {}
  Error(ErrorCode error_code, std::string text) : code(error_code), message(std::move(text)) {}

  const char* what() const noexcept override {
    return message.empty() ? kErrorCodes[static_cast<size_t>(code)] : message.c_str();
  }
};

// Returns the error for running out of memory, which is never the image's fault.
inline Error out_of_memory() { return {ErrorCode::kInternalError, "out of memory"}; }

// Thrown when another thread has cancelled the call.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// `detected`: the API's value for the kind of file.
inline Error unsupported_format(std::string detected) {
  Error error(ErrorCode::kUnsupportedImageFormat);
  error.detected = std::move(detected);
  return error;
}

}  // namespace facematch
