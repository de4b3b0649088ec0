// What an auditor gets: a journal's leaf hashes and entries up to one moment, and the checkpoint of that moment.

import { versionPreimage } from '@tallystick/hashchain'
import type { RecordStore } from '../domain/record-store.ts'
import { type ChainSlot, chainUri, versionUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { EXPORT_FORMAT, type ExportLine } from '../wire/verify.ts'
import { openVersion, slotOfChain } from './sqlite-reads.ts'
import type { VersionRow } from './sqlite-statements.ts'
import { nextTurn, sliceEnd, type VerifySource } from './sqlite-verify.ts'

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

/** The exporting half of the store: NDJSON lines. */
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
  const { slot } = query
  // An export of one chain holds that chain's journal alone.
  const audiences = [...new Set(query.audiences)].filter(
    (audience) => slot === undefined || slot.audience === audience,
  )
  const uri = slot === undefined ? undefined : chainUri(slot)
  yield { kind: 'export', format: EXPORT_FORMAT, audiences, uri }
  for (const journal of audiences) {
    // Size and note are of one moment; what is appended later is behind it.
    const size = source.journalSize(journal)
    const note = source.checkpoint(journal)
    const chainRows = slot === undefined ? undefined : rowsOfChain(source, slot)
    for (let from = 0; from < size; from += LEAVES_PER_LINE) {
      const to = Math.min(from + LEAVES_PER_LINE, size)
      const rows = source.statements.versions[journal].leafHashes.all(from, to)
      yield { kind: 'leaves', journal, from, hashes: rows.map(([leafHash]) => leafHash) }
      if (slot === undefined) yield* journalLines(source, { audience: journal, from, to })
      else if (chainRows !== undefined) yield* chainLines(source, { slot, rows: chainRows, to })
      await nextTurn()
    }
    yield { kind: 'checkpoint', journal, note, verifierKey: source.verifierKey(journal) }
  }
}

async function* journalLines(
  source: VerifySource,
  range: { readonly audience: Audience; readonly from: number; readonly to: number },
): AsyncGenerator<ExportLine> {
  const { audience, to } = range
  for (let { from } = range; from < to; ) {
    const end = sliceEnd(source, { audience, from, to })
    for (const row of source.statements.versions[audience].leafRange.all(from, end)) {
      const chain = source.statements.chainById.get(row[1])
      if (chain?.[3] === audience) yield lineOf({ source, row, slot: slotOfChain(chain) })
    }
    from = end
    await nextTurn()
  }
}

type ChainRows = { next(): VersionRow | undefined; peek(): VersionRow | undefined }

/** The versions of a chain in order, read in small groups. */
function rowsOfChain(source: VerifySource, slot: ChainSlot): ChainRows | undefined {
  const named = source.statements.chainByName.get(slot.patient, slot.domain)
  if (named?.[1] !== slot.audience) return undefined
  const { chainAfter } = source.statements.versions[slot.audience]
  let read: readonly VersionRow[] = []
  let at = 0
  let last = 0
  const peek = (): VersionRow | undefined => {
    if (at >= read.length) {
      read = chainAfter.all(named[0], last, CHAIN_VERSIONS_PER_READ)
      at = 0
    }
    return read[at]
  }
  return {
    peek,
    next: () => {
      const row = peek()
      at += 1
      last = row?.[2] ?? last
      return row
    },
  }
}

function* chainLines(
  source: VerifySource,
  { slot, rows, to }: { readonly slot: ChainSlot; readonly rows: ChainRows; readonly to: number },
): Generator<ExportLine> {
  for (let row = rows.peek(); row !== undefined && row[0] < to; row = rows.peek()) {
    rows.next()
    yield lineOf({ source, row, slot })
  }
}

function lineOf(options: {
  readonly source: VerifySource
  readonly row: VersionRow
  readonly slot: ChainSlot
}): ExportLine {
  const { source, row, slot } = options
  const [leafIndex, , version] = row
  const place = { uri: versionUri(slot, version), journal: slot.audience, leafIndex, version }
  const opened = openVersion({ row, slot, seal: source.seal })
  if (opened.kind === 'broken') return { kind: 'broken', ...place, fault: opened.fault }
  const { record, entry } = opened
  const { versionHash } = record
  return { kind: 'version', ...place, versionHash, preimage: versionPreimage(record), entry }
}
