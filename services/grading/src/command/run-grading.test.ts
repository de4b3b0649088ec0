import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createTokenKeys, verifyToken } from '@tallystick/jwt-lite'
import { manualClock } from '@tallystick/service-kit'
import { explainsItsVerbs } from '@tallystick/service-kit/command-contract'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { syntheticFixtures } from '../seed/synthetic-fixtures.ts'
import { runGrading } from './run-grading.ts'

const NOW_MS = 1_780_000_000_000
const SECRET = 'a secret that is long enough for HS256, really'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grading-command-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function grading(args: readonly string[], stdin: readonly Uint8Array[] = []) {
  const [out, err]: [string[], string[]] = [[], []]
  const code = await runGrading({
    arguments: args,
    environment: { DATABASE_PATH: join(folder, 'grading.db'), TOKEN_SECRET: SECRET },
    clock: manualClock(NOW_MS),
    stdin: (async function* () {
      yield* stdin
    })(),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
  })
  return { code, out: out.join('\n'), err: err.join('\n'), lines: out }
}

explainsItsVerbs('grading', async (list) => {
  const { code, out } = await grading(list)
  return { code, text: out }
})

const table = Buffer.from(
  syntheticFixtures({ nowSeconds: NOW_MS / 1_000, pastMatches: 30, comingMatches: 2 }),
)

/** A file with that name and content. */
const named = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

/** One result of the event with that name. */
const upload = (name: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      events: [
        {
          event: `soccer/epl.20260528.${name}`,
          league: 'EPL',
          home: 'Arsenal',
          away: 'Chelsea',
          starts_at: '2026-05-28T18:00:00Z',
          outcomes: [{ status: 'final', score: { home: 2, away: 1 } }],
        },
      ],
    }),
  )

test('import reads a file, plain, gzip or from standard input, reports what it did, and does nothing twice', async () => {
  const file = join(folder, 'table.csv.gz')
  writeFileSync(file, gzipSync(table))
  const first = await grading(['import', file])
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toMatch(/32 events read in .* s/)
  expect(first.out).toMatch(
    /new: 32 events; entries: 32 of early prices, 30 closes, 30 results \(0 corrections\)/,
  )
  const again = await grading(['import', '-'], [table])
  expect(again).toMatchObject({
    code: 0,
    out: '-: these very bytes were imported before; nothing to do.',
  })
})

test('an import names the columns that it does not read', async () => {
  const fixtures =
    'Div,Date,HomeTeam,AwayTeam,Referee,B365H,B365D,B365A,BWH,BWD,BWA\nE0,28/11/2026,Leeds,Everton,,2,3.4,4,2,3.4,4\n'
  const { out } = await grading(['import', '-'], [Buffer.from(fixtures)])
  expect(out).toMatch(/columns not read: Referee, BWH, BWD, BWA\./)
})

test('unreadable input is reported, and nothing is imported', async () => {
  expect(await grading(['import'])).toMatchObject({ code: 2 })
  expect(await grading(['import', join(folder, 'none.csv')])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/cannot be read/) as string,
  })
  expect(await grading(['import', '-'], [Buffer.from('hello')])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/neither JSON nor a CSV/) as string,
  })
  expect(await grading(['import', '-', '--stage', 'soon'])).toMatchObject({ code: 2 })
  expect(await grading(['fly'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/verbs are: import/) as string,
  })
})

test('the first bad file ends a run, which reports what was imported and what was not tried', async () => {
  const empty = named('empty.json', '[]')
  const good = named('good.json', upload('ars-che'))
  const bad = named('bad.json', 'hello')
  const last = named('last.json', upload('liv-mci'))
  expect(await grading(['import', empty, good, bad, last])).toMatchObject({
    code: 1,
    out: expect.stringMatching(/good\.json: 1 events read/) as string,
    err: `${bad}: neither JSON nor a CSV with a football-data.co.uk header.\nIn the ledger: ${good}. Not tried: ${last}.`,
  })
  expect(await grading(['import', good, bad])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/\nIn the ledger: .*good\.json\.$/) as string,
  })
  // Nothing was imported, as for a mistake in the call itself.
  expect(await grading(['import', bad, last])).toMatchObject({ code: 2 })
  expect((await grading(['verify'])).out).toMatch(/^INTACT: 1 entries/)
})

