// Every command of docs/how-to/postgres.md, in order, against real servers: one, and what it is restored to.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { howToMissing, openHowTo, root, skipWord, socketUrl } from './how-to-shell.fixture.ts'

/** An export of an earlier release comes under keys of its chains. */
const SEALED_RECORDS = 'export DATABASE_PATH=care.db; care import care-export.ndjson'
const KEYS_PORT = 5434

const openPage = () =>
  openHowTo('postgres.md', (server) => {
    const url = (role: string) => socketUrl(server, { role })
    const keysUrl = (role: string, database: string) =>
      socketUrl(server, { role, database, ports: [KEYS_PORT] })
    return {
      ADMIN_URL: url('postgres'),
      CARE_URL: url('care_app'),
      GRADING_URL: url('grading_app'),
      KEYS_ADMIN_URL: keysUrl('postgres', 'postgres'),
      KEYS_URL: keysUrl('care_keys', 'chain_keys'),
      SEAL_KEYS: `key-1:${Buffer.alloc(32, '1').toString('base64')}`,
      DATA: join(server, 'data'),
      ARCHIVE: join(server, 'archive'),
      BACKUP: join(server, 'backup'),
      RESTORED: join(server, 'restored'),
      KEYS_DATA: join(server, 'keys'),
      KEYS_OPTIONS: `-p ${KEYS_PORT} -k ${server} -c listen_addresses=''`,
    }
  })

let page: ReturnType<typeof openPage> | undefined
afterAll(() =>
  page?.remove(['restored', 'keys', 'data'].map((name) => join(page?.serverFolder ?? '', name))),
)

test.skipIf(howToMissing !== undefined)(
  `every command of the how-to does what it says${skipWord}`,
  async () => {
    page = openPage()
    const { folder, importMatch, reader, server, serverFolder } = page
    const options = `-k ${serverFolder} -c listen_addresses=''`
    server(`mkdir "$ARCHIVE"
      initdb -D "$DATA" -U postgres --auth=trust -E UTF8 --locale=C --no-sync >/dev/null
      echo "unix_socket_directories = '${serverFolder}'" >> "$DATA/postgresql.conf"
      echo "listen_addresses = ''" >> "$DATA/postgresql.conf"
      pg_ctl -D "$DATA" -w -l "$DATA.log" -o "${options}" start >/dev/null
      createdb -h ${serverFolder} -U postgres tallystick`)
    const [setUp, keys, move, back, care, copyKeys, ...later] = page.blocks
    const [backUp, name, restore, verify, accept, ...others] = later
    if (accept === undefined || others.length > 0) throw new Error('the how-to has other blocks')
    setUp?.()
    keys?.()
    for (const event of ['one', 'two', 'three']) await importMatch(event)
    expect(move?.()).toMatch(/3 entries moved, root [0-9a-f]{64}\.\n[^]*INTACT: 3/)
    expect(back?.()).toMatch(/3 entries moved[^]*INTACT: 3/)
    const records = 'services/care/src/adapters/records/stored/care-export.ndjson'
    copyFileSync(join(root, records), join(folder, 'care-export.ndjson'))
    reader(SEALED_RECORDS)
    expect(care?.()).toMatch(/user: \d+ entries moved[^]*assistant: \d+ entries moved/)
    expect(copyKeys?.()).toMatch(/keys of \d+ chains[^]*does not have[^]*are restored/)
    const database = { DATABASE_URL: socketUrl(serverFolder, { role: 'grading_app' }) }
    backUp?.()
    await importMatch('four', database)
    name?.()
    await importMatch('mistake', database)
    restore?.()
    expect(verify?.()).toMatch(/BROKEN at entry 4: entries at the end are gone/)
    expect(accept()).toMatch(/4 entries accepted; [^]* 1 are given up\.\nINTACT: 4 entries/)
  },
)
