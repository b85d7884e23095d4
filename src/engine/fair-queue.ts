import { Activity } from './activity.ts';
import { Heap } from './heap.ts';

/** The members of a request that the scheduler uses. */
interface Waiting {
  /** Id of the key that sent the request. */
  readonly owner: string;
  /** Number of waiting images. */
  readonly waiting: number;
  /** True until a worker starts one of its images. */
  readonly untouched: boolean;
  /**
   * Returns the estimated minimum time for the waiting image at this position, in milliseconds. Position 0 is the
   * next image.
   */
  estimate_ms(position: number): number;
}

/** A request in the queue of its owner. */
interface Entry<R> {
  readonly request: R;
  readonly owner: Owner<R>;
  before: Entry<R> | undefined;
  after: Entry<R> | undefined;
}

/** State of one key in the queue, including its past use. */
interface Owner<R> {
  readonly name: string;
  /** Number of places in use, running or waiting. */
  held: number;
  /** Number of places of the requests that `victims` has selected so far. */
  pledged: number;
  /** Its requests with waiting images, oldest first. */
  first: Entry<R> | undefined;
  last: Entry<R> | undefined;
  /** Number of workers in use, and the estimated time of their jobs. */
  workers: number;
  running_ms: number;
  /**
   * Virtual time up to which it is served: the virtual time at which its images began to wait, plus the time of its
   * images since then.
   */
  served_ms: number;
  /** Average time of its images, with more weight on newer images. */
  image_ms: number;
  /** Number of its latest turn. */
  turn: number;
}

/** State of the workers that `FairQueue.next` needs. */
export interface Workers {
  /** Number of workers that are up, busy or not. */
  readonly up: number;
  readonly free: number;
}

export interface Next<R> {
  request: R;
  /** Number of its images that may start now. */
  allowed: number;
}

/** Maximum number of images per turn. A match has two images, so they stay together. */
const quantum = 2;

/** Maximum estimated time of a turn with two images. Slower images get one turn each, so that no key waits for two. */
const turn_ms = 100;

/** Time for which one worker stays free for a key after the last activity of the key. */
const active_ms = 10_000;

/** Maximum number of owners that are checked for a request to drop, in descending order of their places. */
const maxChecked = 16;

/**
 * Selects the next image by start-time fair queueing (Goyal, Vin and Cheng, 1996). The measure is the time that
 * workers spend on a key's images. Within a key, images are served in order of arrival. In the long run, keys that
 * always have waiting images get equal shares of the workers' time.
 *
 * Running jobs are never interrupted, so equal shares alone do not limit the wait. Three rules limit it:
 *
 * 1. With two or more workers, one key never occupies all of them while another key is active. A key is active if
 *    it has a request in flight, or had one within the last 10 s.
 * 2. A turn is at most two images of one request. It is one image if the images are large, or if recent images of
 *    the key were slow.
 * 3. A key that had nothing waiting gets its turn before keys that were served in the meantime, but it does not
 *    save up unused time.
 *
 * Therefore the first image of a key waits for at most one turn of each other key, whatever the others have sent.
 * With a single worker, or for the first request after 10 s, all workers may be busy with another key's images.
 *
 * The time of a job is known only at its end; until then its estimate counts. Operations take logarithmic time per
 * request.
 */
export class FairQueue<R extends Waiting> {
  readonly #now: () => number;
  readonly #activity = new Activity();
  readonly #owners = new Map<string, Owner<R>>();
  readonly #entries = new Map<R, Entry<R>>();
  /** Owners with waiting images, in ascending order of `servedBy`, then of their latest turn. */
  readonly #ready = new Heap<Owner<R>>((a, b) => (servedBy(a) - servedBy(b) || a.turn - b.turn) < 0);
  /** Owners whose last request can be dropped, in descending order of their places. */
  readonly #droppable = new Heap<Owner<R>>((a, b) => a.held - a.pledged > b.held - b.pledged);
  /** Owners without places, in ascending order of `served_ms`. */
  readonly #idle = new Heap<Owner<R>>((a, b) => a.served_ms < b.served_ms);
  /** Number of owners that hold places. */
  #active = 0;
  /** Virtual time: the workers' time that a key with images always waiting would have got. */
  #virtual_ms = 0;
  /** Average time of an image of any key. */
  #image_ms = 1;
  #turns = 0;
  /** Owner of the current turn, and the images and the estimated time that are left in it. */
  #current: Owner<R> | undefined;
  #left = 0;
  #left_ms = 0;
  /** Number of waiting images of all keys. */
  waiting = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Number of requests with waiting images. */
  get requests(): number {
    return this.#entries.size;
  }

