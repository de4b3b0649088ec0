// Every command of docs/how-to/several-machines.md, in order: a primary, two standbys, and who of them leads next.
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { howToMissing, openHowTo, skipWord, socketUrl } from './how-to-shell.fixture.ts'

const SERVERS = ['one', 'two', 'three'] as const
const PORTS = { one: 5432, two: 5433, three: 5435 } as const

/** A standby is away for two segments of the log more than a bound of three allows; each commit waits for the other one. */
const FALL_BEHIND = `
pg_ctl -D "$TWO" -m immediate stop
psql "$ONE_URL" -c "ALTER SYSTEM SET max_slot_wal_keep_size = '48MB'" -c 'SELECT pg_reload_conf()'
for segment in 1 2 3 4 5; do
  psql "$ONE_URL" -c "SELECT pg_logical_emit_message(true, 'a', 'commit')" -c 'SELECT pg_switch_wal()'
done
psql "$ONE_URL" -c "SELECT pg_logical_emit_message(true, 'a', 'commit')" -c CHECKPOINT
psql "$ONE_URL" -c "ALTER SYSTEM SET max_slot_wal_keep_size = '10GB'" -c 'SELECT pg_reload_conf()'`

const openPage = () =>
  openHowTo('several-machines.md', (server) =>
    Object.fromEntries(
      SERVERS.flatMap((name) => {
        const [variable, port] = [name.toUpperCase(), PORTS[name]]
        return [
          [variable, join(server, name)],
          [`${variable}_OPTIONS`, `-p ${port} -k ${server} -c listen_addresses='' -c fsync=off`],
          [`${variable}_URL`, socketUrl(server, { role: 'postgres', ports: [port] })],
          [`REACH_${variable}`, `host=${server} port=${port} user=postgres`],
        ]
      }),
    ),
  )

let page: ReturnType<typeof openPage> | undefined
afterAll(() => page?.remove(SERVERS.map((name) => join(page?.serverFolder ?? '', name))))

test.skipIf(howToMissing !== undefined)(
  `C44: every command of the how-to does what it says, and nothing acknowledged is lost${skipWord}`,
  async () => {
    page = openPage()
    const { importMatch, reader, server, serverFolder } = page
    const [first, standbys, lag, copyAnew, stop, promote, follow, rewind, ...others] = page.blocks
    if (rewind === undefined || others.length > 0) throw new Error('the how-to has other blocks')
    const DATABASE_URL = socketUrl(serverFolder, {
      role: 'grading_app',
      ports: Object.values(PORTS),
    })
    const verify = () => reader(`DATABASE_URL='${DATABASE_URL}' grading verify`)
    first?.()
    reader('DATABASE_URL="$ONE_URL" grading migrate')
    standbys?.()
    await importMatch('one', { DATABASE_URL })
    expect(lag?.()).toMatch(/^three\|streaming\|reserved\|.*\ntwo\|streaming\|reserved\|/)
    server(FALL_BEHIND)
    await importMatch('away', { DATABASE_URL })
    expect(lag?.()).toMatch(/^three\|streaming\|reserved\|.*\ntwo\|away\|lost\|\n/)
    copyAnew?.()
    stop?.()
    expect(promote?.()).toMatch(/two\|[0-9A-F]+\/[0-9A-F]+\nthree\|[0-9A-F]+\/[0-9A-F]+/)
    // The promoted one keeps the rule: alone it acknowledges nothing.
    const waits = `timeout 2 psql "$THREE_URL" -c 'CREATE TABLE alone ()' || echo it waits`
    expect(server(waits)).toContain('it waits')
    follow?.()
    await importMatch('two', { DATABASE_URL })
    rewind()
    await importMatch('three', { DATABASE_URL })
    expect(verify()).toMatch(/INTACT: 4 entries/)
    // And the next failover finds the rule again, whoever is promoted.
    for (const name of ['ONE', 'TWO', 'THREE'])
      expect(server(`psql "$${name}_URL" -Atc 'SHOW synchronous_standby_names'`)).toBe(
        'ANY 1 (one, two, three)\n',
      )
    server(`pg_ctl -D "$THREE" -m immediate stop
      pg_ctl -D "$ONE" -w promote
      psql "$ONE_URL" -c "SELECT pg_create_physical_replication_slot('two')"
      echo "primary_conninfo = '$REACH_ONE application_name=two'" >> "$TWO/postgresql.auto.conf"
      pg_ctl -D "$TWO" reload`)
    await importMatch('four', { DATABASE_URL })
    expect(verify()).toMatch(/INTACT: 5 entries/)
  },
)
