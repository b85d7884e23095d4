#include "manifest_values.h"

#include <algorithm>
#include <cmath>

#include "../error.h"

namespace facematch {
namespace {

Channels read_channels(const Json& json, std::initializer_list<const char*> allowed) {
  const std::string word = json.at("channels");
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    std::string list;
    for (const std::string one : allowed) list += (list.empty() ? "" : ", ") + one;
    refuse("channels", "is \"" + word + "\" and must be one of " + list);
  }
  return word == "rgb" ? Channels::kRgb : word == "bgr" ? Channels::kBgr : Channels::kGrey;
}

// One number for all planes, or one for each of three.
std::array<float, 3> read_mean(const Json& json, Channels channels) {
  std::array<float, 3> means;
  const Json& value = json.at("mean");
  if (!value.is_array()) {
    means.fill(read_number(json, "mean", -kMaxNumber, kMaxNumber));
    return means;
  }
  if (channels == Channels::kGrey) refuse("mean", "is a list, but the net has one plane");
  const Json& list = read_list(json, "mean", means.size(), means.size());
  std::transform(list.begin(), list.end(), means.begin(),
                 [](const Json& mean) { return number_of(mean, "mean", -kMaxNumber, kMaxNumber); });
  return means;
}

}  // namespace

void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorCode::kInternalError, "\"" + name + "\" " + why);
}

float number_of(const Json& value, const std::string& name, double least, double most) {
  // nlohmann::json would convert true to 1.
  if (!value.is_number()) refuse(name, "is no number");
  const double number = value;
  if (number >= least && number <= most) return static_cast<float>(number);
  refuse(name, "is out of range");
}

float read_number(const Json& json, const char* name, double least, double most) {
  return number_of(json.at(name), name, least, most);
}

int whole_of(const Json& value, const std::string& name, int most) {
  if (!value.is_number()) refuse(name, "is no number");
  // Compared before it is converted: beyond an int that is undefined or silently another number.
  const double number = value;
  if (!(number >= 1 && number <= most)) refuse(name, "is out of range");
  if (number != std::floor(number)) refuse(name, "is no whole number");
  return static_cast<int>(number);
}

int read_whole(const Json& json, const char* name, int most) {
  return whole_of(json.at(name), name, most);
}

const Json& read_list(const Json& json, const char* name, size_t least, size_t most) {
  const Json& list = json.at(name);
  if (list.is_array() && list.size() >= least && list.size() <= most) return list;
  const std::string count = std::to_string(least);
  refuse(name, "must be a list of " +
                   (least == most ? count : count + " to " + std::to_string(most)) + " members");
}

std::string read_name(const Json& json, const char* name) {
  const std::string text = json.at(name);
  if (text.empty()) refuse(name, "is empty");
  return text;
}

std::string read_file_name(const Json& json, const std::string& ending) {
  const std::string text = json.at("file");
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  if (text.size() > ending.size() && text.ends_with(ending) && text.front() != '.' &&
      std::all_of(text.begin(), text.end(), plain)) {
    return text;
  }
  refuse("file", "is no plain file name ending in " + ending);
}

Normalisation read_normalisation(const Json& json, std::initializer_list<const char*> allowed) {
  const Channels channels = read_channels(json, allowed);
  return {.channels = channels,
          .mean = read_mean(json, channels),
          .scale = read_number(json, "scale", kMinScale, kMaxNumber)};
}

}  // namespace facematch
