// The witnesses of the journal of speakable records (C9): who they are, how they are asked, and where their cosignatures are
// kept. No witness sees the journal of internal records: its size would reveal when something secret was written.
import { readFileSync } from 'node:fs'
import {
  besideDatabase,
  replaceFile,
  type WitnessProblem,
  WitnessPush,
} from '@tallystick/journal-store'
import { type Clock, createBackOff, postChecked } from '@tallystick/service-kit'
import type { CareConfig } from '../config.ts'
import type { RecordJournal } from '../domain/record-store.ts'

/** A witness checks a few hashes and two signatures. */
const TIMEOUT_MS = 10_000
/** A line of a cosignature has some 200 bytes; a witness has few keys. */
const ANSWER_BYTES_MAX = 8_192

type WitnessesOptions = {
  readonly config: Pick<CareConfig, 'WITNESSES' | 'DATABASE_PATH'>
  readonly journal: RecordJournal
  readonly clock: Clock
  readonly chance: () => number
  readonly onProblem: (witness: string, problem: WitnessProblem) => void
  readonly onError: (error: unknown) => void
}

/** The kept cosignatures; none if they cannot be read: the witnesses have them too. */
function readKept(path: string | undefined): string | undefined {
  try {
    return path === undefined ? undefined : readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Begins to show the journal's checkpoints. Closing aborts requests under way. */
export function openWitnesses(options: WitnessesOptions) {
  const { chance, config, journal, clock } = options
  const path = besideDatabase(config.DATABASE_PATH, '.user-cosigned')
  const ending = new AbortController()
  const push = new WitnessPush({
    ...options,
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
    kept: readKept(path),
    keep: async (note) => (path === undefined ? undefined : replaceFile(path, note)),
  })
  return {
    push,
    close: (): Promise<void> => {
      ending.abort()
      return push.close()
    },
  }
}
