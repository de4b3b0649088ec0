/** Longest until a command's addition takes effect in a running service, milliseconds. */
const LOOK_MS = 1_000

/**
 * Watches a list that commands extend for good while the service runs: looks now, then repeatedly until closed. Rejects if the
 * first look does; after a later failure it continues with what it knows.
 */
export async function watchAdded<Item>(watch: {
  readonly clock: { after(ms: number, run: () => void): () => void }
  readonly read: () => Promise<readonly Item[]>
  readonly toName: (item: Item) => string
  /** Called once for each item. */
  readonly onAdded?: (items: readonly Item[]) => Promise<void>
  /** A later look failed; it is tried again. */
  readonly onProblem: (error: unknown) => void
}): Promise<{ has(name: string): boolean; close(): void }> {
  const { clock, toName, onAdded, onProblem, read } = watch
  const known = new Set<string>()
  let isClosed = false
  let cancel: (() => void) | undefined
  const look = async (): Promise<void> => {
    const added = (await read()).filter((item) => !known.has(toName(item)))
    if (added.length === 0 || isClosed) return
    await onAdded?.(added)
    for (const item of added) known.add(toName(item))
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
