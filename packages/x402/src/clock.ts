/** Time as a dependency, in the same shape as service-kit's, which this package does not import. */
export type Clock = {
  /** Unix time in milliseconds. */
  unixMs(): number
  /** Runs `run` once after `ms` milliseconds; the returned function cancels it. */
  after(ms: number, run: () => void): () => void
}
