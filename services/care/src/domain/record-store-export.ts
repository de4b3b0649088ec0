// How an export looks: NDJSON, one object a line, told apart by `kind`. Leaf hashes come in chunks, each before the versions
// that it covers, so that a reader needs memory for one chunk only. verify-export.ts reads it back.
import { versionPreimage } from '@tallystick/hashchain'
import { type ChainSlot, chainUri, versionUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { EXPORT_FORMAT, type ExportLine, type VersionFault } from '../wire/verify.ts'
import { type JournalEntry, readJournalEntry } from './journal-entry.ts'

/** Leaf hashes on one line: about 70 KB of text, and the memory that a reader needs. */
export const EXPORT_LEAVES_PER_LINE = 1_024

/** The journals that an export holds: those of the audiences asked for, of one chain only its own. */
export function exportedJournals(query: {
  readonly audiences: readonly Audience[]
  readonly slot?: ChainSlot | undefined
}): readonly Audience[] {
  const { slot } = query
  return [...new Set(query.audiences)].filter(
    (audience) => slot === undefined || slot.audience === audience,
  )
}

/** The first line of an export. */
export function exportHeader(query: {
  readonly audiences: readonly Audience[]
  readonly slot?: ChainSlot | undefined
}): string {
  const line: ExportLine = {
    kind: 'export',
    format: EXPORT_FORMAT,
    audiences: [...exportedJournals(query)],
    ...(query.slot === undefined ? {} : { uri: chainUri(query.slot) }),
  }
  return JSON.stringify(line)
}

/** One stored version on its way into an export. */
export type ExportedVersion = {
  readonly slot: ChainSlot
  readonly version: number
  readonly leafIndex: number
  /** The entry's text, or why the version does not hold. */
  readonly found:
    | { readonly kind: 'entry'; readonly text: string }
    | { readonly kind: 'broken'; readonly fault: VersionFault }
}

/** The line of a version. */
export function exportVersion({ slot, version, leafIndex, found }: ExportedVersion): string {
  const place = { uri: versionUri(slot, version), journal: slot.audience, leafIndex, version }
  const entry: JournalEntry | undefined =
    found.kind === 'entry' ? readJournalEntry(found.text) : undefined
  const line: ExportLine =
    found.kind === 'entry' && entry !== undefined
      ? {
          kind: 'version',
          ...place,
          versionHash: entry.versionHash,
          preimage: versionPreimage(entry),
          entry: found.text,
        }
      : { kind: 'broken', ...place, fault: found.kind === 'broken' ? found.fault : 'slot' }
  return JSON.stringify(line)
}

/** The line of a chunk of leaf hashes. */
export function exportLeaves(chunk: {
  readonly journal: Audience
  readonly from: number
  readonly hashes: string[]
}): string {
  const line: ExportLine = { kind: 'leaves', ...chunk }
  return JSON.stringify(line)
}

/** The line that ends a journal. */
export function exportCheckpoint(checkpoint: {
  readonly journal: Audience
  readonly note: string
  readonly verifierKey: string
}): string {
  const line: ExportLine = { kind: 'checkpoint', ...checkpoint }
  return JSON.stringify(line)
}
