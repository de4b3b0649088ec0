/**
 * Shows a journal's signed checkpoints to witnesses (https://c2sp.org/tlog-witness) and keeps what they cosign. Each gets the
 * newest one with a proof from the size that it last saw. A witness that is away or refuses delays no other, and is asked
 * again later. A refusal as forked or rolled back is reported, since a person must look. If it is what a witness answers
 * first, or what the cosignatures of an earlier process show, the store was put back while it was closed. Of several processes
 * one shows what the journal gains, and the others hear what came of it.
 */
import {
  openCheckpoint,
  parseCheckpoint,
  readCosignatures,
  type TreeHead,
} from '@tallystick/hashchain'
import { isContinued } from './checkpoint-file.ts'
import {
  type ShownJournal,
  type ShowOutcome,
  showToWitness,
  type Witness,
  type WitnessProblem,
} from './show-to-witness.ts'
import type { Journal } from './store.ts'

export type { Witness, WitnessProblem }

/** Writes within this time are shown together, milliseconds. */
const GATHER_MS = 1_000
/** A failed witness is left alone for some seconds, then ever longer, since it may stay away for days. */
const RETRY = { firstMs: 5_000, maxMs: 600_000 }

/** This is known of a witness. */
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

type WitnessPushOptions = ShownJournal & {
  readonly witnesses: readonly Witness[]
  readonly journal: {
    readonly rootAt: Journal['rootAt']
    readonly checkpoint: () => string
    readonly verifierKey: string
  }
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
  /**
   * Whether what the journal gains is this process's to show; by default it always is. What each witness says first, every
   * process asks for itself.
   */
  readonly isTurn?: (() => boolean) | undefined
}

/** A process tells the others this of its witnesses. */
export type WitnessNews = {
  /** The newest cosigned checkpoint. */
  readonly note?: string | undefined
  /** By names. */
  readonly problems: Readonly<Record<string, WitnessProblem>>
}

type Cosigned = {
  readonly note: string
  readonly size: number
  readonly lines: Map<string, string>
}

/** An earlier process kept this; nothing was compared with it yet. */
type LastCosigned = Cosigned & { readonly checkpoint: TreeHead }

type Watched = Witness & {
  readonly name: string
  /** The size that it last saw, as far as is known. */
  seen: number
  /** It cosigned this last. */
  note?: string
  /** Whether an answer in this process has told what it has seen. */
  hasTold: boolean
  state: Omit<WitnessState, 'name'>
  readonly backOff: BackOff
  /** Set while it is not asked; calling it ends the wait. */
  rest?: (() => void) | undefined
}

const witnessName = ({ verifierKey }: Witness): string =>
  verifierKey.slice(0, verifierKey.indexOf('+'))
const noteText = (note: string): string => note.slice(0, note.lastIndexOf('\n\n') + 1)

/** The checkpoint in a note; undefined for anything else. */
function checkpointIn(note: string): TreeHead | undefined {
  const parsed = parseCheckpoint(noteText(note))
  return parsed.kind === 'checkpoint' ? parsed.checkpoint : undefined
}

/** A checkpoint with the witnesses' lines that verify; undefined if it is not the journal's or none verify. */
function readCosigned(text: string, witnesses: readonly Watched[], ownKey: string) {
  const opened = openCheckpoint({ note: text, verifierKey: ownKey })
  if (opened.kind !== 'checkpoint') return undefined
  const { checkpoint } = opened
  const split = text.indexOf('\n', text.lastIndexOf('\n\n') + 2) + 1
  const [note, answer] = [text.slice(0, split), text.slice(split)]
  const by = witnesses.flatMap((witness) => {
    const own = readCosignatures({ note, answer, verifierKey: witness.verifierKey })
    return own === undefined ? [] : [{ witness, ...own }]
  })
  const lines = new Map(by.map(({ lines: own, witness }) => [witness.name, own]))
  return by.length === 0 ? undefined : { note, size: checkpoint.size, lines, checkpoint, by }
}

type ReadCosigned = NonNullable<ReturnType<typeof readCosigned>>

/** They have seen what they cosigned. */
function noteSeen({ by, note, size }: ReadCosigned): void {
  for (const { atSeconds, witness } of by) {
    witness.seen = size
    witness.note = note
    witness.state = { cosigned: { size, atSeconds } }
  }
}

const joinNote = ({ lines, note }: Cosigned): string => note + [...lines.values()].join('')

