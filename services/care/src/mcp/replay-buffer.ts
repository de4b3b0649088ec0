/**
 * The frames that sessions may request again. Each is held once in memory, shared by the rings of all its recipients, and
 * stored by the session store. The URIs in a frame decide who may receive it (C6).
 */
import { isCardUri } from '../domain/care-record.ts'
import { mayRead } from '../domain/scopes.ts'
import {
  ERASED_FRAME,
  type FrameRecipient,
  type SessionChange,
  type SessionStore,
  type StoredFrame,
} from '../domain/session-store.ts'
import { type ChainSlot, parseRecordUri } from '../wire/record-uri.ts'
import type { McpSession } from './session-registry.ts'

/** Audience and patient of a chain that a frame names. */
type NamedChain = Pick<ChainSlot, 'audience' | 'patient'>

export type Frame = {
  readonly number: number
  /** The JSON-RPC message as text. */
  text: string
  /** Length of the text in UTF-8, counted once for all streams that carry it. */
  bytes: number
  /** The URI whose scope the frame requires. */
  about: string
  /** What a reader's scopes must cover; undefined means that nobody may have it. */
  names: readonly NamedChain[] | undefined
  /** Whether it tells a subscriber that a record changed. */
  readonly isUpdate: boolean
  /** Rings that hold it; at 0 it is forgotten. */
  holders: number
}

/**
 * The frames that a session may request, by sequence number without gaps; at the limit the oldest goes. It is a class
 * since tens of thousands of sessions have one: methods are shared, and an empty ring is two numbers.
 */
export class FrameRing {
  #frames: Frame[] | undefined
  /** The place of the oldest frame; 0 until the ring is full. */
  #oldest = 0
  #lastSequence: number

  /** `lastSequence` is that of the newest frame ever given to the session, 0 for a new session. */
  constructor(lastSequence: number) {
    this.#lastSequence = lastSequence
  }

  get size(): number {
    return this.#frames?.length ?? 0
  }

  get lastSequence(): number {
    return this.#lastSequence
  }

  /** The oldest point from which nothing is missing: the sequence before the oldest frame held. */
  get floorSequence(): number {
    return this.#lastSequence - this.size
  }

