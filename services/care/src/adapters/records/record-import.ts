// Takes an export of a whole store up into an empty one: the same entries at the same leaves, so the same hashes and roots, under
// this store's own keys, or in the clear without any. One that was killed goes on where it stopped. Three things stay behind, since no export holds them: requests that may
// be sent again, and who erased or freed a chain and why.
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import { UNFINISHED_IMPORTS } from '@tallystick/journal-store'
import { readJournalEntry } from '../../domain/journal-entry.ts'
import { type RecordJournal, RecordStoreUnavailable } from '../../domain/record-store.ts'
import { type ExportReport, readExportLine, verifyExport } from '../../domain/verify-export.ts'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import { chainUri, parseChainUri } from '../../wire/record-uri.ts'
import type { ExportLine } from '../../wire/verify.ts'
import { type ChainSeals, chainName } from '../keys/chain-keys.ts'
import { ERASED_HEAD } from './chain-erasure.ts'
import type { RecordSource } from './record-sql.ts'
import type { WrittenStore } from './record-writer.ts'
import { formatSlot, type StoredSlot } from './stored-record.ts'

/** Versions in one commit: a few milliseconds of work. */
const VERSIONS_PER_COMMIT = 256

/** Where an export goes. */
type ImportTarget = WrittenStore & {
  readonly seals: ChainSeals
  readonly journals: Readonly<Record<Audience, Pick<RecordJournal, 'size' | 'rootAt'>>>
}

type RunStatement = (text: string, values: readonly unknown[]) => unknown

type VersionLine = Extract<ExportLine, { kind: 'version' | 'erased' }>

type ImportedChain = StoredSlot & {
  readonly id: number
  readonly freed: number
  readonly isErased: boolean
  version: number
  headHash: string
  isWithdrawn: boolean
  /** Of an erased chain. */
  readonly leaves: CompactRange
}

/** A version with its chain and its leaf. */
type ImportedVersion = {
  readonly chain: ImportedChain
  readonly leaf: Uint8Array
  readonly line: VersionLine
}

/** How many entries each journal has taken up. */
type ImportedSizes = Readonly<Record<Audience, number>>

const BEGIN = `INSERT INTO chains (id, patient, domain, audience, turn, freed, latest_version, head_hash, withdrawn)
  VALUES ($1, $2, $3, $4, $5, $6, 1, $7, 0)`
const ERASE = 'UPDATE chains SET erased_leaves = $1, head_hash = $2 WHERE id = $3'
const NOTE_ERASURE = 'INSERT INTO erasures (chain, at, actor, reason) VALUES ($1, $2, $3, $4)'

/** There is one at a time. */
const NAME = 'records'

/** Whether an import was cut off and has taken up a first part of the records. */
export const isHalfImported = async ({ ask }: Pick<RecordSource, 'ask'>): Promise<boolean> =>
  (await ask(UNFINISHED_IMPORTS)).length > 0

/** Said of an erasure or a free that the export does not explain. */
const BY = { actor: 'care import', reason: 'as the export says' }

/** What an export of a whole store holds. Rejects with RecordStoreUnavailable for any other, with NotAnExport for no export. */
export async function readWholeExport(lines: AsyncIterable<string>): Promise<ExportReport> {
  const report = await verifyExport(lines)
  if (!report.isIntact || report.journals.length < AUDIENCES.length)
    throw new RecordStoreUnavailable(
      'the export does not hold, or is not of a whole store (care verify); nothing was written',
    )
  return report
}

/**
 * Reads the lines twice: they must hold, before any of them is written. Rejects with RecordStoreUnavailable for a part of a
 * store, for one that does not hold, and for a target that is not empty, unless it holds a first part of these very lines.
 */
export async function importRecordLines(
  target: ImportTarget,
  { at, lines }: { readonly at: string; readonly lines: () => AsyncIterable<string> },
): Promise<ImportedSizes> {
  const taken = createTakenPart(target.journals)
  const report = await readWholeExport(lines())
  const chains = chainsOfReport(report)
  let last: readonly ImportedVersion[] = []
  for await (const versions of batches(lines(), { chains, taken })) {
    await taken.requireSame()
    if (last.length > 0) await writeVersions(target, last)
    last = versions
  }
  if (last.length === 0) await taken.requireSame('nothing')
  // In one commit: whoever finds all versions finds the marks too.
  await writeVersions(target, last, { chains: [...chains.values()], at })
  return { user: target.journals.user.size, assistant: target.journals.assistant.size }
}

/** What an import that was killed has taken up already: the first versions of each journal. */
function createTakenPart(journals: ImportTarget['journals']) {
  const parts = AUDIENCES.map((audience) => {
    const { size } = journals[audience]
    return { audience, size, leaves: createCompactRange() }
  })
  let isKnown = false
  return {
    /** Whether a leaf is among them, which it then counts. */
    has(audience: Audience, leafIndex: number, leaf: Uint8Array): boolean {
      const part = parts.find((each) => each.audience === audience)
      if (part === undefined || leafIndex >= part.size) return false
      part.leaves.append(leaf)
      return true
    },
    /** Rejects unless the target holds exactly these leaves. */
    async requireSame(or?: 'nothing'): Promise<void> {
      if (isKnown) return
      for (const { audience, leaves, size } of parts) {
        const isSame =
          leaves.size === size &&
          Buffer.compare(await journals[audience].rootAt(size), leaves.rootHash()) === 0
        if (!isSame || (or === 'nothing' && size > 0))
          throw new RecordStoreUnavailable('the store is not empty; an import overwrites nothing')
      }
      isKnown = true
    },
  }
}

