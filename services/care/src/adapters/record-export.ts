// What an auditor gets: a journal's leaf hashes and entries up to one moment, and the checkpoint of that moment.

import { versionPreimage } from '@tallystick/hashchain'
import { isWithin, type Reach } from '../domain/care-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import { type ChainSlot, chainUri, versionUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { EXPORT_FORMAT, type ExportLine } from '../wire/verify.ts'
import {
  type LeafRange,
  nextTurn,
  type RecordRows,
  sliceEnd,
  type VerifySource,
} from './record-rows.ts'
import {
  isErased as isErasedChain,
  openVersion,
  slotOfChain,
  type VersionRow,
} from './stored-record.ts'

/** Leaf hashes on one line: about 70 KB of text, and the memory that a reader needs. */
const LEAVES_PER_LINE = 1_024
/** Versions of one chain read at once. */
const CHAIN_VERSIONS_PER_READ = 64

/** Where an export reads. */
type ExportSource = VerifySource & {
  /** The signed note over a journal as committed. */
  readonly checkpoint: (audience: Audience) => string
  readonly verifierKey: (audience: Audience) => string
}

/** The exporting half of a store: NDJSON lines. */
export async function* exportRecordLines(
  source: ExportSource,
  query: Parameters<RecordStore['exportLines']>[0],
): AsyncGenerator<string> {
  for await (const line of exportLines(source, query)) yield JSON.stringify(line)
}

async function* exportLines(
  source: ExportSource,
  query: Parameters<RecordStore['exportLines']>[0],
): AsyncGenerator<ExportLine> {
  const { slot, within } = query
  // An export of one chain holds that chain's journal alone.
  const audiences = [...new Set(query.audiences)].filter(
    (audience) => slot === undefined || slot.audience === audience,
  )
  const uri = slot === undefined ? undefined : chainUri(slot)
  const isPartOf = within?.some(({ patient }) => patient !== undefined) === true
  yield {
    kind: 'export',
    format: EXPORT_FORMAT,
    audiences,
    uri,
    ...(isPartOf ? { within: [...within] } : {}),
  }
  for (const journal of audiences) {
    // Size and note are of one moment; what is appended later is behind it.
    const size = source.journalSize(journal)
    const note = source.checkpoint(journal)
    const chainRows = slot === undefined ? undefined : rowsOfChain(source.rows, slot)
    for (let from = 0; from < size; from += LEAVES_PER_LINE) {
      const range = { audience: journal, from, to: Math.min(from + LEAVES_PER_LINE, size) }
      yield { kind: 'leaves', journal, from, hashes: [...(await source.rows.leafHashes(range))] }
      if (slot === undefined) yield* journalLines(source, range, within)
      else if (chainRows !== undefined)
        yield* chainLines(source, { slot, rows: chainRows, to: range.to })
      await nextTurn()
    }
    yield { kind: 'checkpoint', journal, note, verifierKey: source.verifierKey(journal) }
  }
}

async function* journalLines(
  source: VerifySource,
  range: LeafRange,
  within: readonly Reach[] | undefined,
): AsyncGenerator<ExportLine> {
  const { audience, to } = range
  for (let { from } = range; from < to; ) {
    const end = await sliceEnd(source.rows, { audience, from, to })
    const slice = await source.rows.leaves({ audience, from, to: end })
    const chains = await source.rows.chains([...new Set(slice.map(([, chain]) => chain))])
    for (const row of slice) {
      const chain = chains.get(row[1])
      const slot = chain?.[3] === audience ? slotOfChain(chain) : undefined
      if (slot !== undefined && (within === undefined || isWithin(slot, within)))
        yield lineOf({ source, row, slot, isErased: chain?.[6] !== null })
    }
    from = end
    await nextTurn()
  }
}

type ChainRows = {
  next(): void
  peek(): Promise<VersionRow | undefined>
  isErased(): boolean
}

/** The versions of a chain in order, read in small groups. */
function rowsOfChain(rows: RecordRows, slot: ChainSlot): ChainRows {
  let read: readonly VersionRow[] | undefined
  let at = 0
  let last = 0
  let isErased = false
  const readOn = async (): Promise<readonly VersionRow[]> => {
    const named = await rows.found(slot)
    if (named === undefined) return []
    isErased = isErasedChain(named.chain)
    const range = { after: last, upTo: Number.MAX_SAFE_INTEGER, limit: CHAIN_VERSIONS_PER_READ }
    return rows.versions({ audience: slot.audience, chain: named.chain[0], ...range })
  }
  return {
    isErased: () => isErased,
    peek: async () => {
      if (read === undefined || at >= read.length) {
        read = await readOn()
        at = 0
      }
      return read[at]
    },
    next: () => {
      last = read?.[at]?.[2] ?? last
      at += 1
    },
  }
}

async function* chainLines(
  source: VerifySource,
  { slot, rows, to }: { readonly slot: ChainSlot; readonly rows: ChainRows; readonly to: number },
): AsyncGenerator<ExportLine> {
  for (let row = await rows.peek(); row !== undefined && row[0] < to; row = await rows.peek()) {
    rows.next()
    yield lineOf({ source, row, slot, isErased: rows.isErased() })
  }
}

function lineOf(options: {
  readonly source: VerifySource
  readonly row: VersionRow
  readonly slot: ChainSlot
  readonly isErased: boolean
}): ExportLine {
  const { source, row, slot, isErased } = options
  const [leafIndex, , version] = row
  const place = { uri: versionUri(slot, version), journal: slot.audience, leafIndex, version }
  if (isErased) return { kind: 'erased', ...place }
  const opened = openVersion(row, { slot, seal: source.seal })
  if (opened.kind === 'broken') return { kind: 'broken', ...place, fault: opened.fault }
  const { record, entry } = opened
  const { versionHash } = record
  return { kind: 'version', ...place, versionHash, preimage: versionPreimage(record), entry }
}
