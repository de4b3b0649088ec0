import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CareFixture, startCareFixture } from '../testing/care.fixture.ts'

const text = readFileSync(new URL('../../doc/verify.md', import.meta.url), 'utf8')
const script = /```sh\n(# replay\.sh[\s\S]*?)```/.exec(text)?.[1] ?? ''
const replay = (exported: string) =>
  spawnSync('sh', ['-c', script], { input: exported, encoding: 'utf8' })

const chain = { patient: 'ann', domain: 'medication', authorId: 'dr-"osei"\\müller' }
const values = [
  'One tablet.',
  'Nurse said: "no grapefruit"\nback\\slash\ttab \u0001 \u2028 /',
  'Früh 1 Tablette, 朝食後に一錠, صباحًا 💊',
  '","entry":"","preimage":"[","versionHash":"0"} {"kind":"version"',
  "it's $HOME `id` %s %d \\n",
]

let fixture: CareFixture
beforeEach(async () => {
  fixture = await startCareFixture({ isOnDisk: true })
  const facts = {
    authorLabel: 'x',
    audience: 'user',
    staleAfter: undefined,
    priority: undefined,
  } as const
  // Straight into the store: values from before may hold what is no longer taken.
  for (const value of values) await fixture.store.append({ ...chain, ...facts, value })
  await fixture.store.append({ ...chain, ...facts, value: '', status: 'wrong-person' })
})
afterEach(() => fixture.close())

const exported = async () => {
  const url = '/verify/export?uri=care://ann/medication'
  const headers = { authorization: `Bearer ${fixture.token('care.read.user')}` }
  return (await fixture.get(url, headers)).body
}

describe('/doc/verify: the exact bytes, and a shell script that replays a chain with sha256sum', () => {
  test('the example hashes to the documented hash', () => {
    const [, preimage = '', hash] =
      /```\n(\["0{64}".*\])\n```\n\nhashes to `([0-9a-f]{64})`/.exec(text) ?? []
    expect(execFileSync('sha256sum', { input: preimage, encoding: 'utf8' }).slice(0, 64)).toBe(hash)
  })

  test('INTACT: every version of an export, whatever its values hold; C40: also one that withdraws', async () => {
    const newest = await fixture.store.latest({ ...chain, audience: 'user' })
    const { stdout, status } = replay(await exported())
    expect(newest.kind === 'found' && newest.record.versionHash).toBe(stdout.trimEnd().slice(-64))
    expect([stdout.replace(/[0-9a-f]{64}/, '#'), status]).toEqual([
      `INTACT: ${values.length + 1} version(s), newest #\n`,
      0,
    ])
  })

  test('BROKEN: an altered value, at its version', async () => {
    const { stdout, status } = replay((await exported()).replaceAll('朝食', '昼食'))
    expect([stdout, status]).toEqual(['BROKEN at version 3: it does not hash to its hash\n', 1])
  })

  test('BROKEN: a removed version', async () => {
    const lines = (await exported()).split('\n')
    const second = lines.findIndex((line) => line.includes('"version":2,'))
    const { stdout } = replay(lines.filter((_, index) => index !== second).join('\n'))
    expect(stdout).toBe('BROKEN at version 2: it does not name the version before\n')
  })

  test('BROKEN: a version that the service itself could not provide', async () => {
    await fixture.tamper({ ...chain, audience: 'user' }, 2, (entry) => entry.replace('no', 'so'))
    expect(replay(await exported()).stdout).toContain('BROKEN at version 2')
  })
})
