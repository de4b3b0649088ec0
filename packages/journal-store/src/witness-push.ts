/**
 * Shows a journal's signed checkpoints to witnesses (https://c2sp.org/tlog-witness) and keeps what they cosign. Each gets the
 * newest one with a proof from the size that it last saw. A witness that is away or refuses delays no other, and is asked
 * again later. A refusal as forked or rolled back is reported, since a person must look. If it is what a witness answers
 * first, or what the cosignatures of an earlier process show, the store was put back while it was closed.
 */
import {
  formatWitnessRequest,
  openCheckpoint,
  parseCheckpoint,
  readCosignatures,
  type TreeHead,
} from '@tallystick/hashchain'
import { isContinued } from './checkpoint-file.ts'
import type { Journal } from './store.ts'

/** Writes within this time are shown together, milliseconds. */
const GATHER_MS = 1_000
/** Requests per attempt: the first, and again from the size that a 409 names. More would mean that others show it too. */
const REQUESTS_MAX = 3
/** A failed witness is left alone for some seconds, then ever longer, since it may stay away for days. */
const RETRY = { firstMs: 5_000, maxMs: 600_000 }

export type Witness = {
  /** `add-checkpoint` is below it. */
  readonly url: string
  /** `name+id+base64` of a cosignature key. */
  readonly verifierKey: string
}

/**
 * Why a witness did not cosign. `unreachable`: no answer. `refused`: a status outside the protocol, or it does not know the
 * journal. `bad_answer`: its answer is no cosignature by its key. `forked`: it has seen other entries. `rolled_back`: it has
 * seen more of them.
 */
export type WitnessProblem = 'unreachable' | 'refused' | 'bad_answer' | 'forked' | 'rolled_back'

/** What is known of a witness. */
type WitnessState = {
  readonly name: string
  /** The newest checkpoint that it cosigned here. */
  readonly cosigned?: { readonly size: number; readonly atSeconds: number } | undefined
  /** Of the last attempt. */
  readonly problem?: WitnessProblem | undefined
}

/** A witness has seen what this store does not have. */
export type WitnessLead = {
  /** Its verifier key. */
  readonly witness: string
  readonly name: string
  /** Entries that it has seen. */
  readonly seen: number
  /** Entries that are here. */
  readonly size: number
  /** `rolled_back`: fewer than it has seen. `forked`: other ones. */
  readonly problem: Extract<WitnessProblem, 'forked' | 'rolled_back'>
}

type BackOff = { failed(): number; succeeded(): void }

type WitnessPushOptions = {
  readonly witnesses: readonly Witness[]
  readonly journal: {
    readonly size: () => number
    readonly rootAt: Journal['rootAt']
    readonly checkpoint: () => string
    readonly consistencyProof: (oldSize: number, size: number) => Promise<readonly Uint8Array[]>
    readonly verifierKey: string
  }
  /** Sends a body; undefined if there is no answer. Never rejects. */
  readonly post: (
    url: string,
    body: string,
  ) => Promise<{ readonly status: number; readonly text: string } | undefined>
  /** The last cosigned checkpoint that an earlier process kept. */
  readonly lastCosigned?: string | undefined
  readonly keep: (note: string) => Promise<void>
  readonly clock: { after(ms: number, run: () => void): () => void }
  /** Counts a witness's failures in a row and says how long to leave it alone. */
  readonly createBackOff: (limits: typeof RETRY) => BackOff
  readonly onProblem: (witness: string, problem: WitnessProblem) => void
  /** The sizes that an operator gave up, by the verifier keys of the witnesses that have seen them. */
  readonly givenUp?: Readonly<Record<string, number>> | undefined
  /** A witness's first answer shows that the store was put back, and nobody gave up what is missing. */
  readonly onLead?: ((lead: WitnessLead) => void) | undefined
  /** The journal or the file failed. */
  readonly onError: (error: unknown) => void
}

type Cosigned = {
  readonly note: string
  readonly size: number
  readonly lines: Map<string, string>
}

/** What an earlier process kept, before anything was compared with it. */
type LastCosigned = Cosigned & { readonly checkpoint: TreeHead }

type Watched = Witness & {
  readonly name: string
  /** The size that it last saw, as far as is known. */
  seen: number
  /** What it cosigned last. */
  note?: string
  /** Whether an answer in this process has told what it has seen. */
  hasTold: boolean
  state: Omit<WitnessState, 'name'>
  readonly backOff: BackOff
  /** Set while it is not asked; calling it ends the wait. */
  rest?: (() => void) | undefined
}

