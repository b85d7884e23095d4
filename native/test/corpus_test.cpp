// Every damaged, exotic and faceless picture of the shared data, through the whole pipeline.
#include <doctest/doctest.h>

#include "../core/pipeline.h"
#include "support.h"

namespace facematch::testing {
namespace {

DetectOptions options() {
  DetectOptions options;
  options.min_det_score = 0.7f;
  return options;
}

// An Error of the picture or a result; anything else passes through and fails the test.
void look_at(const std::filesystem::path& file) {
  CAPTURE(file.filename().string());
  const ByteVector bytes = read_file(file);
  const auto error = refusal([&] { detect(default_engine(), bytes, options(), true); });
  if (error) CHECK(error->code != ErrorCode::kInternalError);
}

void look_at_all(const char* folder) {
  const auto shared = shared_folder();
  if (!shared) {
    MESSAGE("skipped, for there is no ../shared and FACEMATCH_SHARED is not set");
    return;
  }
  const auto files = files_below(*shared / "data" / folder);
  CHECK(files.size() > 20);
  for (const auto& file : files) look_at(file);
}

}  // namespace

TEST_SUITE_BEGIN("corpus");

TEST_CASE("every damaged or exotic picture gives a result or a refusal of its own") {
  look_at_all("corrupt");
}

TEST_CASE("every animal and landscape gives a result") { look_at_all("negatives"); }

TEST_SUITE_END();

}  // namespace facematch::testing
