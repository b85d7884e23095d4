// Members of a manifest, read and checked one by one.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "pack.h"

namespace facematch {

using Json = nlohmann::json;

// A manifest may come from anybody: each number has a range in which all arithmetic of the core
// stays finite and no buffer is huge. src/engine/manifest-parts.ts has the same ranges.
constexpr double kMinScale = 1e-9;
constexpr double kMaxNumber = 1000;

// Each reader throws an exception that names the member.
[[noreturn]] void refuse(const std::string& name, const std::string& why);

float number_of(const Json& value, const std::string& name, double least, double most);
float read_number(const Json& json, const char* name, double least, double most);

// From 1 to `most`; also of a number such as 320.0, which JavaScript does not tell from 320.
int whole_of(const Json& value, const std::string& name, int most);
int read_whole(const Json& json, const char* name, int most);

// A list of `least` to `most` members.
const Json& read_list(const Json& json, const char* name, size_t least, size_t most);

std::string read_name(const Json& json, const char* name);

// A plain name: a manifest must not point outside its directory.
std::string read_file_name(const Json& json, const std::string& ending);

// How many planes an input has is fixed by what the net is for.
constexpr std::initializer_list<const char*> kColours = {"rgb", "bgr"};

Normalisation read_normalisation(const Json& json, std::initializer_list<const char*> channels);

DetectorSpec read_detector(const Json& json);

}  // namespace facematch
