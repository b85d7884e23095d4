/** A request as the order of turns sees it. */
interface Waiting {
  /** Whose it is: the id of a key. */
  readonly owner: string;
  /** Its images that wait. */
  readonly waiting: number;
  /** None of its images was given to a worker yet. */
  readonly untouched: boolean;
}

/** What one key has in the queue. */
interface Owner<R> {
  name: string;
  /** Places that it takes, running or waiting. */
  held: number;
  /** Requests with waiting images, the oldest first. */
  requests: R[];
  /** Images that it may still start in this turn; 0 when it has none. */
  deficit: number;
  /** It has a place in the round. It keeps that when nothing is left of it, until the place comes up again. */
  placed: boolean;
  /** It has not had its first turn. */
  fresh: boolean;
}

/** Images that a key may start in a turn: those of a match, so that they stay together. */
const quantum = 2;

/**
 * Whose image is next: deficit round robin by key over images (Shreedhar and Varghese, 1995), and within a key the order of
 * arrival. So the wait of a key depends on how many other keys wait, and not on how much they have sent. A key that had nothing
 * waiting comes before those that had, but once a round (as in FQ-CoDel, RFC 8290 section 4.2).
 */
export class FairQueue<R extends Waiting> {
  readonly #owners = new Map<string, Owner<R>>();
  /** The next one first. */
  readonly #round: Owner<R>[] = [];
  /** Waiting images of all keys. */
  waiting = 0;
  /** Requests with waiting images. */
  requests = 0;

  /** The request whose image is next, and how many of its images may be taken now. */
  get next(): { request: R; allowed: number } | undefined {
    let owner = this.#round[0];
    while (owner?.requests.length === 0) {
      this.#round.shift();
      owner.placed = false;
      this.#give(owner, 0);
      owner = this.#round[0];
    }
    const request = owner?.requests[0];
    if (owner === undefined || request === undefined) return undefined;
    if (owner.deficit === 0) owner.deficit = quantum;
    return { request, allowed: Math.min(owner.deficit, request.waiting) };
  }

  add(request: R): void {
    let owner = this.#owners.get(request.owner);
    if (owner === undefined) {
      owner = { name: request.owner, held: 0, requests: [], deficit: 0, placed: false, fresh: false };
      this.#owners.set(request.owner, owner);
    }
    owner.requests.push(request);
    if (!owner.placed) this.#place(owner);
    owner.held += request.waiting;
    this.waiting += request.waiting;
    this.requests += 1;
  }

  /** Images of the next request were given to one worker, which is one place; `request.waiting` is already without them. */
  started(request: R, images: number): void {
    const owner = this.#owners.get(request.owner)!;
    owner.held -= images - 1;
    owner.deficit -= images;
    this.waiting -= images;
    if (request.waiting === 0) this.#forget(owner, request);
    if (owner.deficit > 0) return;
    owner.fresh = false;
    this.#round.push(this.#round.shift()!);
  }

  /** The worker is free again. */
  release(name: string): void {
    this.#give(this.#owners.get(name)!, 1);
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
    if (owner.requests.length === 0) owner.deficit = 0;
  }

  /** In front, but behind a turn that has begun and other fresh ones. */
  #place(owner: Owner<R>): void {
    let at = (this.#round[0]?.deficit ?? 0) > 0 ? 1 : 0;
    while (this.#round[at]?.fresh) at += 1;
    this.#round.splice(at, 0, owner);
    owner.placed = true;
    owner.fresh = true;
  }

  #give(owner: Owner<R>, places: number): void {
    owner.held -= places;
    if (owner.held === 0 && !owner.placed) this.#owners.delete(owner.name);
  }
}
