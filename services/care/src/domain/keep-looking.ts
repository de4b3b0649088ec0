type Looking = {
  readonly clock: { after(ms: number, run: () => void): () => void }
  /** From the end of one look to the next, milliseconds. */
  readonly everyMs: number
  /** What it finds once closed is of no more use. */
  readonly look: (isClosed: () => boolean) => Promise<void>
  /** A later look failed; it is tried again. */
  readonly onProblem: (error: unknown) => void
}

/** Looks now, and then repeatedly until it is closed. Rejects if the first look does. */
export async function keepLooking(of: Looking): Promise<{ close(): void }> {
  const { clock, everyMs, look, onProblem } = of
  let isClosed = false
  let cancel: (() => void) | undefined
  const once = (): Promise<void> => look(() => isClosed)
  const lookAgain = (): void => {
    cancel = clock.after(everyMs, () => {
      void once()
        .catch((error: unknown) => (isClosed ? undefined : onProblem(error)))
        .finally(() => (isClosed ? undefined : lookAgain()))
    })
  }
  await once()
  lookAgain()
  return {
    close: () => {
      isClosed = true
      cancel?.()
    },
  }
}
