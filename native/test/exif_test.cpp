#include "../core/image/exif.h"

#include <doctest/doctest.h>

#include "drawing.h"
#include "support.h"

namespace facematch::testing {

TEST_SUITE_BEGIN("exif");

TEST_CASE(
    "finds the orientation anywhere, and ignores one that is out of range, damaged or missing") {
  struct Case {
    const char* what;
    ExifBlock block;
    std::optional<int> expected = {};
  };
  const Case cases[] = {
      {"after other tags", {.orientation = 6, .entries_before = 11}, 6},
      {"with a count that exceeds the entries", {.orientation = 3, .declared_count = 0xFFFF}, 3},
      {"with a count that exceeds the entries, without an orientation",
       {.orientation = 3, .tag = 0x0113, .declared_count = 0xFFFF}},
      {"value 0", {.orientation = 0}},
      {"value 9", {.orientation = 9}},
      {"value 0x0600, that is, 6 in the wrong byte order", {.orientation = 0x0600}},
      {"another tag", {.orientation = 6, .tag = 0x0113}},
      {"type BYTE", {.orientation = 6, .type = 1}, 6},
      {"type ASCII", {.orientation = 6, .type = 2}},
      {"type LONG", {.orientation = 6, .type = 4}, 6},
      {"type LONG beyond 16 bits", {.orientation = 6, .type = 4, .high = 1}},
      {"type SBYTE", {.orientation = 6, .type = 6}, 6},
      {"type SSHORT", {.orientation = 6, .type = 8}, 6},
      {"type SLONG", {.orientation = 6, .type = 9}, 6},
      {"type FLOAT", {.orientation = 6, .type = 11}},
      {"an unknown type", {.orientation = 6, .type = 0}},
      {"two values", {.orientation = 6, .values = 2}, 6},
      {"no value", {.orientation = 6, .values = 0}},
      {"more values than the entry holds", {.orientation = 6, .values = 3}},
      {"two values of type LONG", {.orientation = 6, .type = 4, .values = 2}},
      {"after an entry with value 0", {.orientation = 6, .orientations_before = {0}}, 6},
      {"after an entry with value 3", {.orientation = 6, .orientations_before = {3}}, 3},
      {"another magic number", {.orientation = 6, .magic = 43}},
      {"a declared count of 0", {.orientation = 6, .declared_count = 0}},
      {"IFD0 starts at the end", {.orientation = 6, .declared_start = 26}},
      {"IFD0 starts past the end", {.orientation = 6, .declared_start = 27}},
      {"IFD0 starts where 32 bits wrap", {.orientation = 6, .declared_start = 0xFFFFFFFF}},
      {"IFD0 starts in the header", {.orientation = 6, .declared_start = 0}},
  };
  for (const Case& c : cases) {
    for (const bool little_endian : {true, false}) {
      ExifBlock block = c.block;
      block.little_endian = little_endian;
      CAPTURE(c.what);
      CHECK(exif_orientation(block.bytes()) == c.expected);
    }
  }
  ByteVector moved = ExifBlock{.orientation = 8, .declared_start = 13}.bytes();
  moved.insert(moved.begin() + 8, 5, 0xEE);
  CHECK(exif_orientation(moved) == 8);
  ByteVector filled = ExifBlock{.orientation = 6, .jpeg_prefix = true}.bytes();
  filled[5] = 0xFF;
  CHECK(exif_orientation(filled) == 6);
}

TEST_CASE("reads a block truncated at any byte, and never past its end") {
  for (const bool little_endian : {true, false}) {
    for (const bool jpeg_prefix : {true, false}) {
      const ByteVector whole = ExifBlock{.orientation = 6,
                                         .little_endian = little_endian,
                                         .jpeg_prefix = jpeg_prefix,
                                         .entries_before = 2}
                                   .bytes();
      // The last 6 bytes do not matter: two of padding and four for the next IFD's offset.
      const size_t needed = whole.size() - 6;
      for (size_t size = 0; size <= whole.size(); ++size) {
        // A copy of exactly this size, so that AddressSanitizer detects a read past the end.
        const ByteVector cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CAPTURE(size);
        CHECK(exif_orientation(cut) == (size >= needed ? std::optional(6) : std::nullopt));
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
