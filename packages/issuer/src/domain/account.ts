/** Whoever may sign in, and where such people come from. */
export type Account = {
  /** The `sub` of its tokens. */
  readonly id: string
  /** For the consent page. */
  readonly label: string
  /** All that its tokens may ever hold. */
  readonly scopes: readonly string[]
  /** As the ID token tells them. */
  readonly roles: readonly string[]
}

/** An upstream provider's people; no name in the users' file can begin so. */
export const UPSTREAM_PREFIX = 'up:'

/** The people of this server as they are now: rights are read at every token, so that taking one away holds from the next. */
export type Accounts = { find(id: string): Promise<Account | undefined> }
