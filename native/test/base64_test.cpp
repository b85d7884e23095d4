#include "../core/system/base64.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace facematch::testing {
namespace {

struct DecodedText {
  size_t read;
  std::string text;
};

// The memory has exactly that size, so that the sanitizers see a byte too far.
DecodedText decode_text(const std::string& text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.shrink_to_fit();
  const auto [read, written] = decode_base64_groups(bytes);
  REQUIRE(read <= bytes.size());
  REQUIRE(written <= read);
  CHECK(std::string(bytes.begin() + static_cast<std::ptrdiff_t>(read), bytes.end()) ==
        text.substr(read));
  return {read, std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(written))};
}

}  // namespace

TEST_SUITE_BEGIN("base64");

// RFC 4648, section 10.
TEST_CASE("whole groups are decoded, padding and the rest are left") {
  const auto check = [](const std::string& text, size_t read, const std::string& expected) {
    CAPTURE(text);
    CHECK(decode_text(text).read == read);
    CHECK(decode_text(text).text == expected);
  };
  check("", 0, "");
  check("Zg==", 0, "");
  check("Zm9v", 4, "foo");
  check("Zm9vYg==", 4, "foo");
  check("Zm9vYmFy", 8, "foobar");
  check("Zm9vYmF", 4, "foo");
  check("Zm9v-_-_", 4, "foo");
  check("Zm9v Zm9v", 4, "foo");
  check("\\u005am9v", 9, "foo");
  check("\\u005Am9v\\u0059mFy", 18, "foobar");
  check("\\/\\/\\/\\/", 8, "\xff\xff\xff");
}

TEST_CASE("an escape that is no letter, or is cut short, ends it") {
  for (const std::string wrong : {"\\", "\\u", "\\u0", "\\u00", "\\u005", "\\u00g1", "\\u0141",
                                  "\\u003d", "\\n", "\\\\", "=", "\x80", "\xff"}) {
    CAPTURE(wrong);
    for (const std::string before : {"", "Z", "Zm", "Zm9"}) {
      CHECK(decode_text("Zm9v" + before + wrong).read == 4);
      CHECK(decode_text("Zm9v" + before + wrong + "Zm9v").read == 4);
    }
  }
}

TEST_CASE("every byte and every four-digit escape counts as RFC 4648 says") {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int byte = 0; byte < 256; ++byte) {
    const auto letter = static_cast<char>(byte);
    const size_t value = letters.find(letter);
    const bool known = value != std::string::npos;
    CAPTURE(byte);
    const DecodedText plain = decode_text(std::string("AAA") + letter);
    CHECK(plain.read == (known ? 4 : 0));
    if (known) CHECK(plain.text == std::string("\0\0", 2) + static_cast<char>(value));
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", byte);
    CHECK(decode_text(std::string("AAA") + escape).text == plain.text);
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
