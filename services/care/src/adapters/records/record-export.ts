// An auditor's export: a journal's leaf hashes and entries up to one moment, and the checkpoint of that moment.

import { versionPreimage } from '@tallystick/hashchain'
import type { RecordJournal, RecordStore } from '../../domain/record-store.ts'
import { isWithin, type Reach } from '../../domain/scopes.ts'
import type { Audience } from '../../wire/audience.ts'
import { chainUri, versionUri } from '../../wire/record-uri.ts'
import { EXPORT_FORMAT, type ExportLine } from '../../wire/verify.ts'
import { type BodySeal, chainName } from '../keys/chain-keys.ts'
import { chainsById, readSlices } from './journal-slices.ts'
import { findChain } from './record-reads.ts'
import type { VerifySource } from './record-verify.ts'
import {
  type ChainRow,
  isErased,
  namedChain,
  openVersion,
  slotOfChain,
  type VersionRow,
} from './stored-record.ts'

/** Leaf hashes on one line: about 70 KB of text, and the memory that a reader needs. */
const LEAVES_PER_LINE = 1_024

/** Where an export reads. */
type ExportSource = VerifySource & {
  readonly journals: Readonly<Record<Audience, RecordJournal>>
}

/** The exporting half of a store: NDJSON lines. */
export async function* exportRecordLines(
  store: ExportSource,
  query: Parameters<RecordStore['exportLines']>[0],
): AsyncGenerator<string> {
  const { slot, within } = query
  const { source } = store
  // An export of one chain holds that chain's journal alone.
  const audiences = [...new Set(query.audiences)].filter(
    (audience) => slot === undefined || slot.audience === audience,
  )
  const found = slot && (await findChain(source, slot))?.chain
  const uri =
    slot === undefined ? undefined : chainUri(found === undefined ? slot : namedChain(found))
  const isOfPatients = within?.some(({ patient }) => patient !== undefined) === true
  const part = isOfPatients ? [...within] : undefined
  yield formatLine({ kind: 'export', format: EXPORT_FORMAT, audiences, uri, within: part })
  for (const journal of audiences) {
    // Size and note belong to one moment; later appends come after it.
    const size = store.journals[journal].size
    const note = store.journals[journal].checkpoint()
    const { leafHashes } = source.sql.of[journal]
    const chain = slot && (found?.[0] ?? NO_CHAIN)
    for (let from = 0; from < size; from += LEAVES_PER_LINE) {
      const to = Math.min(from + LEAVES_PER_LINE, size)
      const hashes = await source.ask<readonly [string]>(leafHashes, [from, to])
      yield formatLine({ kind: 'leaves', journal, from, hashes: hashes.flat() })
      for await (const slice of readSlices(source, { audience: journal, chain, from, to }))
        yield* versionLines(store, slice, { audience: journal, within })
    }
    yield formatLine({
      kind: 'checkpoint',
      journal,
      note,
      verifierKey: store.journals[journal].verifierKey,
    })
  }
}

const formatLine = (line: ExportLine): string => JSON.stringify(line)

/** No chain has it. */
const NO_CHAIN = 0

/** The lines of a slice's versions, of chains that may be shown. */
async function* versionLines(
  { seals, source }: VerifySource,
  slice: readonly VersionRow[],
  {
    audience,
    within,
  }: { readonly audience: Audience; readonly within?: readonly Reach[] | undefined },
): AsyncGenerator<string> {
  const chains = await chainsById(source, new Set(slice.map(([, chain]) => chain)))
  const names = [...chains.values()].map((chain) => chainName(slotOfChain(chain)))
  const seal = await seals.sealOnce(names)
  for (const row of slice) {
    const chain = chains.get(row[1])
    if (chain?.[3] !== audience) continue
    if (within === undefined || isWithin(slotOfChain(chain), within))
      yield formatLine(exported(row, chain, seal))
  }
}

function exported(row: VersionRow, chain: ChainRow, seal: BodySeal): ExportLine {
  const [leafIndex, , version] = row
  const slot = slotOfChain(chain)
  const uri = versionUri(namedChain(chain), version)
  const place = { uri, journal: slot.audience, leafIndex, version }
  if (isErased(chain)) return { kind: 'erased', ...place }
  const opened = openVersion(row, { slot, seal })
  if (opened.kind === 'broken') return { kind: 'broken', ...place, fault: opened.fault }
  const { record, entry } = opened
  const { versionHash } = record
  return { kind: 'version', ...place, versionHash, preimage: versionPreimage(record), entry }
}
