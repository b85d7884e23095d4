// Tests of runtime/int8: PReLU on bytes, and unsigned weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../core/runtime/int8/byte_prelu.h"
#include "../core/runtime/int8/unsigned_weights.h"
#include "../core/runtime/onnx_runtime.h"
#include "../core/runtime/session.h"
#include "support.h"

namespace facematch::testing {
namespace {

struct Case {
  uint8_t x_zero, y_zero;
  float up;
  std::vector<float> down;
};

uint8_t expected(const Case& prelu, uint8_t x, size_t channel) {
  const int distance = x - prelu.x_zero;
  const double factor = distance > 0 ? prelu.up : prelu.down[channel];
  return static_cast<uint8_t>(
      std::clamp(std::floor(factor * distance + 0.5) + prelu.y_zero, 0.0, 255.0));
}

// Uses the maximum number of fractional bits for factors up to `largest`, like models/prepare.
Case random_case(Random& random, size_t channels, float largest) {
  const int bits = std::min(15, static_cast<int>(std::floor(std::log2(32767 / largest))));
  const auto factor = [&] {
    return std::ldexp(std::round(std::ldexp(random.between(-largest, largest), bits)), -bits);
  };
  Case prelu{.x_zero = random.byte(), .y_zero = random.byte(), .up = factor(), .down = {}};
  for (size_t c = 0; c < channels; ++c) prelu.down.push_back(factor());
  return prelu;
}

// One row per byte.
std::vector<uint8_t> every_byte(size_t channels) {
  std::vector<uint8_t> bytes(256 * channels);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i / channels);
  return bytes;
}

std::string int8_net() { return project_root() / "models/packs/int8/embed.onnx"; }

// Opens the pack's net in a separate session. `optimised`: if given, the runtime writes its
// optimised graph to this file.
ort::Session open(ort::OperatorDomain* operators, const std::string& optimised = {}) {
  ort::Options options;
  options.set_threads(1, 1);
  options.set_optimisation(optimised.empty() ? ort::Optimisation::kAll
                                             : ort::Optimisation::kExtended);
  if (!has_exact_byte_products()) options.set("session.x64quantprecision", "1");
  if (operators != nullptr) options.add(operators);
  if (!optimised.empty()) options.set_optimised_file(optimised);
  if (!has_exact_byte_products()) {
    const auto model = with_unsigned_weights(int8_net());
    return {environment(), model, options};
  }
  return {environment(), int8_net(), options};
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The next functions write parts of an ONNX file, with field numbers from onnx.proto.
std::string field(int number, const std::string& content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) +
         content;
}

std::string tensor(const std::string& name, char type, const std::string& bytes) {
  return field(5, std::string("\x10") + type + field(8, name) + field(9, bytes));
}

std::string convolution(const std::string& domain) {
  std::string node;
  for (const char* input : {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}) node += field(1, input);
  return field(1, node + field(4, "QLinearConv") + field(7, domain));
}

std::string model(const std::string& graph) { return field(7, graph); }

std::string moved(std::string file, bool& any) {
  any = make_weights_unsigned({reinterpret_cast<uint8_t*>(file.data()), file.size()});
  return file;
}

constexpr char kUint8 = 2, kInt8 = 3;

}  // namespace

TEST_SUITE_BEGIN("int8");

