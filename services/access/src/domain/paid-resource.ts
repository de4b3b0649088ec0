/** What a granted call is served: any JSON. */
export type PaidResourceReader = {
  /** Throws ResourceUnavailable; nothing has been metered or settled by then. */
  read(): Promise<unknown>
}

/** The resource's source was unreachable or slow, too large, or not JSON. */
export class ResourceUnavailable extends Error {
  override readonly name = 'ResourceUnavailable'
}
