/** The results of one part of the mixed load. */
export type LoadAccount = {
  /** Calls by answer, e.g. `grade 200`. */
  readonly answers: Map<string, number>
  /** What should not have happened: the first of each kind. */
  readonly faults: Map<string, string>
}

/** One caller of the mixed load: acts once, then is called again until the time is over. */
export type SoakCaller = {
  readonly name: string
  /** Pause between two acts, milliseconds. */
  readonly pauseMs: number
  act(account: LoadAccount): Promise<void>
  /** Releases what it holds. */
  close?(): Promise<void>
}

export function emptyAccount(): LoadAccount {
  return { answers: new Map(), faults: new Map() }
}

/** Records what should not have happened; keeps the first of each kind. */
export function fault(account: LoadAccount, kind: string, why: string): void {
  if (!account.faults.has(kind)) account.faults.set(kind, why)
}

/** Counts an answer; an unexpected one is a fault. */
export function note(
  account: LoadAccount,
  answer: { readonly call: string; readonly status: number; readonly expected: readonly number[] },
): void {
  const kind = `${answer.call} ${answer.status}`
  account.answers.set(kind, (account.answers.get(kind) ?? 0) + 1)
  if (!answer.expected.includes(answer.status)) fault(account, kind, 'not expected')
}
