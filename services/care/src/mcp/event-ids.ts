/** Event ids: a session's position, sealed (C3). */
import type { Position } from '../domain/position.ts'
import { BLOCK_BYTES, createSealedBlocks } from './sealed-blocks.ts'

/** Where the parts of a block begin: session, user leaves, assistant leaves, frames told. */
const [USER_AT, ASSISTANT_AT, FRAMES_AT] = [4, 9, 14]
const LEAF_BYTES = 5

export type EventIds = ReturnType<typeof createEventIds>

export function createEventIds(key: Uint8Array) {
  const blocks = createSealedBlocks(key)
  return {
    write(session: number, positions: readonly Position[]): readonly string[] {
      if (positions.length === 0) return []
      const all = Buffer.allocUnsafe(positions.length * BLOCK_BYTES)
      for (const [index, { assistant, frames, user }] of positions.entries()) {
        const at = index * BLOCK_BYTES
        all.writeUInt32BE(session, at)
        all.writeUIntBE(user, at + USER_AT, LEAF_BYTES)
        all.writeUIntBE(assistant, at + ASSISTANT_AT, LEAF_BYTES)
        all.writeUInt16BE(frames, at + FRAMES_AT)
      }
      return blocks.sealEach(all)
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