test('a file that unpacks to more than 256 MiB is refused before it is unpacked', async () => {
  const piece = gzipSync(Buffer.alloc(64 * 1_048_576, '0'), { level: 1 })
  const bomb = Buffer.concat(Array.from({ length: 5 }, () => piece))
  expect(await grading(['import', '-'], [bomb])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/unpacks to more than 256 MiB/) as string,
  })
})

test('the same bytes read as final closes are another payload', async () => {
  const startsAt = new Date(NOW_MS).toISOString()
  const updated = new Date(NOW_MS - 120_000).toISOString()
  const bytes = Buffer.from(
    JSON.stringify({
      timestamp: updated,
      data: [
        {
          id: 'a',
          sport_key: 'basketball_nba',
          commence_time: startsAt,
          home_team: 'Hawks',
          away_team: 'Bulls',
          bookmakers: [
            {
              key: 'pinnacle',
              last_update: updated,
              markets: [
                { key: 'h2h', outcomes: ['Hawks', 'Bulls'].map((name) => ({ name, price: 2 })) },
              ],
            },
          ],
        },
      ],
    }),
  )
  expect((await grading(['import', '-'], [bytes])).out).toMatch(/1 closes/)
  expect((await grading(['import', '-', '--stage', 'final'], [bytes])).out).toMatch(
    /1 closes, 0 results \(1 corrections\)/,
  )
  expect((await grading(['import', '-', '--stage', 'final'], [bytes])).out).toMatch(
    /imported before/,
  )
})

test('seed fills an empty ledger, marked as synthetic, and never touches another', async () => {
  expect((await grading(['seed'])).out).toMatch(/synthetic events imported: made up, and marked so/)
  expect((await grading(['seed'])).out).toMatch(/has entries already/)
  const { lines } = await grading(['export'])
  for (const line of lines.slice(0, 50)) expect(line).toMatch(/\\"isSynthetic\\":true/)
  expect((await grading(['verify'])).code).toBe(0)
})

test('an export is checked with nothing but itself; one altered letter breaks its entry, which is named', async () => {
  await grading(['import', '-'], [table])
  const { lines } = await grading(['export'])
  const file = join(folder, 'export.jsonl')
  writeFileSync(file, lines.join('\n'))
  const intact = await grading(['verify', file])
  expect(intact).toMatchObject({ code: 0 })
  expect(intact.out).toMatch(/^INTACT: 92 entries hash to the checkpoint of localhost:3003\/ledger/)
  writeFileSync(
    file,
    lines
      .map((line, index) => (index === 40 ? line.replace('Synthetic', 'Synthetik') : line))
      .join('\n'),
  )
  expect(await grading(['verify', file])).toMatchObject({
    code: 1,
    out: 'BROKEN at entry 40: its text does not hash to its leaf.',
  })
  writeFileSync(file, lines.filter((_, index) => index !== 91).join('\n'))
  expect(await grading(['verify', file])).toMatchObject({
    code: 1,
    out: 'BROKEN at entry 91: the checkpoint has 92 entries.',
  })
})

test.each([['verify'], ['table'], ['export'], ['backup', 'copy.db'], ['accept-backup']])(
  'without a ledger %s says so, and creates none',
  async (...args) => {
    expect(await grading(args)).toMatchObject({
      code: 2,
      out: '',
      err: 'There is no ledger at DATABASE_PATH.',
    })
    expect(readdirSync(folder)).toEqual([])
  },
)

