// Single tokens revoked by their `jti`, kept for good.
import type { SideRows } from './side-rows.ts'

type Revocation = {
  readonly jti: string
  /** ISO 8601. */
  readonly at: string
  readonly actor: string
  readonly reason: string
}

export async function addRevocation(
  rows: SideRows,
  { jti, at, actor, reason }: Revocation,
): Promise<void> {
  const sql =
    'INSERT INTO revoked_tokens (jti, at, actor, reason) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'
  await rows.transaction((query) => query(sql, [jti, at, actor, reason]))
}

export const readRevocations = (rows: SideRows): Promise<readonly Revocation[]> =>
  rows.read<Revocation>('SELECT jti, at, actor, reason FROM revoked_tokens ORDER BY at, jti')
