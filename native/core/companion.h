// A second thread for one worker: while cores are idle, a request's two pictures take one each.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace facematch {

// Kept between calls, so that its scratch stays warm. Waits without spinning. Belongs to the thread
// that made it, which alone may use it.
class Companion {
 public:
  Companion();
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  // Runs `mine` here and `theirs` on the companion, and returns when both have ended. Of two
  // exceptions that of `mine` is thrown.
  void run_both(const std::function<void()>& mine, const std::function<void()>& theirs);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  std::exception_ptr failure_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// With `parallel` the second runs on this thread's companion, else after the first. A failure of
// the first is thrown before one of the second.
void run_both(bool parallel, const std::function<void()>& first,
              const std::function<void()>& second);

}  // namespace facematch
