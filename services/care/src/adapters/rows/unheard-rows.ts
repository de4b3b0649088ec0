// Corrections that nobody has heard yet, as rows that several processes share (C29).
import type { Lease } from '@tallystick/journal-store'
import type { StoredUnheard } from '../../domain/session-store.ts'
import type { UnheardRows } from '../../domain/shared-unheard.ts'
import type { SideRows } from './side-rows.ts'

const READ = 'SELECT uri, version, since_ms AS "sinceMs", language FROM mcp_unheard'
/** One that went unheard keeps its time. */
const KEEP = `INSERT INTO mcp_unheard VALUES ($1, $2, $3, $4)
  ON CONFLICT (uri) DO UPDATE SET version = excluded.version, language = excluded.language`
const JUDGED = `INSERT INTO mcp_judged VALUES (1, $1) ON CONFLICT (number) DO UPDATE SET place = excluded.place`

type Row = Omit<StoredUnheard, 'language'> & { readonly language: string | null }

/** Those that wait. */
export const readUnheard = async (read: SideRows['read']): Promise<readonly StoredUnheard[]> =>
  (await read<Row>(READ)).map(({ language, ...row }) => ({
    ...row,
    language: language ?? undefined,
  }))

export const openUnheardRows = (side: SideRows, lease: Pick<Lease, 'require'>): UnheardRows => ({
  read: async () => {
    const [waiting, judged] = await Promise.all([
      readUnheard(side.read),
      side.read<{ readonly place: number }>('SELECT place FROM mcp_judged'),
    ])
    return { waiting, judgedTo: judged[0]?.place }
  },
  judge: async ({ corrections, judgedTo }, epoch) => {
    await side.transaction((query) =>
      Promise.all([
        lease.require(query, epoch),
        ...corrections.map(({ language = null, sinceMs, uri, version }) =>
          query(KEEP, [uri, version, sinceMs, language]),
        ),
        query(JUDGED, [judgedTo]),
      ]),
    )
  },
  heard: async (uri, version) => {
    const sql = 'DELETE FROM mcp_unheard WHERE uri = $1 AND version <= $2'
    await side.transaction((query) => query(sql, [uri, version]))
  },
})
