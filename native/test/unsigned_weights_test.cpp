#include "../core/runtime/int8/unsigned_weights.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace facematch::testing {
namespace {

// Parts of an ONNX file: the fields that are read, by their numbers in onnx.proto.
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

TEST_SUITE_BEGIN("unsigned_weights");

TEST_CASE("weights and zero points of ONNX Runtime's own convolution move up by 128") {
  const std::string others = tensor("table", kInt8, "\x05") + tensor("yz", kUint8, "\x05");
  const std::string zero(1, '\0');
  bool any = false;
  CHECK(moved(model(convolution("com.microsoft") + tensor("w", kInt8, "\x01\xFF") +
                    tensor("wz", kInt8, zero) + others),
              any) == model(convolution("com.microsoft") + tensor("w", kUint8, "\x81\x7F") +
                            tensor("wz", kUint8, "\x80") + others));
  CHECK(any);
}

TEST_CASE("nothing else of a net is changed") {
  const std::string files[] = {model(convolution("") + tensor("w", kInt8, "\x01")),
                               model(convolution("com.microsoft") + tensor("w", kUint8, "\x01")),
                               "", "no net"};
  for (const std::string& file : files) {
    bool any = true;
    CHECK(moved(file, any) == file);
    CHECK_FALSE(any);
  }
}

TEST_CASE("a net that is cut short is read to its end and no further") {
  const std::string file = model(convolution("com.microsoft") + tensor("w", kInt8, "\x01\x02"));
  for (size_t size = 0; size < file.size(); ++size) {
    std::vector<uint8_t> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    part.shrink_to_fit();
    CHECK_FALSE(make_weights_unsigned(part));
  }
}

TEST_SUITE_END();

}  // namespace facematch::testing
