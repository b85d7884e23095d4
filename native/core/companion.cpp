#include "companion.h"

namespace facematch {

Companion::Companion() : thread_([this] { serve(); }) {}

Companion::~Companion() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Companion::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || task_ != nullptr; });
    if (ending_) return;
    const auto* task = task_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*task)();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    task_ = nullptr;
    changed_.notify_all();
  }
}

void Companion::run_both(const std::function<void()>& mine, const std::function<void()>& theirs) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &theirs;
  }
  changed_.notify_all();
  std::exception_ptr failure;
  try {
    mine();
  } catch (...) {
    failure = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return task_ == nullptr; });
  if (!failure) failure = failure_;
  if (failure) std::rethrow_exception(failure);
}

void run_both(bool parallel, const std::function<void()>& first,
              const std::function<void()>& second) {
  if (parallel) {
    // Made when a worker first needs it, and joined when that worker's thread ends.
    thread_local Companion companion;
    companion.run_both(first, second);
    return;
  }
  first();
  second();
}

}  // namespace facematch
