import { HASH_BYTES, type TreeHead } from './merkle-tree.ts'
import { decodeStrictBase64 } from './strict-base64.ts'

/** The signed statement of a journal: "at this size my root is this" (https://c2sp.org/tlog-checkpoint). */
type Checkpoint = TreeHead & {
  /** Unique name of the journal, by custom a URL without scheme, such as `care.example.org/user`. */
  readonly origin: string
  /** Further lines, each non-empty; most checkpoints have none. */
  readonly extensionLines: readonly string[]
}

/** The result of reading a text as a checkpoint. */
type ParsedCheckpoint =
  | { readonly kind: 'checkpoint'; readonly checkpoint: Checkpoint }
  | {
      readonly kind: 'malformed'
      readonly part: 'lines' | 'origin' | 'size' | 'root' | 'extension'
    }

/** A decimal number without leading zeros. */
const DECIMAL = /^(?:0|[1-9]\d*)$/
const ONE_LINE = /^[^\n\r]+$/

/**
 * The text of a checkpoint, to be signed as a note: origin, decimal size and base64 root, one per line. Throws a
 * RangeError for what the format cannot hold: an empty or broken line, a size that is not a whole number from 0, a root
 * that is not 32 bytes.
 */
export function formatCheckpoint(
  checkpoint: Omit<Checkpoint, 'extensionLines'> & {
    readonly extensionLines?: readonly string[]
  },
): string {
  const { origin, size, rootHash, extensionLines = [] } = checkpoint
  if (!ONE_LINE.test(origin) || !extensionLines.every((line) => ONE_LINE.test(line)))
    throw new RangeError('origin and extension lines of a checkpoint are single, non-empty lines')
  if (!Number.isSafeInteger(size) || size < 0)
    throw new RangeError('the size of a checkpoint is a whole number from 0')
  if (rootHash.length !== HASH_BYTES)
    throw new RangeError(`the root of a checkpoint has ${HASH_BYTES} bytes`)
  return [
    origin,
    String(size),
    Buffer.from(rootHash).toString('base64'),
    ...extensionLines,
    '',
  ].join('\n')
}

/** Strictly reads a checkpoint's text, as `openNote` gives it: every accepted text is exactly what `formatCheckpoint` writes. */
export function parseCheckpoint(text: string): ParsedCheckpoint {
  const [origin, sizeText, rootText, ...rest] = text.split('\n')
  if (origin === undefined || sizeText === undefined || rootText === undefined || rest.pop() !== '')
    return { kind: 'malformed', part: 'lines' }
  if (!ONE_LINE.test(origin)) return { kind: 'malformed', part: 'origin' }
  const size = Number(sizeText)
  if (!DECIMAL.test(sizeText) || !Number.isSafeInteger(size))
    return { kind: 'malformed', part: 'size' }
  const rootHash = decodeStrictBase64(rootText)
  if (rootHash?.length !== HASH_BYTES) return { kind: 'malformed', part: 'root' }
  if (!rest.every((line) => ONE_LINE.test(line))) return { kind: 'malformed', part: 'extension' }
  return { kind: 'checkpoint', checkpoint: { origin, size, rootHash, extensionLines: rest } }
}