test('table prints each band and the regression', async () => {
  const many = Buffer.from(
    syntheticFixtures({ nowSeconds: NOW_MS / 1_000, pastMatches: 200, comingMatches: 0 }),
  )
  await grading(['import', '-'], [many])
  const { code, out } = await grading(['table', 'soccer/1x2'])
  expect(code).toBe(0)
  expect(out).toMatch(/^mechanical, fair basis, soccer\/1x2: \d+ settled picks on \d+ events$/m)
  expect(out).toMatch(/^ {2}A\+ +\d+ picks: [+-][\d.]+ % \([+-]/m)
  expect(out).toMatch(
    /^ {2}return = [+-][\d.]+ % \(± [\d.]+ %\) \+ -?[\d.]+ \(± [\d.]+\) × closing-line value$/m,
  )
  expect(out).toMatch(/^Scopes: all, soccer\/1x2, /m)
})

test('token mints a token that uploads accept', async () => {
  const { out } = await grading(['token', '--sub', 'desk'])
  const verdict = verifyToken(out, {
    keys: createTokenKeys([Buffer.from(SECRET)]),
    audience: 'http://localhost:3003',
    nowSeconds: NOW_MS / 1_000,
  })
  expect(verdict).toMatchObject({ claims: { sub: 'desk', scopes: ['grading.write'] } })
})

test('backup copies a ledger that can be verified', async () => {
  await grading(['import', '-'], [table])
  expect((await grading(['backup', join(folder, 'copy.db')])).out).toMatch(
    /copy\.db: written and checked/,
  )
  expect((await grading(['backup', join(folder, 'copy.db')])).code).toBe(1)
  // One of the two files already exists: neither is written.
  writeFileSync(join(folder, 'grading.db.payments'), '')
  writeFileSync(join(folder, 'other.db.payments'), 'mine')
  expect(await grading(['backup', join(folder, 'other.db')])).toMatchObject({ code: 1, out: '' })
  expect(readdirSync(folder)).not.toContain('other.db')
})

test('every verb refuses an older file in the ledger’s place until it is accepted; verify reports it', async () => {
  const ledger = join(folder, 'grading.db')
  await grading(['import', '-'], [table])
  await grading(['backup', join(folder, 'copy.db')])
  await grading(['import', '-'], [upload('ars-che')])
  copyFileSync(join(folder, 'copy.db'), ledger)

  for (const args of [['import', '-'], ['seed'], ['table'], ['export']])
    expect(await grading(args, [upload('ars-che')])).toEqual({
      code: 1,
      out: '',
      lines: [],
      err: 'the ledger is refused: its last signed checkpoint counts 93 entries, 92 of them are here. If a backup was restored on purpose, run "grading accept-backup"',
    })
  expect(await grading(['verify'])).toMatchObject({
    code: 1,
    out: 'BROKEN at entry 92: entries at the end are gone: the signed checkpoint counts 93.',
  })
  expect(await grading(['accept-backup'])).toMatchObject({
    code: 0,
    out: '92 entries accepted; the last checkpoint counted 93: 1 are given up.',
  })
  expect((await grading(['verify'])).out).toMatch(/^INTACT: 92 entries/)
  expect(await grading(['accept-backup'])).toMatchObject({
    code: 0,
    out: '92 entries accepted; the last checkpoint counted 92: none is given up.',
  })
})

test.each([
  ['a file that is not there', () => join(folder, 'nope.csv')],
  ['a file of another kind', () => named('other.txt', 'hello')],
  ['a file of which nothing can be taken', () => named('empty.json', '{"events":[]}')],
])('S15: an import of %s leaves no ledger behind', async (_, file) => {
  const path = file()
  const before = readdirSync(folder)
  const { code, err, out } = await grading(['import', path])
  expect(code).not.toBe(0)
  expect(err + out).toContain(path)
  expect(readdirSync(folder)).toEqual(before)
})

test('S15: what reads prints one JSON document with --json', async () => {
  await grading(['import', named('E0.csv', table)])
  const read = async (...list: string[]) => JSON.parse((await grading([...list, '--json'])).out)
  expect(await read('verify')).toEqual({
    isIntact: true,
    entries: expect.any(Number),
    rootHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(Object.keys(await read('table'))).toEqual(['scopes', 'columns'])
  const { out } = await grading(['export'])
  expect(await read('verify', named('export.ndjson', `${out}\n`))).toMatchObject({
    isIntact: true,
    verifierKey: expect.any(String),
  })
})