/** Chains by their names, with the turns that those of one topic had: freed ones first. */
function chainsOfReport({ chains }: ExportReport): ReadonlyMap<string, ImportedChain> {
  const named = chains.flatMap(({ erased, uri }) => {
    const slot = parseChainUri(uri)?.slot
    return slot === undefined
      ? []
      : [{ ...slot, freed: slot.freed ?? 0, isErased: erased !== undefined }]
  })
  const turns = new Map<string, number>()
  const turnIn = (topic: string): number => {
    const turn = turns.get(topic) ?? 0
    turns.set(topic, turn + 1)
    return turn
  }
  const found = new Map<string, ImportedChain>()
  for (const slot of named.toSorted(
    (left, right) => Number(left.freed === 0) - Number(right.freed === 0),
  )) {
    const made = { ...slot, turn: turnIn(`${slot.patient}|${slot.domain}`), id: found.size + 1 }
    const { freed, ...own } = slot
    const uri = chainUri(freed > 0 ? slot : own)
    const leaves = createCompactRange()
    found.set(uri, { ...made, version: 0, headHash: '', isWithdrawn: false, leaves })
  }
  return found
}

/** The versions in the order of their leaves, some at a time. */
async function* batches(
  lines: AsyncIterable<string>,
  {
    chains,
    taken,
  }: {
    readonly chains: ReadonlyMap<string, ImportedChain>
    readonly taken: ReturnType<typeof createTakenPart>
  },
): AsyncGenerator<readonly ImportedVersion[]> {
  let leaves: Extract<ExportLine, { kind: 'leaves' }> | undefined
  let batch: ImportedVersion[] = []
  let number = 0
  for await (const text of lines) {
    number += 1
    if (text.trim() === '') continue
    const line = readExportLine(text, number)
    if (line.kind === 'leaves') leaves = line
    if (line.kind !== 'version' && line.kind !== 'erased') continue
    const slot = parseChainUri(line.uri)?.slot
    const chain = slot && chains.get(chainUri(slot))
    const hash = leaves?.hashes[line.leafIndex - leaves.from]
    if (chain === undefined || hash === undefined)
      throw new RecordStoreUnavailable('the export changed while it was read')
    const version = { chain, line, leaf: Buffer.from(hash, 'hex') }
    if (taken.has(chain.audience, line.leafIndex, version.leaf)) {
      advance(version)
      continue
    }
    batch.push(version)
    if (batch.length < VERSIONS_PER_COMMIT) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

async function writeVersions(
  target: ImportTarget,
  versions: readonly ImportedVersion[],
  marks?: Marks,
): Promise<void> {
  const sealed = new Set(
    versions.flatMap(({ chain }) => (chain.isErased ? [] : [chainName(chain)])),
  )
  const { seals, source } = target
  const seal = await seals.sealToWrite([...sealed], async () => [])
  const begun: (readonly unknown[])[] = []
  const rows = versions.map((imported) => {
    const { chain, leaf, line } = imported
    const { audience, domain, freed, id, patient, turn } = chain
    if (chain.version === 0) begun.push([id, patient, domain, audience, turn, freed, ERASED_HEAD])
    const wasWithdrawn = line.version === 1 || chain.isWithdrawn
    const writtenAt = advance(imported)
    const body =
      line.kind === 'erased'
        ? new Uint8Array()
        : seal.close(line.entry, formatSlot(chain)(line.version))
    const changesList = Number(wasWithdrawn !== chain.isWithdrawn)
    return { audience, leaf, cells: [id, line.version, writtenAt, body], changesList }
  })
  const changed = [...new Set(versions.map(({ chain }) => chain))].map(
    ({ audience, domain, headHash, id, isWithdrawn, patient, turn, version }) => [
      id,
      patient,
      domain,
      audience,
      turn,
      version,
      headHash,
      Number(isWithdrawn),
    ],
  )
  await target.write(({ append, run, size }) => {
    for (const values of begun) run(BEGIN, values)
    for (const { audience, changesList, leaf, cells: stored } of rows)
      append(audience, leaf, [...stored, size('user') + size('assistant'), changesList])
    run(source.sql.keepChains, source.sql.list(changed))
    if (marks === undefined) run(source.sql.imports.begin, [NAME, NAME])
    else run(source.sql.imports.end, [NAME])
    if (marks !== undefined) writeMarks({ run, sql: source.sql }, marks)
  })
}

/** Moves a chain on by a version, and says when that was written; of an erased one nothing is left but its leaf. */
function advance({ chain, leaf, line }: ImportedVersion): string {
  chain.version = line.version
  if (line.kind === 'erased') {
    chain.leaves.append(leaf)
    return ''
  }
  chain.headHash = line.versionHash
  const { status, writtenAt = '' } = readJournalEntry(line.entry) ?? {}
  chain.isWithdrawn = status !== undefined
  return writtenAt
}

type Marks = { readonly chains: readonly ImportedChain[]; readonly at: string }

/** Which chains were freed or erased. Opening the store the next time notes the erasures beside the keys, too. */
function writeMarks(
  { run, sql }: { readonly run: RunStatement; readonly sql: ImportTarget['source']['sql'] },
  { at, chains }: Marks,
): void {
  for (const chain of chains) {
    if (chain.freed > 0) run(sql.noteFree, [chain.id, at, BY.actor, BY.reason])
    if (!chain.isErased) continue
    const root = Buffer.from(chain.leaves.rootHash()).toString('hex')
    run(ERASE, [root, ERASED_HEAD, chain.id])
    run(NOTE_ERASURE, [chainName(chain), at, BY.actor, BY.reason])
  }
}
