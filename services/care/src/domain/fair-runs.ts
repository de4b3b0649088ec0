/** Limits on concurrent jobs. */
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
  readonly #running = new Map<string, { readonly owner: string; readonly ended: Promise<void> }>()
  #isStopped = false

  constructor(options: FairRunsOptions) {
    this.#options = options
  }

  add(id: string, owner: string): void {
    this.#ready.set(id, owner)
    this.#fill()
  }

  /** Starts no more jobs, and resolves when none runs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(Array.from(this.#running.values(), ({ ended }) => ended))
  }

  #fill(): void {
    const { perOwnerMax, runningMax } = this.#options
    if (this.#isStopped) return
    for (const [id, owner] of this.#ready) {
      if (this.#running.size >= runningMax) return
      const own = [...this.#running.values()].filter((run) => run.owner === owner)
      if (this.#running.has(id) || own.length >= perOwnerMax) continue
      this.#ready.delete(id)
      this.#running.set(id, { owner, ended: this.#run(id) })
    }
  }

  async #run(id: string): Promise<void> {
    await this.#options.run(id)
    this.#running.delete(id)
    this.#fill()
  }
}