  /** Records that a request of this key arrived. Call `ended` when its response is complete. */
  arrived(owner: string): void {
    this.#activity.begin(owner);
  }

  ended(owner: string): void {
    this.#activity.end(owner, this.#now());
  }

  /** Returns the request whose image is next; undefined if none may start on the free workers. */
  next(workers: Workers): Next<R> | undefined {
    let owner = this.#current;
    const continuesTurn =
      owner?.first !== undefined && this.#left > 0 && this.#estimate(owner, 0) <= this.#left_ms;
    if (!continuesTurn || !this.#mayStart(owner!, workers)) {
      owner = this.#ready.first;
      // At most one key can occupy all workers but one, so the second owner may start.
      if (owner !== undefined && !this.#mayStart(owner, workers)) owner = this.#ready.second;
      if (owner === undefined) return undefined;
      this.#begin(owner);
    }
    return { request: owner!.first!.request, allowed: this.#allowed(owner!) };
  }

  add(request: R): void {
    const owner = this.#owners.get(request.owner) ?? this.#newOwner(request.owner);
    if (owner.first === undefined) owner.served_ms = Math.max(owner.served_ms, this.#virtual_ms);
    this.#hold(owner, request.waiting);
    this.waiting += request.waiting;
    this.#enter(owner, request);
    this.#sort(owner);
  }

  /**
   * Records that a worker starts images of a request. Together they then occupy one place. Returns their
   * estimated time, for `release`. Call it before `request.waiting` is reduced.
   */
  started(request: R, images: number): number {
    const { owner } = this.#entries.get(request)!;
    let ms = 0;
    for (let image = 0; image < images; image++) ms += this.#estimate(owner, image);
    this.#virtual_ms = Math.max(this.#virtual_ms, servedBy(owner));
    owner.workers += 1;
    owner.running_ms += ms;
    this.#left -= images;
    this.#left_ms -= ms;
    this.waiting -= images;
    this.#hold(owner, 1 - images);
    if (request.waiting === images) this.#leave(request);
    this.#sort(owner);
    return ms;
  }

  /** Records that the worker has finished these images after `ms`. */
  release(name: string, images: number, estimate_ms: number, ms: number): void {
    const owner = this.#owners.get(name)!;
    owner.workers -= 1;
    owner.running_ms = owner.workers === 0 ? 0 : owner.running_ms - estimate_ms;
    owner.served_ms += ms;
    owner.image_ms = (owner.image_ms + ms / images) / 2;
    this.#image_ms = (this.#image_ms + ms / images) / 2;
    this.#virtual_ms += ms / this.#active;
    this.#hold(owner, -1);
    this.#sort(owner);
    this.#forget();
  }

  /** Removes a request whose waiting images will not be analysed. */
  drop(request: R): void {
    const owner = this.#entries.get(request)?.owner;
    if (owner === undefined) return;
    this.waiting -= request.waiting;
    this.#leave(request);
    this.#hold(owner, -request.waiting);
    this.#sort(owner);
    this.#forget();
  }

  /**
   * Returns requests to drop from a full queue, so that `entries` places become free for a request of the key
   * `newcomer`. Repeatedly selects the latest unstarted request of the key with the maximum number of places. Leaves
   * every key at least one place more than the newcomer has. Returns undefined if this is impossible.
   */
  victims(newcomer: string, entries: number): R[] | undefined {
    const minimum = (this.#owners.get(newcomer)?.held ?? 0) + 1;
    const chosen: R[] = [];
    /** The next request to drop, by checked owner. */
    const candidates = new Map<Owner<R>, Entry<R> | undefined>();
    let freed = 0;
    while (freed < entries) {
      const owner = this.#droppable.first;
      if (owner === undefined || (candidates.size === maxChecked && !candidates.has(owner))) break;
      const entry = candidates.has(owner) ? candidates.get(owner) : owner.last;
      const { waiting = 0, untouched = false } = entry?.request ?? {};
      candidates.set(owner, entry?.before);
      if (!untouched || owner.held - owner.pledged - waiting < minimum) {
        this.#droppable.set(owner, false);
        continue;
      }
      chosen.push(entry!.request);
      freed += waiting;
      owner.pledged += waiting;
      this.#droppable.set(owner);
    }
    for (const owner of candidates.keys()) {
      owner.pledged = 0;
      this.#sort(owner);
    }
    return freed < entries ? undefined : chosen;
  }

  #newOwner(name: string): Owner<R> {
    const owner: Owner<R> = {
      name,
      held: 0,
      pledged: 0,
      first: undefined,
      last: undefined,
      workers: 0,
      running_ms: 0,
      served_ms: this.#virtual_ms,
      image_ms: this.#image_ms,
      turn: 0,
    };
    this.#owners.set(name, owner);
    return owner;
  }

  /** Appends a request to the queue of its owner. */
  #enter(owner: Owner<R>, request: R): void {
    const entry: Entry<R> = { request, owner, before: owner.last, after: undefined };
    if (owner.last === undefined) owner.first = entry;
    else owner.last.after = entry;
    owner.last = entry;
    this.#entries.set(request, entry);
  }

  /** Removes a request from the queue of its owner. */
  #leave(request: R): void {
    const entry = this.#entries.get(request)!;
    const { owner, before, after } = entry;
    if (before === undefined) owner.first = after;
    else before.after = after;
    if (after === undefined) owner.last = before;
    else after.before = before;
    this.#entries.delete(request);
  }

  #hold(owner: Owner<R>, entries: number): void {
    const had = owner.held > 0;
    owner.held += entries;
    this.#active += Number(owner.held > 0) - Number(had);
  }

