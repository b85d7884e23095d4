import { Activity } from './activity.ts';
import { Heap } from './heap.ts';

/** A request as the order of turns sees it. */
interface Waiting {
  /** The id of the key that sent it. */
  readonly owner: string;
  /** Number of its images that are waiting. */
  readonly waiting: number;
  /** None of its images was given to a worker yet. */
  readonly untouched: boolean;
  /** A further step of a request that was admitted before: it goes before the other requests of its owner. */
  readonly continues: boolean;
  /** Milliseconds that its waiting image at this position, 0 for the next one, takes at least, as far as that is known before. */
  estimate_ms(position: number): number;
}

/** A request in the line of its owner. */
interface Place<R> {
  readonly request: R;
  readonly owner: Owner<R>;
  before: Place<R> | undefined;
  after: Place<R> | undefined;
}

/** What one key has in the queue, and what it has had. */
interface Owner<R> {
  readonly name: string;
  /** Places that it takes, running or waiting. */
  held: number;
  /** Places of its requests that `victims` is about to drop. */
  pledged: number;
  /** Its requests with waiting images: those that continue, then the others, the oldest first. */
  first: Place<R> | undefined;
  last: Place<R> | undefined;
  /** The last one of those that continue. */
  lastContinuing: Place<R> | undefined;
  /** Workers that it occupies, and what their jobs take by estimate. */
  workers: number;
  running_ms: number;
  /** The virtual time up to which it is served: that of its first image, and what its images have taken since. */
  served_ms: number;
  /** The average time of its images, newer ones weighted more. */
  image_ms: number;
  /** The number of its last turn. */
  turn: number;
}

/** State of the workers that `FairQueue.next` needs. */
export interface Workers {
  /** Those that are up, busy or not. */
  readonly up: number;
  readonly free: number;
}

export interface Next<R> {
  request: R;
  /** Number of its images that may be taken now. */
  allowed: number;
}

/** Images that a key may start in a turn: those of a match, so that they stay together. */
const quantum = 2;

/** Together the images of a turn take at most so long by estimate, unless one alone takes longer: nobody waits for two long ones. */
const turn_ms = 100;

/** A worker stays free for another key for this long after its last activity. */
const active_ms = 10_000;

/** Owners that are asked at most for a request to drop; those that hold most come first. */
const maxAsked = 16;

/**
 * Decides whose image is next: start-time fair queueing (Goyal, Vin and Cheng, 1996) by the time that workers spend on a key's images, and
 * within a key the order of arrival. Over time each key that has always something waiting gets an equal share of the workers' time.
 *
 * A running job is never interrupted, so equal shares over time do not limit a wait. Three rules do:
 *
 * 1. One key never occupies all workers that are up, if there are two or more, while another key is active: has a request in flight, or had
 *    one within the last 10 s.
 * 2. A turn is at most two images of one request, and one where the images are large or those of the key took long: the estimate is the
 *    larger one of what the image's pixels and the key's last images say.
 * 3. A key that had nothing waiting gets its turn before those that were served while it was away, but saves no time up.
 *
 * So the first image of a key waits at most for one turn of each other key, whatever they have sent. With a single worker, and for the first
 * request after 10 s without one, that turn may have begun already, and it lasts as long as an image may.
 *
 * Time is known only when a job is done; until then it counts as much as its estimate. All operations take logarithmic time.
 */
export class FairQueue<R extends Waiting> {
  readonly #now: () => number;
  readonly #activity = new Activity();
  readonly #owners = new Map<string, Owner<R>>();
  readonly #places = new Map<R, Place<R>>();
  /** Owners with waiting images: the least served first; among equals, the one whose last turn was first. */
  readonly #ready = new Heap<Owner<R>>((a, b) => (servedBy(a) - servedBy(b) || a.turn - b.turn) < 0);
  /** Owners whose last request can be dropped: the one that holds most first. */
  readonly #droppable = new Heap<Owner<R>>((a, b) => a.held - a.pledged > b.held - b.pledged);
  /** Owners without anything that had more than their share: the one that had least too much first. */
  readonly #idle = new Heap<Owner<R>>((a, b) => a.served_ms < b.served_ms);
  /** Number of owners with entries. */
  #active = 0;
  /** What each key that had always something waiting would have had of the workers' time. */
  #virtual_ms = 0;
  /** The average time of an image of any key. */
  #image_ms = 1;
  #turns = 0;
  /** Whose turn it is, and how many images, of how many milliseconds, it may still start in it. */
  #current: Owner<R> | undefined;
  #left = 0;
  #left_ms = 0;
  /** Waiting images of all keys. */
  waiting = 0;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Requests with waiting images. */
  get requests(): number {
    return this.#places.size;
  }

  /** Call it when a request of this key arrives, and `ended` when it has its response. */
  arrived(owner: string): void {
    this.#activity.begin(owner);
  }

  ended(owner: string): void {
    this.#activity.end(owner, this.#now());
  }

