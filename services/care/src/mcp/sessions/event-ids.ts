/** Event ids: a session's position, sealed (C3). */
import type { Position } from '../../domain/position.ts'
import { BLOCK_BYTES, createSealedBlocks } from './sealed-blocks.ts'

/** Where the parts of a block begin: session, user leaves, assistant leaves, frames told. */
const [USER_AT, ASSISTANT_AT, FRAMES_AT] = [4, 9, 14]
const LEAF_BYTES = 5

type Placed = { readonly position: Position }

/** The blocks of frames, but for the session. */
function writePlaces(frames: readonly Placed[]): Buffer {
  const all = Buffer.alloc(frames.length * BLOCK_BYTES)
  for (const [index, { position }] of frames.entries()) {
    const at = index * BLOCK_BYTES
    all.writeUIntBE(position.user, at + USER_AT, LEAF_BYTES)
    all.writeUIntBE(position.assistant, at + ASSISTANT_AT, LEAF_BYTES)
    all.writeUInt16BE(position.frames, at + FRAMES_AT)
  }
  return all
}

export type EventIds = ReturnType<typeof createEventIds>

export function createEventIds(key: Uint8Array) {
  const blocks = createSealedBlocks(key)
  const places = new WeakMap<readonly Placed[], Buffer>()
  return {
    /** One behind each frame. The same frames are told to many sessions. */
    write(session: number, frames: readonly Placed[]): readonly string[] {
      if (frames.length === 0) return []
      const written = places.get(frames) ?? writePlaces(frames)
      places.set(frames, written)
      for (let at = 0; at < written.length; at += BLOCK_BYTES) written.writeUInt32BE(session, at)
      return blocks.sealEach(written)
    },
    /** The position in an id of that session; undefined for any other text. */
    read(session: number, id: string): Position | undefined {
      const opened = blocks.open(id)
      if (opened?.readUInt32BE(0) !== session) return undefined
      return {
        user: opened.readUIntBE(USER_AT, LEAF_BYTES),
        assistant: opened.readUIntBE(ASSISTANT_AT, LEAF_BYTES),
        frames: opened.readUInt16BE(FRAMES_AT),
      }
    },
  }
}
