/** Cursors of `changes_since`: how far a reader was told of each journal, sealed (C26). */
import { hash } from 'node:crypto'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import { BLOCK_BYTES, createSealedBlocks } from '../sessions/sealed-blocks.ts'

const [LEAF_BYTES, MARK_BYTES] = [5, 3]

/** What a reader was told of a journal. */
type ToldPart = {
  /** Leaves up to the last one that its reader was told of, that one included; 0 for none. */
  readonly size: number
  /** Begins that leaf's hash, lower-case hex: in a store that was put back, another version may stand in its place. */
  readonly mark: string
}

export type ToldParts = Readonly<Record<Audience, ToldPart>>

export const NOTHING_TOLD: ToldPart = { size: 0, mark: '0'.repeat(MARK_BYTES * 2) }

/** What a reader was told up to a leaf. */
export const toldUpTo = ({
  hash: leafHash,
  leaf,
}: {
  readonly leaf: number
  readonly hash: string
}): ToldPart => ({ size: leaf + 1, mark: leafHash.slice(0, MARK_BYTES * 2) })

/** `key` is that of event ids, which seals nothing of the same form. */
export function createChangeCursors(key: Uint8Array) {
  const blocks = createSealedBlocks(
    hash('sha256', Buffer.concat([key, Buffer.from('changes_since')]), 'buffer'),
  )
  return {
    write(parts: ToldParts): string {
      const block = Buffer.alloc(BLOCK_BYTES)
      for (const [at, audience] of AUDIENCES.entries()) {
        const { mark, size } = parts[audience]
        const begin = block.writeUIntBE(size, at * (LEAF_BYTES + MARK_BYTES), LEAF_BYTES)
        block.write(mark, begin, 'hex')
      }
      return blocks.seal(block)
    },
    /** Undefined for what is no block; of any other text whatever it opens to, which fits no leaf. */
    read(cursor: string): ToldParts | undefined {
      const block = blocks.open(cursor)
      if (block === undefined) return undefined
      const partAt = (at: number): ToldPart => {
        const begin = at * (LEAF_BYTES + MARK_BYTES)
        const end = begin + LEAF_BYTES
        const mark = block.toString('hex', end, end + MARK_BYTES)
        return { size: block.readUIntBE(begin, LEAF_BYTES), mark }
      }
      return {
        user: partAt(AUDIENCES.indexOf('user')),
        assistant: partAt(AUDIENCES.indexOf('assistant')),
      }
    },
  }
}
