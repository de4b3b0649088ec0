/** Shows one checkpoint to one witness (https://c2sp.org/tlog-witness): with a proof from the size that it last saw, or that it names. */
import { formatWitnessRequest, readCosignatures } from '@tallystick/hashchain'
import type { Journal } from './store.ts'

/** Requests per attempt: the first, and again from the size that a 409 names. More would mean that others show it too. */
const REQUESTS_MAX = 3

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

export type ShowOutcome =
  | { readonly kind: 'cosigned'; readonly lines: string; readonly atSeconds: number }
  /** It has seen a newer checkpoint of this journal from another process. */
  | { readonly kind: 'overtaken' }
  | { readonly kind: 'failed'; readonly problem: WitnessProblem; readonly seen?: number }

const failed = (problem: WitnessProblem): ShowOutcome => ({ kind: 'failed', problem })
const leads = (problem: 'forked' | 'rolled_back', seen: number): ShowOutcome => ({
  kind: 'failed',
  problem,
  seen,
})
const SIZE_ANSWER = /^(0|[1-9]\d{0,15})\n?$/

/** The journal whose checkpoints are shown, and the way to witnesses. */
export type ShownJournal = {
  readonly journal: {
    readonly size: () => number
    readonly consistencyProof: Journal['consistencyProof']
  }
  /** Sends a body; undefined if there is no answer. Never rejects. */
  readonly post: (
    url: string,
    body: string,
  ) => Promise<{ readonly status: number; readonly text: string } | undefined>
}

/** Shows a checkpoint to a witness. */
export async function showToWitness(
  { note, size }: { readonly note: string; readonly size: number },
  /** With the size that it last saw, as far as is known. */
  to: Witness & { readonly seen: number },
  { journal, post }: ShownJournal,
): Promise<ShowOutcome> {
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