const nameOf = ({ verifierKey }: Witness): string => verifierKey.slice(0, verifierKey.indexOf('+'))
const textOf = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1)

/** The checkpoint in a note; undefined for anything else. */
function checkpointIn(note: string): TreeHead | undefined {
  const parsed = parseCheckpoint(textOf(note))
  return parsed.kind === 'checkpoint' ? parsed.checkpoint : undefined
}

type Outcome =
  | { readonly kind: 'cosigned'; readonly lines: string; readonly atSeconds: number }
  /** It has seen a newer checkpoint of this journal from another process. */
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'failed'; readonly problem: WitnessProblem; readonly seen?: number }

const failed = (problem: WitnessProblem): Outcome => ({ kind: 'failed', problem })
const leads = (problem: WitnessLead['problem'], seen: number): Outcome => ({
  kind: 'failed',
  problem,
  seen,
})
const SIZE_ANSWER = /^(0|[1-9]\d{0,15})\n?$/

/** Shows one checkpoint to one witness. */
async function show(
  { note, size }: { readonly note: string; readonly size: number },
  to: Watched,
  { journal, post }: WitnessPushOptions,
): Promise<Outcome> {
  let oldSize = Math.min(to.seen, size)
  for (let request = 1; request <= REQUESTS_MAX; request += 1) {
    const proof = await journal.consistencyProof(oldSize, size)
    const body = formatWitnessRequest({ oldSize, proof, note })
    const answer = await post(`${to.url.replace(/\/+$/, '')}/add-checkpoint`, body)
    if (answer === undefined) return failed('unreachable')
    if (answer.status === 200) {
      const cosignatures = readCosignatures({
        note,
        answer: answer.text,
        verifierKey: to.verifierKey,
      })
      return cosignatures === undefined
        ? failed('bad_answer')
        : { kind: 'cosigned', ...cosignatures }
    }
    if (answer.status === 422) return leads('forked', oldSize)
    if (answer.status !== 409) return failed('refused')
    const seen = Number(SIZE_ANSWER.exec(answer.text)?.[1] ?? Number.NaN)
    if (!Number.isSafeInteger(seen)) return failed('bad_answer')
    // The same size again: the witness has another root there.
    if (seen === oldSize) return leads('forked', seen)
    if (seen > size)
      return seen > journal.size() ? leads('rolled_back', seen) : { kind: 'overtaken' }
    oldSize = seen
  }
  return { kind: 'overtaken' }
}

/** The kept checkpoint with the witnesses' lines that verify; undefined if it is not the journal's or none verify. */
function takeLastCosigned(
  text: string,
  witnesses: readonly Watched[],
  ownKey: string,
): LastCosigned | undefined {
  const opened = openCheckpoint({ note: text, verifierKey: ownKey })
  if (opened.kind !== 'checkpoint') return undefined
  const { checkpoint } = opened
  const { size } = checkpoint
  const split = text.indexOf('\n', text.lastIndexOf('\n\n') + 2) + 1
  const [note, answer] = [text.slice(0, split), text.slice(split)]
  const lines = new Map<string, string>()
  for (const witness of witnesses) {
    const { verifierKey } = witness
    const own = readCosignatures({ note, answer, verifierKey })
    if (own === undefined) continue
    lines.set(witness.name, own.lines)
    witness.seen = size
    witness.note = note
    witness.state = { cosigned: { size, atSeconds: own.atSeconds } }
  }
  return lines.size === 0 ? undefined : { note, size, lines, checkpoint }
}

const noteOf = ({ lines, note }: Cosigned): string => note + [...lines.values()].join('')

/** Shows the journal's checkpoints as it grows, the first one at once. */
export class WitnessPush {
  readonly #options: WitnessPushOptions
  readonly #watched: readonly Watched[]
  readonly #leads = new Map<string, WitnessLead>()
  #cosigned: Cosigned | undefined
  /** Until it has been compared. */
  #lastCosigned: LastCosigned | undefined
  #running: Promise<void> | undefined
  #gathering: (() => void) | undefined
  #isDue = false
  #hasShown = false
  #isClosed = false

