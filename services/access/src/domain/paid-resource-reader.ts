/** The port through which the domain reads what is sold: nothing is metered, and no payment is settled, for a resource that
 * cannot be read. */

/** Reads what a granted call receives: any JSON. */
export type PaidResourceReader = {
  /** Throws ResourceUnavailable. */
  read(): Promise<unknown>
  /** Begins the next read if calls share it, so that it leaves together with the read of a window. */
  warm?(): void
}

/** The resource's source did not answer in time, or answered too much, or no JSON. */
export class ResourceUnavailable extends Error {
  override readonly name = 'ResourceUnavailable'
}
