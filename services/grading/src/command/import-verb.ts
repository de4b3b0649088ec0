/** The verbs that fill the ledger. */
import { readFileSync, statSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { readLimited } from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  type ExitCode,
} from '@tallystick/service-kit/command'
import { type GradingStore, GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import type { Normalised, Refusal } from '../domain/closes/observation.ts'
import { ingestPayload, type PayloadAccount, readPayload } from '../ingest/ingest-payload.ts'
import { seedLedger } from '../seed/synthetic-fixtures.ts'
import { isLedgerThere, openStore, withStore } from './command-store.ts'

/**
 * A file is read whole, because its hash is needed before its first row. Twelve seasons of 38 leagues are 29 MB; anything
 * larger, unzipped, is not a table of odds.
 */
const FILE_BYTES_MAX = 268_435_456
/** Shortest pause between two progress lines, ms. */
const PROGRESS_MS = 250
/** Refusals printed one by one. */
const REFUSALS_SHOWN_MAX = 10

const GZIP_MAGIC = [0x1f, 0x8b]

/** A file's bytes, unzipped; `-` is standard input. Throws BadUsage. */
export async function readInput(call: CommandCall, file: string): Promise<Uint8Array> {
  try {
    if (file !== '-' && statSync(file).size > FILE_BYTES_MAX)
      throw new BadUsage(`${file} is larger than 256 MiB.`)
    const bytes =
      file === '-' ? await readLimited(call.terminal.stdin, FILE_BYTES_MAX) : readFileSync(file)
    if (bytes === 'too_large') throw new BadUsage('Standard input is larger than 256 MiB.')
    const isGzip = GZIP_MAGIC.every((byte, index) => bytes[index] === byte)
    return isGzip ? gunzipSync(bytes, { maxOutputLength: FILE_BYTES_MAX }) : bytes
  } catch (error) {
    if (error instanceof BadUsage) throw error
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new BadUsage(`${file} unpacks to more than 256 MiB.`)
    throw new BadUsage(`${file} cannot be read.`, { cause: error })
  }
}

const count = (value: number): string => value.toLocaleString('en')

function summary(file: string, account: PayloadAccount, seconds: number): readonly string[] {
  if (account.isRepeated) return [`${file}: these very bytes were imported before; nothing to do.`]
  const { observations, events, snapshots, closes, outcomes } = account
  const rate = seconds > 0 ? `, ${count(Math.round(observations / seconds))} a second` : ''
  return [
    `${file}: ${count(observations)} events read in ${seconds.toFixed(1)} s${rate}.`,
    `  new: ${count(events)} events; entries: ${count(snapshots)} of early prices, ${count(closes)} closes, ${count(outcomes)} results (${count(account.superseded)} corrections).`,
    `  unchanged: ${count(account.unchanged)}; missing or suspended prices: ${count(account.missingPrices)}; refused: ${count(account.refused)}.`,
    ...account.refusals
      .slice(0, REFUSALS_SHOWN_MAX)
      .map(({ reason, place, detail }) => `  refused ${place}: ${reason}, ${detail}`),
    ...(account.ignoredColumns.length === 0
      ? []
      : [`  columns not read: ${account.ignoredColumns.join(', ')}.`]),
    ...account.alike
      .slice(0, REFUSALS_SHOWN_MAX)
      .map(({ event, like }) => `  not joined: ${event} may be ${like.join(' or ')}`),
  ]
}

/** The ledger; made at the first call where there was none, so that an import of nothing leaves none. */
type OpenForImport = {
  readonly isThere: () => boolean
  readonly open: () => Promise<GradingStore>
}

/** Why nothing of a payload can be taken; undefined where something can. */
function nothingTaken(slices: Iterable<Normalised>): string | undefined {
  let refused: Refusal | undefined
  for (const { observations, refusals } of slices) {
    if (observations.length > 0) return undefined
    refused ??= refusals[0]
  }
  const why =
    refused === undefined ? '' : `: ${refused.place}: ${refused.reason}, ${refused.detail}`
  return `nothing in it can be taken${why}`
}

async function importFile(
  call: CommandCall,
  { ledger, file }: { readonly ledger: OpenForImport; readonly file: string },
): Promise<Pick<PayloadAccount, 'isRepeated' | 'observations'>> {
  const { terminal } = call
  const raw = await readInput(call, file)
  const startedMs = terminal.clock.unixMs()
  const receivedAtSeconds = Math.floor(startedMs / 1_000)
  const stage = call.text('stage') === 'final' ? 'final' : 'provisional'
  const reading = readPayload(raw, { receivedAtSeconds, stage })
  if (reading.kind === 'unreadable') throw new BadUsage(`${file}: ${reading.problem}.`)
  const nothing = ledger.isThere() ? undefined : nothingTaken(reading.read())
  if (nothing !== undefined) {
    terminal.print(`${file}: ${nothing}.`)
    return { isRepeated: false, observations: 0 }
  }
  const store = await ledger.open()
  let toldMs = startedMs
  const account = await ingestPayload({
    store,
    raw,
    file,
    receivedAtSeconds,
    ...(stage === 'final' ? { reading: stage } : {}),
    read: reading.read,
    onSlice: ({ observations, refused }) => {
      const now = terminal.clock.unixMs()
      if (now - toldMs < PROGRESS_MS) return
      toldMs = now
      terminal.progress?.(`${file}: ${count(observations)} events, ${count(refused)} refused …`)
    },
  })
  terminal.progress?.('')
  const seconds = (terminal.clock.unixMs() - startedMs) / 1_000
  for (const line of summary(file, account, seconds)) terminal.print(line)
  return account
}

/** Imports the files in order. The first that fails ends the run, and its message lists the files already in the ledger. */
async function importFiles(call: CommandCall, ledger: OpenForImport): Promise<ExitCode> {
  const { terminal, words: files } = call
  const taken: string[] = []
  for (const [index, file] of files.entries())
    try {
      const account = await importFile(call, { ledger, file })
      if (account.isRepeated || account.observations > 0) taken.push(file)
    } catch (error) {
      const isOfStore = error instanceof GradingStoreUnavailable
      if (!isOfStore && (taken.length === 0 || !(error instanceof BadUsage))) throw error
      terminal.printError(error.message)
      if (isOfStore)
        terminal.printError(
          `A part of ${file} may be in the ledger: the same command goes on from there.`,
        )
      const left = files.slice(index + 1)
      if (taken.length > 0)
        terminal.printError(
          `In the ledger: ${taken.join(', ')}.${left.length === 0 ? '' : ` Not tried: ${left.join(', ')}.`}`,
        )
      return EXIT.failed
    }
  return taken.length > 0 ? EXIT.done : EXIT.failed
}

export const importVerb: CommandVerb = {
  name: 'import',
  usage: 'FILE… [--stage final]',
  summary:
    'imports football-data.co.uk CSV, tables of MLB or NFL closes, Betfair’s starting prices, price histories of Kalshi or Polymarket, payloads of The Odds API or uploads (JSON); plain or gzip, - is standard input',
  example: 'import E0.csv',
  options: { stage: 'text' },
  wordsMax: 10_000,
  run: async (call) => {
    if (call.words.length === 0)
      throw new BadUsage('Name at least one file, or - for standard input.')
    const stage = call.text('stage')
    if (stage !== undefined && stage !== 'final' && stage !== 'provisional')
      throw new BadUsage('--stage takes final or provisional.')
    const { terminal } = call
    const open = () => openStore(terminal, { isImport: true })
    let store = isLedgerThere(terminal) ? await open() : undefined
    try {
      return await importFiles(call, {
        isThere: () => store !== undefined,
        open: async () => (store ??= await open()),
      })
    } finally {
      await store?.close()
    }
  },
}

export const seedVerb: CommandVerb = {
  name: 'seed',
  summary: 'fills an empty ledger with synthetic fixtures, for trying the service out',
  example: 'seed',
  run: ({ terminal }) =>
    withStore(terminal, async (store) => {
      const outcome = await seedLedger({ store, nowSeconds: terminal.clock.unixMs() / 1_000 })
      terminal.print(
        outcome.kind === 'seeded'
          ? `${outcome.account.events} synthetic events imported: made up, and marked so on every card.`
          : 'The ledger has entries already; nothing was written.',
      )
      return EXIT.done
    }),
}
