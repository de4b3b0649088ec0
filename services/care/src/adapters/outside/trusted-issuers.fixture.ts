// Issuers on loopback, and what care makes of their tokens, on a clock that a test moves.
import { createTokenKeys, createTokenVerifier } from '@tallystick/jwt-lite'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import { trustedIssuers } from '../../domain/trusted-issuer.ts'
import type { TokenCheck } from '../../routes/bearer.ts'
import {
  ISSUER_AUDIENCE,
  type IssuerFixture,
  type IssuerKey,
  issuerKey,
  startIssuer,
} from '../../testing/issuer.fixture.ts'
import type { IssuerUnavailable } from './issuer-keys.ts'
import { createTrustedIssuers } from './trusted-issuers.ts'

export const START_MS = Date.UTC(2026, 10, 21, 12)
export const SECRET = Buffer.from('token-secret-for-tests-0123456789abcdef')

const keys: Record<string, IssuerKey> = {}
/** By its name: an algorithm, or `next`. */
export const findKey = (name: string): IssuerKey => {
  const key = keys[name]
  if (key === undefined) throw new Error(name)
  return key
}

/** Registers the hooks of a file: each test has its own clock, issuers and revocations. */
export function useTrustedIssuers() {
  const opened: IssuerFixture[] = []
  const on = {
    clock: manualClock(START_MS),
    problems: [] as IssuerUnavailable[],
    revoked: new Set<string>(),
    processes: 1,
    open: async (names: readonly string[] = ['ES256']): Promise<IssuerFixture> => {
      const issuer = await startIssuer(names.map(findKey))
      opened.push(issuer)
      return issuer
    },
    trust: (entries: readonly object[], audience = ISSUER_AUDIENCE): TokenCheck => {
      const { clock, problems, revoked } = on
      const withIssuers = createTrustedIssuers({
        issuers: trustedIssuers.parse(entries),
        clock,
        isRevoked: ({ jti }) => jti !== undefined && revoked.has(jti),
        countProcesses: () => on.processes,
        onProblem: (error) => problems.push(error),
      })
      const ring = createTokenVerifier({ keys: createTokenKeys([SECRET]), audience, clock })
      return withIssuers(ring, audience)
    },
  }
  beforeAll(async () => {
    for (const alg of ['RS256', 'ES256', 'EdDSA', 'ES384']) keys[alg] = await issuerKey(alg, alg)
    keys['next'] = await issuerKey('ES256', 'next')
  })
  beforeEach(() => {
    on.clock = manualClock(START_MS)
    on.problems = []
    on.revoked = new Set()
    on.processes = 1
  })
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close()
  })
  return on
}
