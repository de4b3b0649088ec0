/** An export of the ledger: writing it, and checking it by itself. */
import { createCompactRange, leafHash, openCheckpoint, type TreeHead } from '@tallystick/hashchain'
import { z } from 'zod'
import type { GradingStore, LedgerVerdict } from './grading-store.ts'
import { toHex } from './ledger-entry.ts'

type ExportVerdict =
  | Extract<LedgerVerdict, { kind: 'broken' }>
  | {
      readonly kind: 'intact'
      readonly entries: number
      readonly origin: string
      readonly verifierKey: string
    }

const entryLine = z.strictObject({ seq: z.int(), text: z.string(), hash: z.string() })
const checkpointLine = z.strictObject({ checkpoint: z.string(), key: z.string() })
const lineSchema = z.union([entryLine, checkpointLine])

const broken = (problem: string, seq?: number): ExportVerdict => ({ kind: 'broken', problem, seq })

function readLine(line: string): z.output<typeof lineSchema> | undefined {
  try {
    return lineSchema.parse(JSON.parse(line))
  } catch {
    return undefined
  }
}

function checkHead(
  head: TreeHead,
  line: z.output<typeof checkpointLine>,
  expectedKey: string | undefined,
): ExportVerdict {
  const verifierKey = expectedKey ?? line.key
  const opened = openCheckpoint({ note: line.checkpoint, verifierKey })
  if (opened.kind !== 'checkpoint') return broken('the checkpoint is not signed by the key')
  const { size, rootHash, origin } = opened.checkpoint
  if (size !== head.size) return broken(`the checkpoint has ${size} entries`, head.size)
  if (toHex(rootHash) !== toHex(head.rootHash))
    return broken('the entries do not hash to the checkpoint')
  return { kind: 'intact', entries: size, origin, verifierKey }
}

/** Checks an export, line by line. `expectedKey` is the key the reader knows; without it the export's own key is used. */
export async function verifyExport(
  lines: AsyncIterable<string>,
  expectedKey?: string,
): Promise<ExportVerdict> {
  const range = createCompactRange()
  let verdict: ExportVerdict | undefined
  for await (const line of lines) {
    if (verdict !== undefined) return broken('there is more after the checkpoint', range.size)
    const read = readLine(line)
    if (read === undefined) return broken('a line is neither an entry nor a checkpoint', range.size)
    if ('checkpoint' in read) {
      verdict = checkHead({ size: range.size, rootHash: range.rootHash() }, read, expectedKey)
      if (verdict.kind === 'broken') return verdict
      continue
    }
    if (read.seq !== range.size) return broken('the entry is gone', range.size)
    const hash = leafHash(new TextEncoder().encode(read.text))
    if (toHex(hash) !== read.hash) return broken('its text does not hash to its leaf', read.seq)
    range.append(hash)
  }
  return verdict ?? broken('there is no checkpoint at the end')
}

/**
 * An export, line by line: every entry as hashed, then the signed checkpoint. The checkpoint is read first and decides
 * which entries are exported, because a service may be writing meanwhile.
 */
export async function* exportLines(
  store: Pick<GradingStore, 'checkpoint' | 'entries'>,
): AsyncGenerator<string> {
  const { note, size, verifierKey } = await store.checkpoint()
  for await (const { seq, text, hash } of store.entries({ from: 0, to: size }))
    yield JSON.stringify({ seq, text, hash })
  yield JSON.stringify({ checkpoint: note, key: verifierKey })
}