TEST_CASE("maps every byte of every channel by the formula, on both code paths and in place") {
  std::vector<Case> cases;
  Random random(5);
  for (const size_t channels : {1, 7, 16, 33, 64, 512}) {
    for (const float largest : {0.01f, 0.5f, 0.9999f, 1.0f, 1.7f, 3.0f, 15.9f}) {
      cases.push_back(random_case(random, channels, largest));
    }
  }
  // The maximum distances, factors and zero points must not overflow.
  constexpr uint8_t kEnds[] = {0, 255};
  for (const float largest : {32767.0f / 32768, 32767.0f / 2048}) {
    for (const float up : {largest, -largest}) {
      for (const uint8_t x_zero : kEnds) {
        for (const uint8_t y_zero : kEnds) cases.push_back({x_zero, y_zero, up, {up, -up}});
      }
    }
  }
  for (const Case& prelu : cases) {
    const size_t channels = prelu.down.size();
    const BytePRelu made(prelu.x_zero, prelu.up, prelu.down, prelu.y_zero);
    CHECK(made.channels() == channels);
    const auto x = every_byte(channels);
    std::vector<uint8_t> wanted(x.size()), fast(x.size()), portable(x.size()), both = x;
    for (size_t i = 0; i < x.size(); ++i) wanted[i] = expected(prelu, x[i], i % channels);
    made.run(x, fast);
    made.run(x, portable, true);
    made.run(both, both);
    CAPTURE(channels);
    CAPTURE(prelu.up);
    CHECK(fast == wanted);
    CHECK(portable == wanted);
    CHECK(both == wanted);
  }
}

TEST_CASE("rejects factors that do not fit in 16 bits") {
  const auto make = [](float up, std::vector<float> down) { BytePRelu(0, up, down, 0); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float wrong : {1.0f / 3, 16.0f, -16.0f, infinity, nan}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(make(wrong, {0.5f}), std::invalid_argument);
    CHECK_THROWS_AS(make(0.5f, {0.5f, wrong}), std::invalid_argument);
  }
  CHECK_THROWS_AS(make(0.5f, {}), std::invalid_argument);
  CHECK_NOTHROW(make(0.5f, {-0.25f}));
}

TEST_CASE(
    "runs a net with the same result, bit for bit, with our operator and with the file's own one") {
  std::vector<float> input(size_t{3} * 112 * 112), fast(512);
  Random random(7);
  for (float& v : input) v = random.between(-1, 1);
  const Net net(int8_net(), "input", {1, 3, 112, 112}, {"output"});
  net.run(input, fast);

  const ort::Value value(input, {1, 3, 112, 112});
  const char* const to = "output";
  ort::Value defined;
  open(nullptr).run("input", value, {&to, 1}, {&defined, 1});
  const float* const numbers = defined.floats();
  CHECK(std::equal(fast.begin(), fast.end(), numbers));
  CHECK(std::any_of(fast.begin(), fast.end(), [](float v) { return v != 0; }));
}

TEST_CASE("runs our operator, not the one that the file defines") {
  const TemporaryFolder folder;
  const auto rounds = [&](ort::OperatorDomain* operators) {
    const std::string file = folder.path() / "optimised.onnx";
    open(operators, file);
    const auto bytes = read_file(file);
    return count({bytes.begin(), bytes.end()}, "Floor");
  };
  CHECK(rounds(nullptr) >= 30);
  CHECK(rounds(own_operators()) <= 1);
}

TEST_CASE("adds 128 to weights and zero points of ONNX Runtime's own convolution") {
  const std::string others = tensor("table", kInt8, "\x05") + tensor("yz", kUint8, "\x05");
  const std::string zero(1, '\0');
  bool any = false;
  CHECK(moved(model(convolution("com.microsoft") + tensor("w", kInt8, "\x01\xFF") +
                    tensor("wz", kInt8, zero) + others),
              any) == model(convolution("com.microsoft") + tensor("w", kUint8, "\x81\x7F") +
                            tensor("wz", kUint8, "\x80") + others));
  CHECK(any);
}

TEST_CASE("leaves other nets unchanged") {
  const std::string files[] = {model(convolution("") + tensor("w", kInt8, "\x01")),
                               model(convolution("com.microsoft") + tensor("w", kUint8, "\x01")),
                               "", "no net"};
  for (const std::string& file : files) {
    bool any = true;
    CHECK(moved(file, any) == file);
    CHECK_FALSE(any);
  }
}

TEST_CASE("reads a truncated net to its end and no further") {
  const std::string file = model(convolution("com.microsoft") + tensor("w", kInt8, "\x01\x02"));
  for (size_t size = 0; size < file.size(); ++size) {
    std::vector<uint8_t> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    part.shrink_to_fit();
    CHECK_FALSE(make_weights_unsigned(part));
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
