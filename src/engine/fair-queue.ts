/** A request as the order of turns sees it. */
interface Waiting {
  /** Whose it is: the id of a key. */
  readonly owner: string;
  readonly waiting: number;
  /** None of its images was given to a worker yet. */
  readonly untouched: boolean;
  /** A further step of a request that was admitted before: it goes before the other requests of its owner. */
  readonly continues: boolean;
}

/** What one key has in the queue, and what it has had. */
interface Owner<R> {
  name: string;
  /** Places that it takes, running or waiting. */
  held: number;
  /** Requests with waiting images: those that continue, then the others, the oldest first. */
  requests: R[];
  running: number;
  /** The virtual time up to which it is served: that of its first image, and what its images have taken since. */
  served_ms: number;
  /** What one of its images takes, about: the newer ones count more. */
  image_ms: number;
  /** The number of its last turn. */
  turn: number;
}

/** Images that a key may start in a turn: those of a match, so that they stay together. */
const quantum = 2;

/** Where an image of a key takes longer, a turn is one image, so that nobody waits for two. */
const long_ms = 50;

/**
 * Whose image is next: fair queueing by the time that workers spend on a key's images, as the virtual time of start-time fair queueing
 * (Goyal, Vin and Cheng, 1996), and within a key the order of arrival. So the wait of a key depends on how many other keys wait, and
 * neither on how much they have sent nor on what it costs. Time is known only when an image is done; until then it counts as much
 * as the key's images before. A key that had nothing waiting saves no time up: it begins at the virtual time.
 */
export class FairQueue<R extends Waiting> {
  readonly #owners = new Map<string, Owner<R>>();
  /** What each key that had always something waiting would have had of the workers' time. */
  #virtual_ms = 0;
  /** What an image of any key takes, about. */
  #image_ms = 1;
  #turns = 0;
  /** Whose turn it is, and how many images it may still start in it. */
  #current: Owner<R> | undefined;
  #left = 0;
  /** Waiting images of all keys. */
  waiting = 0;
  /** Requests with waiting images. */
  requests = 0;

  /** The request whose image is next, and how many of its images may be taken now. */
  get next(): { request: R; allowed: number } | undefined {
    if (this.#left === 0 || this.#current?.requests.length === 0) this.#begin(this.#leastServed());
    const request = this.#current?.requests[0];
    return request && { request, allowed: Math.min(this.#left, request.waiting) };
  }

  add(request: R): void {
    let owner = this.#owners.get(request.owner);
    if (owner === undefined) {
      const [served_ms, image_ms] = [this.#virtual_ms, this.#image_ms];
      owner = { name: request.owner, held: 0, requests: [], running: 0, served_ms, image_ms, turn: 0 };
      this.#owners.set(request.owner, owner);
    }
    if (owner.requests.length === 0) owner.served_ms = Math.max(owner.served_ms, this.#virtual_ms);
    const others = owner.requests.findIndex(({ continues }) => !continues);
    owner.requests.splice(request.continues && others >= 0 ? others : owner.requests.length, 0, request);
    owner.held += request.waiting;
    this.waiting += request.waiting;
    this.requests += 1;
  }

  /** Images of the next request were given to one worker, which is one place; `request.waiting` is already without them. */
  started(request: R, images: number): void {
    const owner = this.#owners.get(request.owner)!;
    this.#virtual_ms = Math.max(this.#virtual_ms, servedBy(owner));
    owner.held -= images - 1;
    owner.running += images;
    this.#left -= images;
    this.waiting -= images;
    if (request.waiting === 0) this.#forget(owner, request);
  }

  /** The worker that had these images is free again, after `ms`. */
  release(name: string, images: number, ms: number): void {
    const owner = this.#owners.get(name)!;
    owner.running -= images;
    owner.served_ms += ms;
    owner.image_ms = (owner.image_ms + ms / images) / 2;
    this.#image_ms = (this.#image_ms + ms / images) / 2;
    const active = [...this.#owners.values()].filter(({ held }) => held > 0);
    this.#virtual_ms += ms / active.length;
    this.#give(owner, 1);
  }

  /** Its waiting images will not be taken. */
  drop(request: R): void {
    const owner = this.#owners.get(request.owner);
    if (owner === undefined || !owner.requests.includes(request)) return;
    this.waiting -= request.waiting;
    this.#forget(owner, request);
    this.#give(owner, request.waiting);
  }

  /**
   * Requests to push out of a full queue, so that `places` get free for a newcomer: each time the youngest one of the key that
   * holds most, none of whose images has started. A key is never left with less than the newcomer's has then; undefined when
   * that cannot be, because the newcomer's key has its share.
   */
  victims(newcomer: string, places: number): R[] | undefined {
    const least = (this.#owners.get(newcomer)?.held ?? 0) + 1;
    const chosen: R[] = [];
    const held = new Map([...this.#owners.values()].map((owner) => [owner, owner.held]));
    for (let freed = 0; freed < places; ) {
      const [owner] = [...held.keys()].sort((a, b) => held.get(b)! - held.get(a)!);
      if (owner === undefined) return undefined;
      const victim = owner.requests.findLast((request) => request.untouched && !chosen.includes(request));
      if (victim === undefined || held.get(owner)! - victim.waiting < least) {
        held.delete(owner);
        continue;
      }
      chosen.push(victim);
      held.set(owner, held.get(owner)! - victim.waiting);
      freed += victim.waiting;
    }
    return chosen;
  }

  #forget(owner: Owner<R>, request: R): void {
    owner.requests.splice(owner.requests.indexOf(request), 1);
    this.requests -= 1;
  }

  /** The least served of those with something waiting; among equals, the one whose last turn was first. */
  #leastServed(): Owner<R> | undefined {
    let least: Owner<R> | undefined;
    for (const owner of this.#owners.values()) {
      if (owner.requests.length === 0) continue;
      const ahead = least === undefined ? -1 : servedBy(owner) - servedBy(least) || owner.turn - least.turn;
      if (ahead < 0) least = owner;
    }
    return least;
  }

  #begin(owner: Owner<R> | undefined): void {
    this.#current = owner;
    this.#left = owner === undefined ? 0 : owner.image_ms > long_ms ? 1 : quantum;
    if (owner !== undefined) owner.turn = ++this.#turns;
  }

  /** A key that had more than its share is remembered until the others have had theirs, or nobody has anything. */
  #give(owner: Owner<R>, places: number): void {
    owner.held -= places;
    const isIdle = (one: Owner<R>) => one.held === 0;
    const all = [...this.#owners.values()];
    const forgotten = all.every(isIdle)
      ? all
      : all.filter((one) => isIdle(one) && one.served_ms <= this.#virtual_ms);
    for (const { name } of forgotten) this.#owners.delete(name);
  }
}

/** Up to when it is served, with what its running images will have taken. */
const servedBy = ({ served_ms, running, image_ms }: Owner<unknown>): number => served_ms + running * image_ms;
