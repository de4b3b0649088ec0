// How an export looks: NDJSON, one object a line, told apart by `kind`. Leaf hashes come in chunks, each before the versions
// that it covers, so that a reader needs memory for one chunk only. verify-export.ts reads it back.
import { versionPreimage } from '@tallystick/hashchain'
import type { Audience, ChainSlot } from './care-record.ts'
import { type JournalEntry, readJournalEntry } from './journal-entry.ts'
import { chainUri, versionUri } from './record-uri.ts'
import type { VersionFault } from './verify-chain.ts'

export const EXPORT_FORMAT = 'tallystick-care-export/1'

/** Leaf hashes on one line: about 70 KB of text, and the memory that a reader needs. */
export const EXPORT_LEAVES_PER_LINE = 1_024

export type ExportLine =
  | {
      readonly kind: 'export'
      readonly format: typeof EXPORT_FORMAT
      readonly audiences: readonly Audience[]
      /** The one chain that the versions are of; absent where all are there. */
      readonly uri?: string
    }
  /** Leaf hashes of a journal, lower-case hex, from index `from`. */
  | {
      readonly kind: 'leaves'
      readonly journal: Audience
      readonly from: number
      readonly hashes: readonly string[]
    }
  /** `preimage` hashes to `versionHash` (C8); a zero byte and `entry` to the leaf at `leafIndex` (C9). */
  | {
      readonly kind: 'version'
      readonly uri: string
      readonly journal: Audience
      readonly leafIndex: number
      readonly version: number
      readonly versionHash: string
      readonly preimage: string
      readonly entry: string
    }
  /** A version that does not hold; its text is never given out. */
  | {
      readonly kind: 'broken'
      readonly uri: string
      readonly journal: Audience
      readonly leafIndex: number
      readonly version: number
      readonly fault: VersionFault
    }
  | {
      readonly kind: 'checkpoint'
      readonly journal: Audience
      readonly note: string
      readonly verifierKey: string
    }

/** The journals that an export holds: those of the audiences asked for, of one chain only its own. */
export function exportedJournals(query: {
  readonly audiences: readonly Audience[]
  readonly slot?: ChainSlot
}): readonly Audience[] {
  const { slot } = query
  return [...new Set(query.audiences)].filter(
    (audience) => slot === undefined || slot.audience === audience,
  )
}

/** The first line of an export. */
export function exportHeader(query: {
  readonly audiences: readonly Audience[]
  readonly slot?: ChainSlot
}): string {
  const line: ExportLine = {
    kind: 'export',
    format: EXPORT_FORMAT,
    audiences: exportedJournals(query),
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
  readonly hashes: readonly string[]
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
