/** Event ids: a session's position, sealed (C3). */
import type { Position } from '../../domain/position.ts'
import { BLOCK_BYTES, createSealedBlocks } from './sealed-blocks.ts'

/** Where the parts of a block begin: session, user leaves, assistant leaves, frames told. */
const [USER_AT, ASSISTANT_AT, FRAMES_AT] = [4, 9, 14]
const LEAF_BYTES = 5

type Placed = { readonly position: Position }

/** Room for the blocks of a slice of streams with two frames each; a batch that needs more takes more. */
const BATCH_BLOCKS = 1_024

export type SealedIds = (number: number) => string

export type IdBatch = ReturnType<ReturnType<typeof createEventIds>['begin']>

export type EventIds = ReturnType<typeof createEventIds>

export function createEventIds(key: Uint8Array) {
  const cipher = createSealedBlocks(key)
  /** The room of the last batch, for the next one. */
  let spare: Buffer | undefined
  const begin = () => {
    let blocks = spare ?? Buffer.alloc(BATCH_BLOCKS * BLOCK_BYTES)
    spare = undefined
    let end = 0
    return {
      /** One behind each frame; returns the number of the first. */
      add(session: number, frames: readonly Placed[]): number {
        const first = end / BLOCK_BYTES
        for (const { position } of frames) {
          if (end === blocks.length) blocks = Buffer.concat([blocks, Buffer.alloc(end)])
          blocks.writeUInt32BE(session, end)
          blocks.writeUIntBE(position.user, end + USER_AT, LEAF_BYTES)
          blocks.writeUIntBE(position.assistant, end + ASSISTANT_AT, LEAF_BYTES)
          blocks.writeUInt16BE(position.frames, end + FRAMES_AT)
          end += BLOCK_BYTES
        }
        return first
      },
      /** Ends the batch; returns what gives the id of a number. */
      seal(): SealedIds {
        const sealed = cipher.sealAll(blocks.subarray(0, end))
        spare = blocks
        return (number) => {
          const at = number * BLOCK_BYTES
          return sealed.toString('base64url', at, at + BLOCK_BYTES)
        }
      },
    }
  }
  return {
    /** Seals the ids of many streams at once: a call of the cipher costs as much as the rest of an id. */
    begin,
    /** The id of one place. */
    write(session: number, position: Position): string {
      const batch = begin()
      batch.add(session, [{ position }])
      return batch.seal()(0)
    },
    /** The position in an id of that session; undefined for any other text. */
    read(session: number, id: string): Position | undefined {
      const opened = cipher.open(id)
      if (opened?.readUInt32BE(0) !== session) return undefined
      return {
        user: opened.readUIntBE(USER_AT, LEAF_BYTES),
        assistant: opened.readUIntBE(ASSISTANT_AT, LEAF_BYTES),
        frames: opened.readUInt16BE(FRAMES_AT),
      }
    },
  }
}
