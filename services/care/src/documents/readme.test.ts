import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { careErrors } from '../errors.ts'
import { WRITE_SECRET } from '../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const call = /```sh\n(BODY=[\s\S]*?)```/.exec(readme)?.[1] ?? ''
const shown = /```json\n(\{"uri".*\})\n```/.exec(readme)?.[1] ?? ''
const hasTools = ['curl', 'openssl'].every(
  (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0,
)

let care: RunningCare
beforeAll(async () => {
  care = await startRunningCare()
})
afterAll(() => care.remove())

test.skipIf(!hasTools)(
  'README: the signed write is accepted, and answered in the shape shown (needs curl and openssl)',
  async () => {
    const script = call.replace('http://localhost:3002', care.url)
    const environment = { PATH: process.env['PATH'] ?? '', WRITE_SECRET }
    // Not the synchronous form: this process has to answer the request.
    const { stdout } = await promisify(execFile)('sh', ['-c', script], { env: environment })
    const [got, documented] = [JSON.parse(stdout), JSON.parse(shown)]
    expect(Object.keys(got)).toEqual(Object.keys(documented))
    expect(got).toMatchObject({ uri: documented.uri, version: 1, notified: false })
  },
)

test.skipIf(!hasTools)('README: the answer shown was a real one', () => {
  const { versionHash, writtenAt } = JSON.parse(shown)
  const body = JSON.parse(/BODY='(.*)'/.exec(call)?.[1] ?? '{}')
  const preimage = JSON.stringify(['0'.repeat(64), body.value, writtenAt, body.authorId])
  const hashed = execFileSync('openssl', ['dgst', '-sha256', '-r'], {
    input: preimage,
    encoding: 'utf8',
  })
  expect(hashed.slice(0, 64)).toBe(versionHash)
})

test('README: the table of errors has every code of errors.ts under its status', () => {
  const [, table = ''] = /## Errors of its own routes\n([\s\S]*?)\n## /.exec(readme) ?? []
  const listed = [...table.matchAll(/^\| (\d{3}) \| (.+?) \|/gm)].flatMap(
    ([, status, codes = '']) =>
      [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
  )
  const ofKit = ['400 invalid_request', '413 payload_too_large']
  const own = Object.entries(careErrors).map(([code, { status }]) => `${status} ${code}`)
  expect(listed.toSorted()).toEqual([...own, ...ofKit].toSorted())
})
