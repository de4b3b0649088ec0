/** People who may sign in, and where they come from. */
export type Account = {
  /** The `sub` of its tokens. */
  readonly id: string
  /** For the consent page. */
  readonly label: string
  /** The most that its tokens may hold. */
  readonly scopes: readonly string[]
  /** As in the ID token. */
  readonly roles: readonly string[]
}

/** Begins upstream people's ids; no name in the users' file can begin so. */
export const UPSTREAM_PREFIX = 'up:'

/** This server's people as they are now: each token reads the rights anew, so a removed right is gone from the next one. */
export type Accounts = { find(id: string): Promise<Account | undefined> }
