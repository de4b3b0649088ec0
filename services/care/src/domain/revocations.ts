/** Which tokens an operator refuses: single ones by their `jti`, and all of a principal's that were issued until then (C51). */
import type { IsRevoked } from '@tallystick/jwt-lite'
import { parseIsoTime } from '@tallystick/service-kit/clock'
import { watchAdded } from './watch-added.ts'

/** Begins the name of a row that is of a principal. A `jti` of an issuer begins with its address; the ring's are the operator's. */
const PRINCIPAL = /^principal (\S+) ([^]*)$/

/** Under which name a principal's revocation stands beside those by `jti`: with its time, since each later one holds again. */
export const principalRow = (sub: string, at: string): string => `principal ${at} ${sub}`

/** The principal of a row; undefined for a row that is of one token. */
export const principalIn = (name: string): string | undefined => PRINCIPAL.exec(name)?.[2]

type Row = { readonly jti: string; readonly at: string }

/** Follows the list that commands extend. Rejects if it cannot be read at first. */
export async function watchRevocations(
  watch: Pick<Parameters<typeof watchAdded<Row>>[0], 'clock' | 'read' | 'onProblem'>,
): Promise<{ readonly isRevoked: IsRevoked; close(): void }> {
  const untilSecondsBySub = new Map<string, number>()
  const watched = await watchAdded({
    ...watch,
    toName: ({ jti }) => jti,
    onAdded: async (rows) => {
      for (const { jti, at } of rows) {
        const sub = principalIn(jti)
        const untilSeconds = (parseIsoTime(at) ?? Number.POSITIVE_INFINITY) / 1_000
        if (sub !== undefined)
          untilSecondsBySub.set(sub, Math.max(untilSeconds, untilSecondsBySub.get(sub) ?? 0))
      }
    },
  })
  return {
    isRevoked: ({ jti, sub, issuedAtSeconds = 0 }) => {
      const untilSeconds = untilSecondsBySub.get(sub)
      const isOld = untilSeconds !== undefined && issuedAtSeconds <= untilSeconds
      return isOld || (jti !== undefined && watched.has(jti))
    },
    close: () => watched.close(),
  }
}
