/** How long what a command adds takes to be in force in a running service, milliseconds, at most. */
const LOOK_MS = 1_000

/**
 * Watches a list to which a command adds for good while the service runs: looks now, and then repeatedly until it is closed.
 * Rejects if the first look does; afterwards it goes on with what it knows.
 */
export async function watchAdded<Item>(of: {
  readonly clock: { after(ms: number, run: () => void): () => void }
  readonly read: () => Promise<readonly Item[]>
  readonly nameOf: (item: Item) => string
  /** Told of each item once. */
  readonly onAdded?: (items: readonly Item[]) => Promise<void>
  /** A later look failed; it is tried again. */
  readonly onProblem: (error: unknown) => void
}): Promise<{ has(name: string): boolean; close(): void }> {
  const { clock, nameOf, onAdded, onProblem, read } = of
  const known = new Set<string>()
  let isClosed = false
  let cancel: (() => void) | undefined
  const look = async (): Promise<void> => {
    const added = (await read()).filter((item) => !known.has(nameOf(item)))
    if (added.length === 0 || isClosed) return
    await onAdded?.(added)
    for (const item of added) known.add(nameOf(item))
  }
  const lookAgain = (): void => {
    cancel = clock.after(LOOK_MS, () => {
      void look()
        .catch((error: unknown) => (isClosed ? undefined : onProblem(error)))
        .finally(() => (isClosed ? undefined : lookAgain()))
    })
  }
  await look()
  lookAgain()
  return {
    has: (name) => known.has(name),
    close: () => {
      isClosed = true
      cancel?.()
    },
  }
}
