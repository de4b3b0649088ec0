/** Event ids: a session's position as one sealed block, in which nothing can be read, counted or compared (C3, C30). */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Position } from '../domain/position.ts'

/** One block of AES. */
const BLOCK_BYTES = 16
/** Where the parts of a block begin: session, user leaves, assistant leaves, frames told. */
const [USER_AT, ASSISTANT_AT, TOLD_AT] = [4, 9, 14]
const LEAF_BYTES = 5

export type EventIds = ReturnType<typeof createEventIds>

/**
 * A block cipher is a permutation under its key: equal positions have equal ids, and no two ids show which is the later. One
 * block needs neither a nonce nor a chain.
 */
export function createEventIds(key: Uint8Array) {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const decipher = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const block = Buffer.alloc(BLOCK_BYTES)
  return {
    write(session: number, { assistant, told, user }: Position): string {
      block.writeUInt32BE(session, 0)
      block.writeUIntBE(user, USER_AT, LEAF_BYTES)
      block.writeUIntBE(assistant, ASSISTANT_AT, LEAF_BYTES)
      block.writeUInt16BE(told, TOLD_AT)
      return cipher.update(block).toString('base64url')
    },
    /** The position in an id of that session; undefined for any other text. */
    read(session: number, id: string): Position | undefined {
      const sealed = Buffer.from(id, 'base64url')
      if (sealed.length !== BLOCK_BYTES || sealed.toString('base64url') !== id) return undefined
      const opened = decipher.update(sealed)
      if (opened.readUInt32BE(0) !== session) return undefined
      return {
        user: opened.readUIntBE(USER_AT, LEAF_BYTES),
        assistant: opened.readUIntBE(ASSISTANT_AT, LEAF_BYTES),
        told: opened.readUInt16BE(TOLD_AT),
      }
    },
  }
}
