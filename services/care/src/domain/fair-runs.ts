/** Limits of what runs at once. */
type FairRunsOptions = {
  readonly runningMax: number
  /** Per owner, so that one owner's hanging jobs do not hold up others. */
  readonly perOwnerMax: number
  /** Never rejects. */
  readonly run: (id: string) => Promise<void>
}

/** Runs named jobs concurrently within limits, each name once at a time; a job added while it runs is run again. */
export class FairRuns {
  readonly #options: FairRunsOptions
  /** Names with their owners, in the order in which they came. */
  readonly #ready = new Map<string, string>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #countOf = new Map<string, number>()
  #isStopped = false

  constructor(options: FairRunsOptions) {
    this.#options = options
  }

  add(id: string, owner: string): void {
    this.#ready.set(id, owner)
    this.#fill()
  }

  /** Begins nothing more, and resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running.values())
  }

  #fill(): void {
    const { perOwnerMax, runningMax } = this.#options
    if (this.#isStopped) return
    for (const [id, owner] of this.#ready) {
      if (this.#running.size >= runningMax) return
      const count = this.#countOf.get(owner) ?? 0
      if (this.#running.has(id) || count >= perOwnerMax) continue
      this.#ready.delete(id)
      this.#countOf.set(owner, count + 1)
      this.#running.set(id, this.#run(id, owner))
    }
  }

  async #run(id: string, owner: string): Promise<void> {
    await this.#options.run(id)
    this.#running.delete(id)
    const count = (this.#countOf.get(owner) ?? 1) - 1
    if (count > 0) this.#countOf.set(owner, count)
    else this.#countOf.delete(owner)
    this.#fill()
  }
}
