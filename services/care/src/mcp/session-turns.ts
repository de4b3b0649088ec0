/**
 * Changes of the same thing of a session, one after the other: what one undoes because its commit failed is then its own, never
 * what a later one was answered. Changes of different things share commits.
 */
export class SessionTurns {
  /** The last of those under way, by what they change; no more than there are requests. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs at once if nothing of that name is under way. */
  async take<Result>(
    { number }: { readonly number: number },
    name: string,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const key = `${number} ${name}`
    const turn = this.#last.get(key)?.then(run, run) ?? run()
    this.#last.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}