  /** Adds a frame under the next sequence; returns the frame it displaced, if any. The limit is always the same. */
  push(frame: Frame, framesMax: number): Frame | undefined {
    this.#frames ??= []
    this.#lastSequence += 1
    if (this.#frames.length < framesMax) return void this.#frames.push(frame)
    const displaced = this.#frames[this.#oldest]
    this.#frames[this.#oldest] = frame
    this.#oldest = (this.#oldest + 1) % framesMax
    return displaced
  }

  /**
   * Sets the sequence of the next frame when a ring is filled from stored frames. Frames before a gap are dropped, since
   * they could not be requested without missing one.
   */
  expect(sequence: number): readonly Frame[] {
    if (sequence === this.#lastSequence + 1) return []
    const dropped = this.clear()
    this.#lastSequence = sequence - 1
    return dropped
  }

  at(sequence: number): Frame | undefined {
    const offset = sequence - this.floorSequence - 1
    const isHeld = offset >= 0 && offset < this.size
    return isHeld ? this.#frames?.[(this.#oldest + offset) % this.size] : undefined
  }

  /** What it holds, the oldest first. */
  held(): readonly Frame[] {
    const frames = this.#frames ?? []
    return [...frames.slice(this.#oldest), ...frames.slice(0, this.#oldest)]
  }

  clear(): readonly Frame[] {
    const held = this.held()
    this.#frames = undefined
    this.#oldest = 0
    return held
  }
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

const listed = (list: unknown): readonly unknown[] =>
  Array.isArray(list) ? list.map((entry) => member(entry, 'uri')) : []

/**
 * Every URI that a JSON-RPC frame names (care.md, Events): `params.uri`, `params.data.uri`, `result.contents[].uri` and
 * `result.resources[].uri`. If one of these is not a string, it gives undefined: such a frame cannot be judged.
 */
export function frameUris(frame: unknown): readonly (string | undefined)[] {
  const params = member(frame, 'params')
  const result = member(frame, 'result')
  const found = [
    ...[member(params, 'uri'), member(member(params, 'data'), 'uri')].filter(
      (uri) => uri !== undefined,
    ),
    ...listed(member(result, 'contents')),
    ...listed(member(result, 'resources')),
  ]
  return found.map((uri) => (typeof uri === 'string' ? uri : undefined))
}

/**
 * The chains that a frame names, which a reader's scopes must cover; undefined if a URI in it cannot be parsed, in which case
 * nobody may receive it. `about` is the URI of a frame whose message names none (`list_changed`).
 */
export function frameNames({
  message,
  about,
}: {
  readonly message: unknown
  readonly about?: string | undefined
}): readonly NamedChain[] | undefined {
  const uris = about === undefined ? frameUris(message) : [...frameUris(message), about]
  const names: NamedChain[] = []
  for (const uri of new Set(uris)) {
    if (uri === undefined) return undefined
    if (isCardUri(uri)) continue
    const parsed = parseRecordUri(uri)
    if (parsed === undefined) return undefined
    const { audience, patient } = parsed.slot
    names.push({ audience, patient })
  }
  return names
}

/** Whether a principal with these scopes may receive a frame. A frame that names no record may go to everyone. */
export function mayReceive(
  scopes: readonly string[],
  names: readonly NamedChain[] | undefined,
): boolean {
  return names?.every((named) => mayRead(scopes, named)) ?? false
}

/** Whether a frame is about a chain that everyone may know of: public figures count no other (C30). */
export const isPublic = ({ names }: Pick<Frame, 'names'>): boolean =>
  names?.every(({ audience }) => audience === 'user') ?? false

/** A frame that nobody holds yet; `message` is its text as parsed JSON. */
const newFrame = (frame: Pick<Frame, 'number' | 'text' | 'about'>, message: unknown): Frame => ({
  ...frame,
  bytes: Buffer.byteLength(frame.text),
  names: frameNames({ message, about: frame.about }),
  isUpdate: member(message, 'method') === 'notifications/resources/updated',
  holders: 0,
})

/** Empties a frame; returns by how much the count of public frames falls. */
function wiped(frame: Frame): number {
  const fallen = Number(isPublic(frame))
  Object.assign(frame, ERASED_FRAME, { bytes: ERASED_FRAME.text.length, names: undefined })
  return fallen
}

type AddedFrame = {
  readonly message: object
  readonly about: string
  readonly recipients: Iterable<McpSession>
}

export type ReplayBuffer = ReturnType<typeof createReplayBuffer>

/** `framesMax` is the capacity of one session's ring. */
export function createReplayBuffer(store: SessionStore, framesMax: number) {
  let lastNumber = 0
  let held = 0

  const letGo = (frames: readonly (Frame | undefined)[]): SessionChange[] => {
    const dropped: number[] = []
    for (const frame of frames) {
      if (frame === undefined) continue
      frame.holders -= 1
      if (frame.holders > 0) continue
      dropped.push(frame.number)
      held -= Number(isPublic(frame))
    }
    return dropped.length === 0 ? [] : [{ kind: 'frames-dropped', numbers: dropped }]
  }
  const give = (frame: Frame, session: McpSession): Frame | undefined => {
    frame.holders += 1
    if (frame.holders === 1) held += Number(isPublic(frame))
    return session.ring.push(frame, framesMax)
  }

  return {
    /** Puts a message, which requires the scope of `about`, into its recipients' rings and stores it. Sends nothing. */
    add({ message, about, recipients }: AddedFrame): void {
      lastNumber += 1
      const number = lastNumber
      const text = JSON.stringify(message)
      const frame = newFrame({ number, text, about }, message)
      const given: FrameRecipient[] = []
      const evicted: (Frame | undefined)[] = []
      for (const session of recipients) {
        evicted.push(give(frame, session))
        given.push({ session: session.number, sequence: session.ring.lastSequence })
      }
      if (given.length === 0) return
      store.save([
        { kind: 'frame', frame: { number, text, about, recipients: given } },
        ...letGo(evicted),
      ])
    },
    /** Forgets what only this session held. */
    release(session: McpSession): void {
      const changes = letGo(session.ring.clear())
      if (changes.length > 0) store.save(changes)
    },
    /** Puts stored frames back into the rings of the sessions that still exist. */
    restore(frames: readonly StoredFrame[], sessions: ReadonlyMap<number, McpSession>): void {
      for (const { number, text, about, recipients } of frames) {
        lastNumber = Math.max(lastNumber, number)
        const frame = newFrame({ number, text, about }, JSON.parse(text))
        const evicted: (Frame | undefined)[] = []
        for (const { session: owner, sequence } of recipients) {
          const session = sessions.get(owner)
          if (session === undefined) continue
          evicted.push(...session.ring.expect(sequence), give(frame, session))
        }
        const changes = letGo(evicted)
        if (frame.holders === 0) changes.push({ kind: 'frames-dropped', numbers: [number] })
        store.save(changes)
      }
    },
    /** Empties a session's frames about these erased chains; the frames keep their places. */
    erase(session: McpSession, uris: ReadonlySet<string>): void {
      for (const frame of session.ring.held()) if (uris.has(frame.about)) held -= wiped(frame)
    },
    /** Frames about speakable records held. */
    count: () => held,
  }
}