  #sort(owner: Owner<R>): void {
    this.#ready.set(owner, owner.first !== undefined);
    this.#droppable.set(owner, owner.last?.request.untouched ?? false);
    this.#idle.set(owner, owner.held === 0);
  }

  #begin(owner: Owner<R>): void {
    this.#current = owner;
    this.#left = quantum;
    this.#left_ms = turn_ms;
    owner.turn = ++this.#turns;
    this.#ready.set(owner);
  }

  /** Returns the estimated time in milliseconds for an image of the owner's first request. */
  #estimate(owner: Owner<R>, position: number): number {
    return Math.max(owner.image_ms, owner.first!.request.estimate_ms(position));
  }

  /** Returns the number of images of the first request that fit in the turn, at least one. */
  #allowed(owner: Owner<R>): number {
    const max = Math.min(this.#left, owner.first!.request.waiting);
    let images = 1;
    for (let ms = this.#estimate(owner, 0); images < max; images++) {
      ms += this.#estimate(owner, images);
      if (ms > this.#left_ms) break;
    }
    return images;
  }

  #mayStart({ name, workers }: Owner<R>, { up, free }: Workers): boolean {
    if (up < 2 || free > 1 || workers < up - 1) return true;
    return !this.#activity.isAnother(name, this.#now() - active_ms);
  }

  /** Deletes idle owners. An owner that had more than its share is kept until the others have had theirs. */
  #forget(): void {
    for (;;) {
      const { first } = this.#idle;
      if (first === undefined || (this.#active > 0 && first.served_ms > this.#virtual_ms)) return;
      this.#idle.set(first, false);
      this.#owners.delete(first.name);
    }
  }
}

/** Returns the virtual time up to which an owner is served, including the estimates of its running images. */
const servedBy = ({ served_ms, running_ms }: Owner<unknown>): number => served_ms + running_ms;
