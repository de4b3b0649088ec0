/** People who may sign in, and where they come from. */
export type Account = {
  /** The `sub` of its tokens. */
  readonly id: string
  /** Changes with each password and sign-out, and for a namesake: what began under others finds nobody (C49). */
  readonly credentials: string
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

/**
 * These begin with a sign-in: a session, a code, a refresh token. The library carries `acr` from one to the next; this server has
 * no classes of authentication, so it is the credentials that were used.
 */
export type Begun = { readonly accountId?: string | undefined; readonly acr?: string | undefined }

/** The person of a sign-in; nobody if it began under credentials that have ended. */
export async function findBegunBy(
  accounts: Accounts,
  { accountId, acr }: Begun,
): Promise<Account | undefined> {
  const account = accountId === undefined ? undefined : await accounts.find(accountId)
  return account?.credentials === acr ? account : undefined
}
