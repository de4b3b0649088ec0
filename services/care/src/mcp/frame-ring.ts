import type { Frame } from './frame.ts'

/** Dropped slots at the front before the array is compacted: amortises the copy. */
const COMPACT_AT = 256

/**
 * The frames that a session may still ask for, by their sequence numbers, which have no gaps; the oldest is dropped at the
 * limit. A class, since tens of thousands of sessions have one: methods are shared and an empty ring is two numbers.
 */
export class FrameRing {
  #frames: (Frame | undefined)[] | undefined
  #head = 0
  #lastSequence: number

  /** `lastSequence`: of the newest frame that the session was ever given, 0 for a new session. */
  constructor(lastSequence: number) {
    this.#lastSequence = lastSequence
  }

  get size(): number {
    return (this.#frames?.length ?? 0) - this.#head
  }

  get lastSequence(): number {
    return this.#lastSequence
  }

  /** The oldest point from which nothing is missing: the sequence before the oldest frame that is held. */
  get floorSequence(): number {
    return this.#lastSequence - this.size
  }

  /** Adds a frame under the next sequence; returns the frame that had to go, if one had. */
  push(frame: Frame, framesMax: number): Frame | undefined {
    this.#frames ??= []
    this.#frames.push(frame)
    this.#lastSequence += 1
    return this.size > framesMax ? this.#dropOldest() : undefined
  }

  /**
   * Says which sequence the next frame has, where rings are filled from what was kept. Frames before a gap could not be
   * asked for without missing one, so they are let go.
   */
  expect(sequence: number): readonly Frame[] {
    if (sequence === this.#lastSequence + 1) return []
    const dropped = this.clear()
    this.#lastSequence = sequence - 1
    return dropped
  }

  /** The frame with a sequence, undefined where it is not held. */
  at(sequence: number): Frame | undefined {
    const offset = sequence - this.floorSequence - 1
    return offset < 0 ? undefined : this.#frames?.[this.#head + offset]
  }

  /** Empties the ring and returns what it held. */
  clear(): readonly Frame[] {
    const held = (this.#frames ?? []).slice(this.#head).filter((frame) => frame !== undefined)
    this.#frames = undefined
    this.#head = 0
    return held
  }

  #dropOldest(): Frame | undefined {
    const frames = this.#frames ?? []
    const oldest = frames[this.#head]
    frames[this.#head] = undefined
    this.#head += 1
    if (this.#head >= COMPACT_AT) {
      this.#frames = frames.slice(this.#head)
      this.#head = 0
    }
    return oldest
  }
}
