// Single tokens that were revoked by their `jti`: kept for good, read again and again by the running service, so that a
// revocation by the command is in force within a second.
import type { Clock } from '@tallystick/service-kit'
import { keepLooking } from '../domain/keep-looking.ts'
import type { SideRows } from './side-rows.ts'

/** How long a revocation by the command takes to be in force, milliseconds, at most. */
const REVOCATIONS_READ_MS = 1_000

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

/** The revoked tokens as the running service knows them. */
type RevokedTokens = { has(jti: string): boolean; close(): void }

/** Reads them, and goes on doing so. Rejects with RecordStoreUnavailable where they cannot be read at the start. */
export async function watchRevokedTokens(
  rows: SideRows,
  { clock, onProblem }: { readonly clock: Clock; readonly onProblem: (error: unknown) => void },
): Promise<RevokedTokens> {
  let revoked: ReadonlySet<string> = new Set()
  const look = async (): Promise<void> => {
    // Those that are known stay revoked while the rows cannot be read.
    revoked = new Set((await readRevocations(rows)).map(({ jti }) => jti))
  }
  const looking = await keepLooking({ clock, everyMs: REVOCATIONS_READ_MS, look, onProblem })
  return { has: (jti) => revoked.has(jti), close: () => looking.close() }
}
