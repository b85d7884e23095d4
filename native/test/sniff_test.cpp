#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "../core/image/decode.h"
#include "support.h"

namespace facematch::testing {
namespace {

using std::string_view_literals::operator""sv;

ByteVector bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

TEST_SUITE_BEGIN("sniff");

TEST_CASE("a format is recognised by its first bytes") {
  struct Case {
    std::string_view bytes;
    const char* format;
  };
  const Case cases[] = {
      {"\xFF\xD8\xFF\xE0"sv, "jpeg"},
      {"\xFF\xD8"sv, "jpeg"},
      {"\x89PNG\r\n\x1A\n"sv, "png"},
      {"RIFF\0\0\0\0WEBPVP8 "sv, "webp"},
      {"\0\0\0\x20"
       "ftypavif"sv,
       "avif"},
      {"\0\0\0\x20"
       "ftypavis"sv,
       "avif"},
      {"\0\0\0\x20"
       "ftypheic"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypheix"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftyphevc"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypmif1"sv,
       "heic"},
      {"\0\0\0\x20"
       "ftypmsf1"sv,
       "heic"},
      {"GIF87a"sv, "gif"},
      {"GIF89a"sv, "gif"},
      {"BM\x36\0"sv, "bmp"},
      {"II*\0\x08\0\0\0"sv, "tiff"},
      {"MM\0*\0\0\0\x08"sv, "tiff"},
      {"%PDF-1.7"sv, "pdf"},
      {"\0\0\0\x0CjP  \r\n\x87\n"sv, "jp2"},
      {"\xFF\x4F\xFF\x51\0\x2F"sv, "jp2"},
      {"\0\0\0\x0CJXL \r\n\x87\n"sv, "jxl"},
      {"\xFF\x0A"sv, "jxl"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.format);
    CHECK(std::string_view(sniff(bytes_of(c.bytes))) == c.format);
  }
}

TEST_CASE("a signature that is cut, shifted or only similar is unknown") {
  const std::string_view cases[] = {
      ""sv,
      "\xFF"sv,
      "\xD8\xFF"sv,
      " \xFF\xD8\xFF"sv,
      "\x89PNG\r\n\x1A"sv,
      "\x89PNG\n\x1A\n\n"sv,
      "RIFF\0\0\0\0WEB"sv,
      "RIFF\0\0\0\0WAVEfmt "sv,
      "RIFX\0\0\0\0WEBPVP8 "sv,
      "\0\0\0\x20"
      "ftypmp42"sv,
      "\0\0\0\x20"
      "moovavif"sv,
      "<svg xmlns='http://www.w3.org/2000/svg'/>"sv,
      "hello, I am a photo.jpg"sv,
      "GIF"sv,
      "II+\0"sv,
      "\xFF\x4F\xFF\x52"sv,
      "\0\0\0\x0CjP \n\n\x87\n"sv,
  };
  for (const auto bytes : cases) {
    CAPTURE(std::string(bytes));
    CHECK(std::string_view(sniff(bytes_of(bytes))) == "unknown");
  }
}

TEST_CASE("the error names an unsupported format") {
  const auto error = refusal([] { decode(bytes_of("GIF89a and more"), {}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnsupportedImageFormat);
  CHECK(error->detected == "gif");
}

TEST_CASE("an empty input is an unknown format") {
  const auto error = refusal([] { decode({}, {}, 0); });
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnsupportedImageFormat);
  CHECK(error->detected == "unknown");
}

TEST_SUITE_END();

}  // namespace facematch::testing
