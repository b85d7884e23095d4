// What was found in pictures that were seen before, by their content: for callers who compare one
// picture with many.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "types.h"

namespace facematch {

// All that a picture's faces and embeddings depend on. Nobody finds two pictures of one SHA-256, so
// none can be made to pass for another.
struct EmbeddingKey {
  Digest sha256;
  std::string pack;  // its directory
  DetectOptions options;

  auto operator<=>(const EmbeddingKey&) const = default;
};

// All that a match takes from a picture.
struct EmbeddedPicture {
  ImageReport report;
  std::vector<Comparable> embedded;  // one a face, none of them empty
};

// Bounded by the number of pictures; the least recently used goes first. Thread-safe, and no caller
// waits for more than a look-up. Keeps nothing until it has a capacity.
class EmbeddingCache {
 public:
  using Kept = std::shared_ptr<const EmbeddedPicture>;

  struct Counts {
    uint64_t hits = 0;    // since the start of the process
    uint64_t misses = 0;  // since the start of the process
    size_t pictures = 0;  // now
  };

  // Most pictures that are kept from now on; what is too many goes at once, with 0 everything.
  void set_capacity(size_t pictures);

  // Null when it is not kept. Counts as a use.
  Kept find(const EmbeddingKey& key);

  // In the place of what is kept under that key: two threads that missed at once both come here.
  void put(const EmbeddingKey& key, Kept picture);

  Counts counts() const;

 private:
  using Uses = std::list<const EmbeddingKey*>;

  struct Slot {
    Kept picture;
    Uses::iterator use;
  };

  void drop_beyond_capacity();

  mutable std::mutex mutex_;
  size_t capacity_ = 0;
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
  // Ordered and not hashed: whoever sends pictures could make them all fall into one bucket.
  std::map<EmbeddingKey, Slot> slots_;
  Uses uses_;  // of the keys in slots_, the latest first
};

// The one of the process, which all threads share.
EmbeddingCache& embedding_cache();

}  // namespace facematch