/** Shows the journal's checkpoints as it grows, the first one at once. */
export class WitnessPush {
  readonly #options: WitnessPushOptions
  readonly #watched: readonly Watched[]
  readonly #leads = new Map<string, WitnessLead>()
  #cosigned: Cosigned | undefined
  /** Until it has been compared. */
  #lastCosigned: LastCosigned | undefined
  /** Whether the journal had nothing when this began: what it has by now, nobody had seen before. */
  readonly #wasEmpty: boolean
  #running: Promise<void> | undefined
  #gathering: { readonly ended: Promise<void>; end(): void } | undefined
  #isDue = false
  #hasShown = false
  #isClosed = false

  constructor(options: WitnessPushOptions) {
    this.#options = options
    this.#watched = options.witnesses.map(
      (witness): Watched => ({
        ...witness,
        name: witnessName(witness),
        seen: 0,
        hasTold: false,
        state: {},
        backOff: options.createBackOff(RETRY),
      }),
    )
    const last = readCosigned(options.lastCosigned ?? '', this.#watched, this.#ownKey)
    if (last !== undefined) noteSeen(last)
    this.#lastCosigned = last
    this.#cosigned = last
    this.#wasEmpty = options.journal.size() === 0
    this.#run()
  }

  /** Resolves when each witness has been shown the journal once, or has not answered. An empty one is shown to nobody. */
  async compared(): Promise<void> {
    // Others may show the first entry meanwhile.
    if (!this.#hasShown) await this.#gathering?.ended
    await this.#running
  }

  /** Takes what another process was told: checked here, and nothing that is known is forgotten. */
  async hear({ note = '', problems }: WitnessNews): Promise<void> {
    const { journal, keep } = this.#options
    const heard = readCosigned(note, this.#watched, this.#ownKey)
    const size = journal.size()
    const isNews = heard !== undefined && heard.size > 0 && note !== this.cosigned()
    const isNewer = isNews && heard.size >= (this.#cosigned?.size ?? 0) && heard.size <= size
    if (isNewer && (await isContinued({ size, rootAt: journal.rootAt }, heard.checkpoint))) {
      noteSeen(heard)
      this.#cosigned = heard
      if (this.#wasEmpty) for (const { witness } of heard.by) witness.hasTold = true
      this.#hasShown ||= this.#watched.every(({ hasTold }) => hasTold)
      await keep(note)
    }
    for (const witness of this.#watched)
      witness.state = { ...witness.state, problem: problems[witness.name] }
  }

  /** The same for others. */
  news(): WitnessNews {
    const problems = this.#watched.flatMap(({ name, state: { problem } }) =>
      problem === undefined ? [] : [[name, problem] as const],
    )
    return { note: this.cosigned(), problems: Object.fromEntries(problems) }
  }

  /** Witnesses have seen this, and the store does not have it. */
  leads(): readonly WitnessLead[] {
    return [...this.#leads.values()]
  }

  /** The journal has grown. */
  grown(): void {
    if (this.#isClosed || this.#watched.length === 0) return
    // The first entry of an empty journal: whether it is the first that they see is asked at once.
    if (!this.#hasShown && this.#isTurn()) return this.#run()
    this.#gathering ??= this.#gather()
  }

  /** The newest checkpoint that a witness has cosigned, with the lines of all that did; undefined before the first. */
  cosigned(): string | undefined {
    return this.#cosigned && joinNote(this.#cosigned)
  }

  states(): readonly WitnessState[] {
    return this.#watched.map(({ name, state }) => ({ name, ...state }))
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#gathering?.end()
    for (const { rest } of this.#watched) rest?.()
    await this.#running
  }

  get #ownKey(): string {
    return this.#options.journal.verifierKey
  }

  #isTurn(): boolean {
    return this.#options.isTurn?.() ?? true
  }

  #gather() {
    const ended = Promise.withResolvers<void>()
    const end = (): void => {
      cancel()
      this.#gathering = undefined
      this.#run()
      ended.resolve()
    }
    const cancel = this.#options.clock.after(GATHER_MS, end)
    return { ended: ended.promise, end }
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
          rest === undefined && (!hasTold || (this.#isTurn() && cosigned !== note)),
      )
      await Promise.all(
        unshown.map(async (witness) => {
          const outcome = await showToWitness({ note, size }, witness, this.#options)
          this.#take({ note, size }, witness, outcome)
        }),
      )
      const now = this.cosigned()
      if (now !== undefined && now !== before) await keep(now)
    }
  }

  /** Reads what an earlier process kept of the witnesses, without asking them. */
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
    outcome: ShowOutcome,
  ): void {
    if (outcome.kind === 'failed') {
      const { problem, seen } = outcome
      by.state = { ...by.state, problem }
      this.#readRest(by)
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

  #readRest(witness: Watched): void {
    if (this.#isClosed) return
    witness.rest = this.#options.clock.after(witness.backOff.failed(), () => {
      witness.rest = undefined
      this.#run()
    })
  }
}
