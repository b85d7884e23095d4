// A queue in front of a pool. piscina 5.3.2 puts the head of its own queue back at the tail when no worker is free, so that
// some requests wait for all others; it is handed a task only when a worker can take it at once.

export class Fifo {
  #free;
  #run;
  #waiting = [];

  /** `slots` tasks run at once; `run(task)` answers a promise. */
  constructor(slots, run) {
    this.#free = slots;
    this.#run = run;
  }

  /** Resolves or rejects as `run` does, in the order in which tasks came. */
  push(task) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, resolve, reject });
      this.#next();
    });
  }

  #next() {
    if (this.#free === 0) return;
    const head = this.#waiting.shift();
    if (head === undefined) return;
    this.#free -= 1;
    this.#run(head.task)
      .then(head.resolve, head.reject)
      .finally(() => {
        this.#free += 1;
        this.#next();
      });
  }
}