  /** The request whose image is next; undefined when none may start on the workers that are free. */
  next(workers: Workers): Next<R> | undefined {
    let owner = this.#current;
    const goesOn = owner?.first !== undefined && this.#left > 0 && this.#estimate(owner, 0) <= this.#left_ms;
    if (!goesOn || !this.#mayStart(owner!, workers)) {
      owner = this.#ready.first;
      // Only one key can occupy all workers but the last one.
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
   * A worker takes images of the next request, and they become one place. Returns their estimate, for `release`. Call it before
   * `request.waiting` is without them.
   */
  started(request: R, images: number): number {
    const { owner } = this.#places.get(request)!;
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

  /** The worker that had these images is free again, after `ms`. */
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

  /** Its waiting images will not be taken. */
  drop(request: R): void {
    const owner = this.#places.get(request)?.owner;
    if (owner === undefined) return;
    this.waiting -= request.waiting;
    this.#leave(request);
    this.#hold(owner, -request.waiting);
    this.#sort(owner);
    this.#forget();
  }

  /**
   * Requests to drop from a full queue, so that `places` get free for a newcomer: each time the youngest one of the key that
   * holds most, none of whose images has started. A key is never left with less than the newcomer's has then; undefined when
   * that cannot be, because the newcomer's key has its share.
   */
  victims(newcomer: string, places: number): R[] | undefined {
    const minimum = (this.#owners.get(newcomer)?.held ?? 0) + 1;
    const chosen: R[] = [];
    /** The request that each owner asked would drop next. */
    const candidates = new Map<Owner<R>, Place<R> | undefined>();
    let freed = 0;
    while (freed < places) {
      const owner = this.#droppable.first;
      if (owner === undefined || (candidates.size === maxAsked && !candidates.has(owner))) break;
      const place = candidates.has(owner) ? candidates.get(owner) : owner.last;
      const { waiting = 0, untouched = false } = place?.request ?? {};
      candidates.set(owner, place?.before);
      if (!untouched || owner.held - owner.pledged - waiting < minimum) {
        this.#droppable.set(owner, false);
        continue;
      }
      chosen.push(place!.request);
      freed += waiting;
      owner.pledged += waiting;
      this.#droppable.set(owner);
    }
    for (const owner of candidates.keys()) {
      owner.pledged = 0;
      this.#sort(owner);
    }
    return freed < places ? undefined : chosen;
  }

  #newOwner(name: string): Owner<R> {
    const owner: Owner<R> = {
      name,
      held: 0,
      pledged: 0,
      first: undefined,
      last: undefined,
      lastContinuing: undefined,
      workers: 0,
      running_ms: 0,
      served_ms: this.#virtual_ms,
      image_ms: this.#image_ms,
      turn: 0,
    };
    this.#owners.set(name, owner);
    return owner;
  }

  /** Puts a request into the line of its owner. */
  #enter(owner: Owner<R>, request: R): void {
    const before = request.continues ? owner.lastContinuing : owner.last;
    const after = before === undefined ? owner.first : before.after;
    const place: Place<R> = { request, owner, before, after };
    if (before === undefined) owner.first = place;
    else before.after = place;
    if (after === undefined) owner.last = place;
    else after.before = place;
    if (request.continues) owner.lastContinuing = place;
    this.#places.set(request, place);
  }

  /** Takes it out of the line. */
  #leave(request: R): void {
    const place = this.#places.get(request)!;
    const { owner, before, after } = place;
    if (before === undefined) owner.first = after;
    else before.after = after;
    if (after === undefined) owner.last = before;
    else after.before = before;
    // What stands before one that continues continues too.
    if (owner.lastContinuing === place) owner.lastContinuing = before;
    this.#places.delete(request);
  }

  #hold(owner: Owner<R>, places: number): void {
    const had = owner.held > 0;
    owner.held += places;
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

  /** Milliseconds that an image of the owner's first request may take. */
  #estimate(owner: Owner<R>, position: number): number {
    return Math.max(owner.image_ms, owner.first!.request.estimate_ms(position));
  }

  /** How many images of its first request the turn has room for, one at least. */
  #allowed(owner: Owner<R>): number {
    const most = Math.min(this.#left, owner.first!.request.waiting);
    let images = 1;
    for (let ms = this.#estimate(owner, 0); images < most; images++) {
      ms += this.#estimate(owner, images);
      if (ms > this.#left_ms) break;
    }
    return images;
  }

  #mayStart({ name, workers }: Owner<R>, { up, free }: Workers): boolean {
    if (up < 2 || free > 1 || workers < up - 1) return true;
    return !this.#activity.isAnother(name, this.#now() - active_ms);
  }

  /** A key that had more than its share is remembered until the others have had theirs, or nobody has anything. */
  #forget(): void {
    for (;;) {
      const { first } = this.#idle;
      if (first === undefined || (this.#active > 0 && first.served_ms > this.#virtual_ms)) return;
      this.#idle.set(first, false);
      this.#owners.delete(first.name);
    }
  }
}

/** Up to when it is served, with what its running images will have taken. */
const servedBy = ({ served_ms, running_ms }: Owner<unknown>): number => served_ms + running_ms;
