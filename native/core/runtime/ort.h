// ONNX Runtime's objects in C++: owners of the objects that its C interface (ort_table.h) creates.
// A call that fails throws ort::Failure with the library's message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ort_table.h"

namespace facematch::ort {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Failure for a status that is not null, and releases it.
void check(StatusData* status);

// Converts an exception to the status that a callback returns to the library.
StatusData* status_of(ErrorKind kind, const std::exception& error);

// The library that this program is linked to.
const Base* linked_library();

// Chooses another library, before any other call. `table` must not be null.
void use_table(Table table);

template <auto& kRelease>
struct Releaser {
  template <typename Data>
  void operator()(Data* data) const {
    kRelease(data);
  }
};

// Returns names without an order of preference, such as "CUDAExecutionProvider".
std::vector<std::string> available_providers();

EnvData* make_environment(const char* id, Log log);

struct TensorType {
  Element element;
  std::vector<int64_t> shape;  // dynamic dimensions are -1

  size_t count() const;  // number of elements; requires a shape without dynamic dimensions
};

// The declaration of a tensor input or output in a file.
struct DeclaredType : TensorType {
  std::vector<std::string> side_names;  // empty strings for sides without a name
};

TensorType type_of(const ValueData* value);

template <typename T>
T* data_of(const ValueData* value) {
  void* data = nullptr;
  check(api::GetTensorMutableData(const_cast<ValueData*>(value), &data));
  return static_cast<T*>(data);
}

class Value {
 public:
  // Creates an empty value, which Session::run() fills.
  Value() = default;
  // Wraps floats in memory that outlives the value.
  Value(std::span<float> data, const std::vector<int64_t>& shape);
  // Allocates floats, all zeros.
  static Value zeros(const std::vector<int64_t>& shape);

  bool is_tensor() const;
  TensorType type() const { return type_of(data_.get()); }
  float* floats() const { return data_of<float>(data_.get()); }

 private:
  friend class Session;
  std::unique_ptr<ValueData, Releaser<api::ReleaseValue>> data_;
};

class Options {
 public:
  Options();

  void set_threads(int intra_op, int inter_op);
  void set_sequential();
  void set_optimisation(Optimisation level);
  // Makes the session write its optimised graph to a file.
  void set_optimised_file(const std::string& path);
  void set(const char* key, const char* value);
  void fix_side(const std::string& name, int64_t size);
  void add(OperatorDomain* operators);
  void add_provider(const std::string& name);
  void add_cuda();
  void add_tensor_rt();

  const OptionsData* get() const { return data_.get(); }

 private:
  std::unique_ptr<OptionsData, Releaser<api::ReleaseSessionOptions>> data_;
};

class Session {
 public:
  Session() = default;
  Session(const EnvData* env, const std::string& path, const Options& options);
  Session(const EnvData* env, std::span<const uint8_t> model, const Options& options);

  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  // input_type() and output_type() return nothing for a value that is not a tensor.
  std::optional<DeclaredType> input_type(size_t index) const;
  std::optional<DeclaredType> output_type(size_t index) const;

  // May be called from any number of threads at once. `names` and `outputs` have the same size.
  void run(const char* input_name, const Value& input, std::span<const char* const> names,
           std::span<Value> outputs) const;

 private:
  std::unique_ptr<SessionData, Releaser<api::ReleaseSession>> data_;
};

// The domain lives as long as the process; so must `one`.
OperatorDomain* make_domain(const char* name, const CustomOperator& one);

}  // namespace facematch::ort
