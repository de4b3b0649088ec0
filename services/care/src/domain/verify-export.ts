// The offline check of an export: replays every chain, hashes every entry to its leaf, and all leaves to the root that
// the checkpoint signs. It needs no service and no secret key; wire/verify.ts has the format.
import {
  type CompactRange,
  createCompactRange,
  openCheckpoint,
  versionPreimage,
} from '@tallystick/hashchain'
import type { Audience } from '../wire/audience.ts'
import { chainUri, parseChainUri } from '../wire/record-uri.ts'
import { EXPORT_FORMAT, type ExportLine, exportLine, type VersionFault } from '../wire/verify.ts'
import { readJournalEntry } from './journal-entry.ts'
import { isNamedAsToday } from './known-names.ts'
import { createStoredChainReplay, type StoredChainReplay } from './verify-chain.ts'

type Line<Kind extends ExportLine['kind']> = Extract<ExportLine, { kind: Kind }>

export type ExportedChain = {
  readonly uri: string
  readonly versions: number
  /** All of them, if the chain was erased: their leaves remain, their values do not. */
  readonly erased?: number
  /** Set for a name that no write may have today (C38). */
  readonly oldName?: true
} & Partial<Break>

type Break = { readonly brokenAt: number; readonly fault: VersionFault }

type ExportedJournal = {
  readonly journal: Audience
  /** Leaves in the export. */
  readonly size: number
  /** Name in the checkpoint's first line. */
  readonly origin: string
  /** The key that verified the checkpoint: the pinned one, or the export's own. */
  readonly verifierKey: string
}

export type ExportReport = {
  readonly chains: readonly ExportedChain[]
  readonly journals: readonly ExportedJournal[]
  /** Versions replayed. */
  readonly versions: number
  /** All other faults, in sentences. */
  readonly problems: readonly string[]
  readonly isIntact: boolean
}

type JournalState = {
  readonly tree: CompactRange
  chunk: readonly string[]
  chunkFrom: number
  /** The next leaf that must have an entry, in an export of everything. */
  nextEntry: number
  found?: ExportedJournal
}

/** The text is not an export: not JSON lines, or in another format. */
export class NotAnExport extends Error {
  override readonly name = 'NotAnExport'
}

/** Checks the lines of an export, first to last. `verifierKeys` pins the keys that must have signed the checkpoints. */
export async function verifyExport(
  lines: AsyncIterable<string> | Iterable<string>,
  verifierKeys: readonly string[] = [],
): Promise<ExportReport> {
  const check = new ExportCheck(verifierKeys)
  let number = 0
  for await (const line of lines) {
    number += 1
    if (line.trim() !== '') check.take(readExportLine(line, number), number)
  }
  return check.report()
}

/** A line of an export. Throws NotAnExport. */
export function readExportLine(text: string, number: number): ExportLine {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new NotAnExport(`line ${number} is not JSON`, { cause: error })
  }
  const line = exportLine.safeParse(parsed)
  if (line.success) return line.data
  throw new NotAnExport(`line ${number} is not a line of a ${EXPORT_FORMAT} export`, {
    cause: line.error,
  })
}

function hasOldName(uri: string): boolean {
  const slot = parseChainUri(uri)?.slot
  return slot !== undefined && !isNamedAsToday(slot)
}

class ExportCheck {
  readonly #verifierKeys: readonly string[]
  readonly #replays = new Map<string, StoredChainReplay>()
  readonly #heads = new Map<string, { version: number; versionHash: string }>()
  readonly #faults = new Map<string, Break>()
  readonly #journals = new Map<Audience, JournalState>()
  readonly #problems: string[] = []
  readonly #erased = new Map<string, number>()
  #versions = 0
  #header: Line<'export'> | undefined

  constructor(verifierKeys: readonly string[]) {
    this.#verifierKeys = verifierKeys
  }

