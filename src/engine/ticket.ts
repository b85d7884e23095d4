/** What the queue of images has in common with those who use it. */

/** Where a request comes from. */
export interface Origin {
  /** Whose it is: the id of a key. */
  owner: string;
  request_id: string;
}

export interface Done<Outcome> {
  /** In the order of the images. */
  outcomes: Outcome[];
  /** Milliseconds between submit and the start of the first image. */
  queue_ms: number;
}

/** The images of one request in the queue. */
export interface Ticket<Outcome> {
  /** Rejects with a Problem (overloaded, deadline_exceeded) or with the error of `run`. */
  readonly done: Promise<Done<Outcome>>;
  /** Resolves when no worker reads or will read the images: their memory may be discarded. Never rejects. */
  readonly idle: Promise<void>;
  /** Drops waiting images and cancels running ones. `done` rejects with `reason`. */
  cancel(reason: Error): void;
}

/**
 * `broke`: `run` rejected. `overdue`: they ran when the deadline passed. `wedged`: they still run long after they were
 * cancelled, and hold their worker.
 */
export interface Harm<Image> {
  kind: 'broke' | 'overdue' | 'wedged';
  images: readonly Image[];
  request_id: string;
  reason?: unknown;
}
