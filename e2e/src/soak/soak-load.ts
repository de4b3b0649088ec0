/** The results of one part of the mixed load. */
export type LoadAccount = {
  /** Calls by what they were answered with, e.g. `grade 200`. */
  readonly answers: Map<string, number>
  /** Whatever should not have happened, the first of each kind. */
  readonly faults: Map<string, string>
}

/** One caller of the mixed load: acts once, and is called again until the time is over. */
export type SoakCaller = {
  readonly name: string
  /** Pause between two acts, milliseconds. */
  readonly pauseMs: number
  act(account: LoadAccount): Promise<void>
  /** Lets go of what it holds. */
  close?(): Promise<void>
}

export function emptyAccount(): LoadAccount {
  return { answers: new Map(), faults: new Map() }
}

/** Notes what should not have happened; the first of each kind is kept. */
export function fault(account: LoadAccount, kind: string, why: string): void {
  if (!account.faults.has(kind)) account.faults.set(kind, why)
}

/** Counts an answer; one that is not expected is a fault. */
export function note(
  account: LoadAccount,
  answer: { readonly call: string; readonly status: number; readonly expected: readonly number[] },
): void {
  const kind = `${answer.call} ${answer.status}`
  account.answers.set(kind, (account.answers.get(kind) ?? 0) + 1)
  if (!answer.expected.includes(answer.status)) fault(account, kind, 'not expected')
}