  constructor(options: WitnessPushOptions) {
    this.#options = options
    this.#watched = options.witnesses.map(
      (witness): Watched => ({
        ...witness,
        name: nameOf(witness),
        seen: 0,
        hasTold: false,
        state: {},
        backOff: options.createBackOff(RETRY),
      }),
    )
    this.#lastCosigned = takeLastCosigned(
      options.lastCosigned ?? '',
      this.#watched,
      options.journal.verifierKey,
    )
    this.#cosigned = this.#lastCosigned
    this.#run()
  }

  /** Resolves when each witness has been shown the journal once, or has not answered. An empty one is shown to nobody. */
  async compared(): Promise<void> {
    await this.#running
  }

  /** What witnesses have seen and this store does not have. */
  leads(): readonly WitnessLead[] {
    return [...this.#leads.values()]
  }

  /** The journal has grown. */
  grown(): void {
    if (this.#isClosed || this.#watched.length === 0) return
    // The first entry of an empty journal: whether it is the first that they see is asked at once.
    if (!this.#hasShown) return this.#run()
    this.#gathering ??= this.#options.clock.after(GATHER_MS, () => {
      this.#gathering = undefined
      this.#run()
    })
  }

  /** The newest checkpoint that a witness has cosigned, with the lines of all that did; undefined before the first. */
  cosigned(): string | undefined {
    return this.#cosigned && noteOf(this.#cosigned)
  }

  states(): readonly WitnessState[] {
    return this.#watched.map(({ name, state }) => ({ name, ...state }))
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#gathering?.()
    for (const { rest } of this.#watched) rest?.()
    await this.#running
  }

  #run(): void {
    if (this.#isClosed || this.#watched.length === 0) return
    this.#isDue = true
    this.#running ??= this.#showWhileDue()
      .catch(this.#options.onError)
      .finally(() => {
        this.#running = undefined
        // Asked for since the last look.
        if (this.#isDue) this.#run()
      })
  }

  async #showWhileDue(): Promise<void> {
    const { journal, keep } = this.#options
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      await this.#compareLastCosigned()
      const note = journal.checkpoint()
      const size = checkpointIn(note)?.size
      // An empty journal has nothing to vouch for.
      if (size === undefined || size === 0) continue
      this.#hasShown = true
      const before = this.cosigned()
      const unshown = this.#watched.filter(
        ({ hasTold, note: cosigned, rest }) =>
          rest === undefined && !(hasTold && cosigned === note),
      )
      await Promise.all(
        unshown.map(async (witness) => {
          const outcome = await show({ note, size }, witness, this.#options)
          this.#take({ note, size }, witness, outcome)
        }),
      )
      const now = this.cosigned()
      if (now !== undefined && now !== before) await keep(now)
    }
  }

  /** What an earlier process kept of the witnesses tells without them. */
  async #compareLastCosigned(): Promise<void> {
    const { journal } = this.#options
    const last = this.#lastCosigned
    this.#lastCosigned = undefined
    if (last === undefined) return
    const size = journal.size()
    if (await isContinued({ size, rootAt: journal.rootAt }, last.checkpoint)) return
    const problem = last.size > size ? 'rolled_back' : 'forked'
    for (const witness of this.#watched)
      if (last.lines.has(witness.name)) this.#lead(witness, { seen: last.size, problem })
  }

  #lead(
    { name, verifierKey: witness }: Watched,
    finding: Pick<WitnessLead, 'seen' | 'problem'>,
  ): void {
    const { givenUp = {}, journal, onLead } = this.#options
    if (givenUp[witness] === finding.seen) return
    const lead = { witness, name, size: journal.size(), ...finding }
    this.#leads.set(witness, lead)
    onLead?.(lead)
  }

  #take(
    shown: { readonly note: string; readonly size: number },
    by: Watched,
    outcome: Outcome,
  ): void {
    if (outcome.kind === 'failed') {
      const { problem, seen } = outcome
      by.state = { ...by.state, problem }
      this.#restOf(by)
      const isLead = problem === 'forked' || problem === 'rolled_back'
      if (isLead && seen !== undefined && !by.hasTold) this.#lead(by, { seen, problem })
      by.hasTold ||= isLead
      return this.#options.onProblem(by.name, problem)
    }
    const isKnown = by.note === shown.note
    by.hasTold = true
    by.backOff.succeeded()
    by.state = { cosigned: by.state.cosigned }
    if (outcome.kind === 'overtaken') return
    by.seen = shown.size
    // Its line of then is kept.
    if (isKnown) return
    by.note = shown.note
    by.state = { cosigned: { size: shown.size, atSeconds: outcome.atSeconds } }
    if (this.#cosigned?.note !== shown.note) this.#cosigned = { ...shown, lines: new Map() }
    this.#cosigned.lines.set(by.name, outcome.lines)
  }

  #restOf(witness: Watched): void {
    if (this.#isClosed) return
    witness.rest = this.#options.clock.after(witness.backOff.failed(), () => {
      witness.rest = undefined
      this.#run()
    })
  }
}
