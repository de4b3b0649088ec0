// Tokens revoked by their `jti`, or with all of their principal's, kept for good.
import { principalRow } from '../../domain/revocations.ts'
import type { SideRows } from './side-rows.ts'

type Deed = {
  /** ISO 8601. */
  readonly at: string
  readonly actor: string
  readonly reason: string
}

type Revocation = Deed & {
  /** Of a token, or what `principalRow` makes of a principal. */
  readonly jti: string
}

const ADD =
  'INSERT INTO revoked_tokens (jti, at, actor, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'

export async function addRevocation(
  rows: SideRows,
  { jti, at, actor, reason }: Revocation,
): Promise<void> {
  await rows.transaction((query) => query(ADD, [jti, at, actor, reason]))
}

/** Revokes all tokens of a principal, and those that its event subscriptions rest on, whose time is not kept. */
export async function addPrincipalRevocation(
  rows: SideRows,
  { sub, at, actor, reason }: Deed & { readonly sub: string },
): Promise<void> {
  const subscribed = `INSERT INTO revoked_tokens (jti, at, actor, reason)
    SELECT DISTINCT jti, $1, $2, $3 FROM event_subscriptions WHERE sub = $4 AND jti IS NOT NULL
    ON CONFLICT DO NOTHING`
  await rows.transaction(async (query) => {
    await query(ADD, [principalRow(sub, at), at, actor, reason])
    await query(subscribed, [at, actor, reason, sub])
  })
}

export const readRevocations = (rows: SideRows): Promise<readonly Revocation[]> =>
  rows.read<Revocation>('SELECT jti, at, actor, reason FROM revoked_tokens ORDER BY at, jti')

const isFound = async (
  rows: SideRows,
  where: string,
  value: string | Uint8Array,
): Promise<boolean> =>
  (await rows.read(`SELECT 1 AS found FROM ${where} = $1 LIMIT 1`, [value])).length > 0

/** Whether a principal has a session, a subscription, or has written or read here. */
export async function hasSeenPrincipal(rows: SideRows, sub: string): Promise<boolean> {
  const cell = rows.textCell(sub)
  return (
    (await isFound(rows, 'mcp_sessions WHERE sub', cell)) ||
    (await isFound(rows, 'event_subscriptions WHERE sub', sub)) ||
    (await isFound(rows, 'audit_rows WHERE actor', cell)) ||
    (await isFound(rows, 'read_rows WHERE actor', sub))
  )
}

/** Whether an event subscription rests on the token of that `jti`; others leave no row. */
export const hasSeenToken = (rows: SideRows, jti: string): Promise<boolean> =>
  isFound(rows, 'event_subscriptions WHERE jti', jti)
