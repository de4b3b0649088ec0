/** Places as one sealed block each, in which nothing can be read, counted or compared (C3, C26, C30). */
import { createCipheriv, createDecipheriv } from 'node:crypto'

/** One block of AES. */
export const BLOCK_BYTES = 16

/**
 * A block cipher is a permutation under its key: equal blocks have equal texts, and no two texts show which is the later. One
 * block needs neither a nonce nor a chain. What is in a block must show that it is one: any text opens to something.
 */
export function createSealedBlocks(key: Uint8Array) {
  const cipher = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const decipher = createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  return {
    seal: (block: Buffer): string => cipher.update(block).toString('base64url'),
    /** Several blocks, one behind the other. */
    sealAll: (blocks: Buffer): Buffer => cipher.update(blocks),
    /** Undefined for what is not the text of a block. */
    open(text: string): Buffer | undefined {
      const sealed = Buffer.from(text, 'base64url')
      if (sealed.length !== BLOCK_BYTES || sealed.toString('base64url') !== text) return undefined
      return decipher.update(sealed)
    },
  }
}
