#include "embedding_cache.h"

#include <utility>

namespace facematch {

void EmbeddingCache::set_capacity(size_t pictures) {
  const std::lock_guard lock(mutex_);
  capacity_ = pictures;
  drop_beyond_capacity();
}

EmbeddingCache::Kept EmbeddingCache::find(const EmbeddingKey& key) {
  const std::lock_guard lock(mutex_);
  const auto slot = slots_.find(key);
  if (slot == slots_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  uses_.splice(uses_.begin(), uses_, slot->second.use);
  return slot->second.picture;
}

void EmbeddingCache::put(const EmbeddingKey& key, Kept picture) {
  const std::lock_guard lock(mutex_);
  // Made first: there must be no slot without a use, even where memory runs out in between.
  Uses use(1);
  const auto [slot, fresh] = slots_.try_emplace(key, Slot{nullptr, use.begin()});
  // Nodes of a map stay where they are, so its keys may be pointed to.
  use.front() = &slot->first;
  uses_.splice(uses_.begin(), fresh ? use : uses_, slot->second.use);
  slot->second.picture = std::move(picture);
  drop_beyond_capacity();
}

EmbeddingCache::Counts EmbeddingCache::counts() const {
  const std::lock_guard lock(mutex_);
  return {.hits = hits_, .misses = misses_, .pictures = slots_.size()};
}

void EmbeddingCache::drop_beyond_capacity() {
  while (slots_.size() > capacity_) {
    slots_.erase(slots_.find(*uses_.back()));
    uses_.pop_back();
  }
}

EmbeddingCache& embedding_cache() {
  // Never destroyed: see environment() in session.cpp.
  static auto* cache = new EmbeddingCache;
  return *cache;
}

}  // namespace facematch
