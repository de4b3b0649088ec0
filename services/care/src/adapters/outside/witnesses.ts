// The witnesses of the journal of speakable records (C9): who they are, how they are asked, and where their cosignatures are
// kept. No witness sees the journal of internal records: its size would reveal when something secret was written.
import { readFileSync, rmSync } from 'node:fs'
import {
  besideDatabase,
  replaceFile,
  type WitnessLead,
  type WitnessProblem,
  WitnessPush,
} from '@tallystick/journal-store'
import { type Clock, createBackOff, postChecked } from '@tallystick/service-kit'
import { z } from 'zod'
import type { CareConfig } from '../../config.ts'
import { type RecordJournal, StoreBehind } from '../../domain/record-store.ts'
import { type SharedWitnesses, shareNews } from '../rows/witness-rows.ts'

/** A witness checks a few hashes and two signatures. */
const TIMEOUT_MS = 10_000
/** A line of a cosignature has some 200 bytes; a witness has few keys. */
const ANSWER_BYTES_MAX = 8_192

/**
 * How long the start waits for the witnesses, milliseconds: `/ready` tells within 5 s (S13). One that is away longer is asked
 * on; what it answers first counts all the same.
 */
const COMPARE_MS = 4_000

type WitnessesOptions = {
  readonly config: Pick<CareConfig, 'WITNESSES' | 'DATABASE_PATH'>
  readonly journal: RecordJournal
  readonly clock: Clock
  readonly chance: () => number
  readonly onProblem: (witness: string, problem: WitnessProblem) => void
  readonly onError: (error: unknown) => void
  /** A witness that was away at the start shows, now that it answers, that the store was put back. */
  readonly onLead?: (() => void) | undefined
  readonly shared?: SharedWitnesses | undefined
}

/** The files beside the database: what witnesses cosigned, and what was given up of what they have seen. */
const witnessPlaces = ({ DATABASE_PATH }: Pick<CareConfig, 'DATABASE_PATH'>) => ({
  cosigned: besideDatabase(DATABASE_PATH, '.user-cosigned'),
  givenUp: besideDatabase(DATABASE_PATH, '.user-given-up'),
})

/** The text of a file; nothing if it cannot be read: the witnesses know it too. */
function readKept(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const sizesByWitness = z.record(z.string(), z.int().nonnegative())

/** Sizes that were given up, by verifier keys. A file that does not parse gives up nothing. */
function readGivenUp(path: string | undefined): Readonly<Record<string, number>> {
  try {
    return sizesByWitness.parse(JSON.parse(readKept(path) ?? '{}'))
  } catch {
    return {}
  }
}

/** What is wrong with a store that a witness has seen more of, or other entries (C42). */
function leadSentence({ name, problem, seen, size }: WitnessLead): string {
  const found =
    problem === 'rolled_back'
      ? `has seen ${seen} entries of the user journal, ${size} of them are here`
      : `has seen ${seen} entries of the user journal, and other ones than the ${size} that are here`
  return `the store was put back: the witness ${name} ${found}. Nothing is read or written. Bring the newer store back, or give up what is missing with "care accept-backup"`
}

/**
 * Begins to show the journal's checkpoints. Closing aborts requests under way. A witness's first answer tells whether the
 * store was put back while it was closed.
 */
export function openWitnesses(options: WitnessesOptions) {
  const { chance, config, journal, clock, shared } = options
  const places = witnessPlaces(config)
  const ending = new AbortController()
  const sharing = shared && shareNews(shared, options)
  const push = new WitnessPush({
    ...options,
    isTurn: sharing?.isTurn,
    witnesses: config.WITNESSES.map(({ url, vkey }) => ({ url, verifierKey: vkey })),
    createBackOff: (limits) => createBackOff({ ...limits, clock, chance }),
    journal: { ...journal, size: () => journal.size },
    post: async (url, body) => {
      const answer = await postChecked({
        url: new URL(url),
        body,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        clock,
        timeoutMs: TIMEOUT_MS,
        answerBytesMax: ANSWER_BYTES_MAX,
        // The operator chose it; it may run beside the service.
        mayBePrivate: true,
        signal: ending.signal,
      })
      return answer.kind === 'answered' ? answer : undefined
    },
    lastCosigned: readKept(places.cosigned),
    keep: async (note) =>
      places.cosigned === undefined ? undefined : replaceFile(places.cosigned, note),
    givenUp: readGivenUp(places.givenUp),
  })
  const endSharing = sharing?.begin(push)
  const compare = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const cancel = clock.after(COMPARE_MS, resolve)
      void push.compared().finally(cancel).then(resolve, reject)
    })
  let compared: Promise<void> | undefined
  return {
    push,
    /**
     * Resolves when each witness has answered, or has had its time. An empty journal is shown to nobody: its first entry
     * is, so who writes that waits for this, too.
     */
    compared: async (): Promise<void> => {
      if (journal.size === 0) await push.compared()
      else await (compared ??= compare())
    },
    /** Why nothing of this store is served. */
    behind: (): StoreBehind | undefined => {
      const [lead] = push.leads()
      return lead && new StoreBehind(leadSentence(lead))
    },
    close: (): Promise<void> => {
      endSharing?.()
      ending.abort()
      return push.close()
    },
  }
}

export type Witnesses = ReturnType<typeof openWitnesses>

/** What a witness knows of a store that was accepted as it is. */
type ComparedWitness = {
  readonly name: string
  /** What it has seen and nobody has here, or other than what is here. */
  readonly lead?: WitnessLead | undefined
  /** Set if it did not tell. */
  readonly problem?: WitnessProblem | undefined
}

/** What they answer is what the command prints. */
const ignore = (): void => undefined

/** Asks the witnesses about a store that was just accepted, and keeps that what they have seen more is given up. */
export async function giveUpSeen(
  options: Pick<WitnessesOptions, 'config' | 'journal' | 'clock'>,
): Promise<readonly ComparedWitness[]> {
  const { config } = options
  const places = witnessPlaces(config)
  const witnesses = openWitnesses({
    ...options,
    chance: () => 0,
    onProblem: ignore,
    onError: ignore,
  })
  const { push } = witnesses
  await witnesses.compared().finally(witnesses.close)
  const leads = push.leads()
  if (leads.length > 0 && places.givenUp !== undefined) {
    const seen = Object.fromEntries(leads.map(({ seen: size, witness }) => [witness, size]))
    await replaceFile(places.givenUp, JSON.stringify({ ...readGivenUp(places.givenUp), ...seen }))
    // It is of what was given up.
    if (places.cosigned !== undefined) rmSync(places.cosigned, { force: true })
  }
  return push.states().map(({ name, problem }) => ({
    name,
    problem,
    lead: leads.find((lead) => lead.name === name),
  }))
}
