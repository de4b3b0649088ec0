/**
 * `GET /principal`: the holder of a token, and its rights. Pages ask for them because another issuer's token does not state
 * them (C23).
 */
import { z } from 'zod'

export const principalAnswer = z.object({
  sub: z.string().describe('The principal: author of what it writes.'),
  scopes: z
    .array(z.string())
    .readonly()
    .describe('What it may do, by the token’s own scopes and by what its issuer’s claims grant.'),
  label: z
    .string()
    .optional()
    .describe(
      'The name that is shown under what it writes, where the service and not the writer decides (BEARER_AUTHOR=sub).',
    ),
  expiresAt: z.string().describe('ISO 8601.'),
})

export type PrincipalAnswer = z.infer<typeof principalAnswer>

/** What a page is told, in its head, about where people sign in. */
export type SignInFacts = {
  /** The MCP address, which tokens are for. */
  readonly resource: string
  readonly issuers: readonly {
    readonly issuer: string
    /** What these pages are called there; if absent, they register themselves. */
    readonly clientId?: string | undefined
    /** What they ask for there; if absent, scopes of this service. */
    readonly scopes?: readonly string[] | undefined
    /** Whether its tokens are for an audience that it has configured, and not for `resource`. */
    readonly hasOwnAudience: boolean
  }[]
}
