#include "subject.h"

#include <memory>

namespace facematch {

std::optional<EmbeddingKey> key_of(const std::optional<Digest>& sha256, const Pack& pack,
                                   const DetectOptions& options) {
  if (!sha256) return std::nullopt;
  return EmbeddingKey{*sha256, pack.directory, options};
}

void recall(Subject& subject) {
  const auto kept = subject.key ? embedding_cache().find(*subject.key) : nullptr;
  if (!kept) return;
  subject.report = kept->report;
  subject.embedded = kept->embedded;
  subject.known = true;
}

void remember(const Subject& subject) {
  // What was cut short would be found another time.
  if (!subject.key || subject.known || subject.report.look_cut_short) return;
  embedding_cache().put(*subject.key, std::make_shared<const EmbeddedPicture>(
                                          EmbeddedPicture{subject.report, subject.embedded}));
}

void leave_only(size_t chosen, Subject& subject) {
  for (size_t i = 0; i < subject.embedded.size(); ++i) {
    if (i != chosen) subject.embedded[i] = {};
  }
}

}  // namespace facematch
