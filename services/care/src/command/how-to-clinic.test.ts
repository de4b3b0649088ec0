// Every command of docs/how-to/run-a-clinic.md, in order, from an empty folder and an environment that has nothing but a path.
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '@tallystick/service-kit'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const document = readFileSync(join(root, 'docs/how-to/run-a-clinic.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'how-to-clinic-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const missing = ['bash', 'curl', 'openssl'].filter(
  (program) => spawnSync('which', [program]).status !== 0,
)

test.skipIf(missing.length > 0)(
  `C31, C33: a clinic’s how-to, followed from an empty machine${missing.length > 0 ? ` (no ${missing.join()})` : ''}`,
  async () => {
    const blocks = [...document.matchAll(/^```sh\n([^`]*)^```$/gm)].map(([, script = '']) => script)
    expect(blocks).toHaveLength(10)
    const script = [
      'trap \'kill "${CARE:-}" 2> /dev/null || true\' EXIT',
      ...blocks.flatMap((block, at) => [`printf '\\n## ${at}\\n'`, block]),
    ].join('\n')
    const environment = {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      // Only how soon a command starts depends on it.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      TALLYSTICK: root,
      PORT: String(await freePort()),
    }
    const { stdout } = await promisify(execFile)(
      'bash',
      ['--norc', '-euo', 'pipefail', '-c', script],
      {
        cwd: folder,
        env: environment,
      },
    )
    const said = (part: number): string => stdout.split(/^## \d+\n/m)[part + 1] ?? ''
    expect(said(2)).toMatch(/clinician\.html#token=\S+/)
    expect(said(3)).toMatch(
      /"version":2.*\n?.*"error":"version_conflict","version":2.*somebody was faster/s,
    )
    expect(said(3)).toContain('"uri":"care://heron/allergy","version":2')
    expect(said(4)).toContain('"uri":"care://heron/drops","versions":2,"intact":true')
    expect(said(5)).toContain('copies/keys.db: the keys of 2 chains')
    expect(said(6)).toContain('copies/keys.db: the keys of 2 chains')
    expect(said(8)).toMatch(/dr-osei\s+care:\/\/heron\/drops/)
    expect(said(9)).toContain('the values of 2 versions are gone for good')
    expect(said(9)).toContain('by dr-osei: retention of ten years ended')
    expect(said(9)).toContain('"versions":2,"intact":true,"erased":2')
    expect(said(9)).toContain('All 1 chain intact, 2 versions replayed.')
    // Nothing of the sentences is left, except in the proof that was exported on purpose.
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => name !== 'proof.ndjson' && statSync(join(folder, name)).isFile(),
    )
    for (const name of files)
      expect(readFileSync(join(folder, name)).toString('latin1')).not.toContain('twelve drops')
    const stored = files.filter((name) => /^(?:secrets|data|copies)/.test(name))
    expect(stored.length).toBeGreaterThan(10)
    expect(stored.filter((name) => (statSync(join(folder, name)).mode & 0o777) !== 0o600)).toEqual(
      [],
    )
  },
)
