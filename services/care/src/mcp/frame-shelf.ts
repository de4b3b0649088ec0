import { frameAudiences } from '../domain/frame-access.ts'
import type {
  FrameRecipient,
  SessionChange,
  SessionStore,
  StoredFrame,
} from '../domain/session-store.ts'
import type { Frame } from './frame.ts'
import type { McpSession } from './session.ts'

/** A message on its way to sessions. */
export type NewFrame = {
  readonly message: object
  /** The URI whose scope it asks for. */
  readonly about: string
  readonly recipients: Iterable<McpSession>
}

/** Where frames are kept: each once, for as long as a session may ask for it. */
export type FrameShelf = {
  /** Puts a frame into its recipients' rings and queues it for keeping. Sends nothing. */
  add(frame: NewFrame): void
  /** Forgets what only this session held. */
  release(session: McpSession): void
  /** Puts kept frames back into the rings of the sessions that are still there. */
  restore(frames: readonly StoredFrame[], sessions: ReadonlyMap<number, McpSession>): void
  /** Frames held. */
  count(): number
}

/** A frame that nobody holds yet; `message` is what its text says. */
const newFrame = (frame: Pick<Frame, 'number' | 'text' | 'about'>, message: unknown): Frame => ({
  ...frame,
  bytes: Buffer.byteLength(frame.text),
  audiences: frameAudiences({ message, about: frame.about }),
  holders: 0,
})

/** Builds the shelf; `framesMax` is what one session's ring holds. */
export function createFrameShelf(deps: {
  readonly store: SessionStore
  readonly framesMax: number
}): FrameShelf {
  const { store, framesMax } = deps
  let lastNumber = 0
  let held = 0

  const letGo = (frames: readonly (Frame | undefined)[]): SessionChange[] => {
    const dropped: number[] = []
    for (const frame of frames) {
      if (frame === undefined) continue
      frame.holders -= 1
      if (frame.holders === 0) dropped.push(frame.number)
    }
    held -= dropped.length
    return dropped.length === 0 ? [] : [{ kind: 'frames-dropped', numbers: dropped }]
  }
  const give = (frame: Frame, session: McpSession): Frame | undefined => {
    frame.holders += 1
    if (frame.holders === 1) held += 1
    return session.ring.push(frame, framesMax)
  }

  return {
    add({ message, about, recipients }) {
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
    release(session) {
      const changes = letGo(session.ring.clear())
      if (changes.length > 0) store.save(changes)
    },
    restore(frames, sessions) {
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
    count: () => held,
  }
}