  take(line: ExportLine, number: number): void {
    if (this.#header === undefined && line.kind !== 'export')
      throw new NotAnExport('the first line is not the header of an export')
    switch (line.kind) {
      case 'export':
        if (this.#header !== undefined) throw new NotAnExport(`line ${number} is a second header`)
        this.#header = line
        return
      case 'leaves':
        return this.#takeLeaves(line)
      case 'version':
      case 'broken':
        return this.#takeVersion(line)
      case 'erased':
        return this.#takeErased(line)
      case 'checkpoint':
        return this.#takeCheckpoint(line)
      default:
        return line satisfies never
    }
  }

  report(): ExportReport {
    const header = this.#header
    if (header === undefined) throw new NotAnExport('the export is empty')
    for (const journal of header.audiences)
      if (this.#journal(journal).found === undefined)
        this.#problems.push(`the ${journal} journal has no checkpoint that holds`)
    const chains: readonly ExportedChain[] = [
      ...[...this.#replays].map(([uri, replay]) => this.#chainReport(uri, replay)),
      ...[...this.#erased].map(([uri, erased]) => ({ uri, versions: erased, erased })),
    ].map((chain) => ({ ...chain, ...(hasOldName(chain.uri) && { oldName: true as const }) }))
    const journals = [...this.#journals.values()].flatMap(({ found }) => found ?? [])
    const isIntact =
      this.#problems.length === 0 && chains.every(({ brokenAt }) => brokenAt === undefined)
    return { chains, journals, versions: this.#versions, problems: this.#problems, isIntact }
  }

  #chainReport(uri: string, replay: StoredChainReplay): ExportedChain {
    const versions = replay.count()
    const { broken } = replay.end(this.#heads.get(uri) ?? { version: versions, versionHash: '' })
    const stated = this.#faults.get(uri)
    if (stated !== undefined && stated.brokenAt <= (broken?.version ?? stated.brokenAt))
      return { uri, versions, ...stated }
    return { uri, versions, ...(broken && { brokenAt: broken.version, fault: broken.fault }) }
  }

  #journal(journal: Audience): JournalState {
    const known = this.#journals.get(journal)
    if (known !== undefined) return known
    const fresh = { tree: createCompactRange(), chunk: [], chunkFrom: 0, nextEntry: 0 }
    this.#journals.set(journal, fresh)
    return fresh
  }

  #takeLeaves({ journal, from, hashes }: Line<'leaves'>): void {
    const state = this.#journal(journal)
    if (from !== state.tree.size)
      this.#problems.push(`leaves of the ${journal} journal are not in order at ${from}`)
    this.#requireEntries(journal, state.tree.size)
    for (const leaf of hashes) state.tree.append(Buffer.from(leaf, 'hex'))
    state.chunk = hashes
    state.chunkFrom = from
  }

  /** In an export of everything, each leaf has its entry, in order. */
  #requireEntries(journal: Audience, upTo: number): void {
    const state = this.#journal(journal)
    const { uri, within } = this.#header ?? {}
    const isPart = within?.some((part) => part.audience === journal && part.patient !== undefined)
    if (uri === undefined && isPart !== true && state.nextEntry < upTo)
      this.#problems.push(`the ${journal} journal lacks the entry of leaf ${state.nextEntry}`)
    state.nextEntry = Math.max(state.nextEntry, upTo)
  }

  /** The slot of a version's line, its chain, and its leaf; undefined where it names another place. */
  #place(line: Line<'version' | 'broken' | 'erased'>) {
    const named = parseChainUri(line.uri)
    if (named?.version !== line.version || named.slot.audience !== line.journal) {
      this.#problems.push(`the line of ${line.uri} names another version or journal`)
      return undefined
    }
    const uri = chainUri(named.slot)
    if (this.#header?.uri !== undefined && this.#header.uri !== uri)
      this.#problems.push(`a version of ${uri} is in the export of ${this.#header.uri}`)
    const state = this.#journal(line.journal)
    this.#requireEntries(line.journal, line.leafIndex)
    state.nextEntry = Math.max(state.nextEntry, line.leafIndex + 1)
    // A missing leaf equals no hash, so the version does not hold.
    return { slot: named.slot, uri, leafHash: state.chunk[line.leafIndex - state.chunkFrom] ?? '' }
  }

  /** Its value is gone; only its leaf's place can still be checked. */
  #takeErased(line: Line<'erased'>): void {
    const found = this.#place(line)
    if (found === undefined) return
    const { leafHash, uri } = found
    const before = this.#erased.get(uri) ?? 0
    if (leafHash === '' || line.version !== before + 1 || this.#replays.has(uri))
      this.#problems.push(`${line.uri} is said to be erased, and does not fit its chain or leaf`)
    this.#erased.set(uri, before + 1)
  }

  #takeVersion(line: Line<'version' | 'broken'>): void {
    const found = this.#place(line)
    if (found === undefined) return
    const { leafHash, slot, uri } = found
    if (this.#erased.has(uri))
      this.#problems.push(`${line.uri} is there, and versions before it are said to be erased`)
    this.#versions += 1
    const replay = this.#replays.get(uri) ?? createStoredChainReplay(slot)
    this.#replays.set(uri, replay)
    const version = line.version
    replay.add({ version, leafHash, entry: line.kind === 'version' ? line.entry : undefined })
    if (line.kind === 'broken') this.#state(uri, version, line.fault)
    else {
      this.#heads.set(uri, { version, versionHash: line.versionHash })
      this.#compareEntry(line, uri)
    }
  }

  /** What the line says beside the entry must match the entry. */
  #compareEntry(line: Line<'version'>, uri: string): void {
    const entry = readJournalEntry(line.entry)
    const isSame =
      entry !== undefined &&
      versionPreimage(entry) === line.preimage &&
      entry.versionHash === line.versionHash
    if (!isSame) this.#state(uri, line.version, 'slot')
  }

  #state(uri: string, brokenAt: number, fault: VersionFault): void {
    if (!this.#faults.has(uri)) this.#faults.set(uri, { brokenAt, fault })
  }

  #takeCheckpoint(line: Line<'checkpoint'>): void {
    const { journal, note } = line
    const state = this.#journal(journal)
    this.#requireEntries(journal, state.tree.size)
    const keys = this.#verifierKeys.length === 0 ? [line.verifierKey] : this.#verifierKeys
    for (const verifierKey of keys) {
      const opened = openCheckpoint({ note, verifierKey })
      if (opened.kind !== 'checkpoint') continue
      const { size, rootHash, origin } = opened.checkpoint
      if (size !== state.tree.size)
        this.#problems.push(
          `the ${journal} journal has ${state.tree.size} leaves, its checkpoint says ${size}`,
        )
      else if (Buffer.compare(rootHash, state.tree.rootHash()) !== 0)
        this.#problems.push(`the ${journal} journal does not hash to its checkpoint`)
      state.found = { journal, size: state.tree.size, origin, verifierKey }
      return
    }
    this.#problems.push(`the checkpoint of the ${journal} journal is not signed by a known key`)
  }
}
