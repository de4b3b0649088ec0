import { createHash, randomUUID } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { createTokenKeys, verifyToken } from '@tallystick/jwt-lite'
import { manualClock, systemClock } from '@tallystick/service-kit'
import { explainsItsVerbs } from '@tallystick/service-kit/command-contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  makeStoreFolder,
  type StoreFolder,
  TEST_START_MS,
} from '../adapters/records/sqlite-store.fixture.ts'
import { storeRecord, TEST_SEED } from '../adapters/records/sqlite-store-samples.fixture.ts'
import { openAuditTrail } from '../adapters/rows/audit-rows.ts'
import { openSqliteSideRows } from '../adapters/rows/side-rows.ts'
import { sessionsPath } from '../adapters/schemas/sqlite-record-database.ts'
import { runCare } from './run-care.ts'

const SECRET = 'a token secret of more than thirty-two bytes'
const SEAL_KEYS = `key-1:${Buffer.alloc(32, 1).toString('base64')}`

describe('the care command', () => {
  let folder: StoreFolder
  let environment: Record<string, string>
  beforeEach(async () => {
    folder = makeStoreFolder()
    environment = {
      DATABASE_PATH: folder.databasePath,
      CHECKPOINT_KEY: Buffer.from(TEST_SEED).toString('base64'),
      BASE_URL: 'https://care.test',
      TOKEN_SECRET: SECRET,
    }
    const store = await folder.open()
    for (const value of ['one', 'two']) await store.append(storeRecord({ value }))
    await store.append(storeRecord({ domain: 'plan', audience: 'assistant', value: 'internal' }))
    await store.close()
  })
  afterEach(() => {
    folder.remove()
  })

  let nowMs = TEST_START_MS
  const care = async (list: readonly string[], input = '') => {
    const output: string[] = []
    const errors: string[] = []
    const code = await runCare({
      arguments: list,
      environment,
      // Stands still, but lets pauses end.
      clock: { ...systemClock, unixMs: () => nowMs },
      stdin: (async function* () {
        yield Buffer.from(input)
      })(),
      print: (line) => output.push(line),
      printError: (line) => errors.push(line),
    })
    return { code, output, text: output.join('\n'), errors: errors.join('\n') }
  }

  explainsItsVerbs('care', care)

  describe('verify', () => {
    it('replays an export from standard input and exits 0', async () => {
      const exported = await care(['export'])
      expect(exported.code).toBe(0)
      const { code, output } = await care(['verify', '-'], exported.text)
      expect(code).toBe(0)
      expect(output).toContain('INTACT  care://ann/tea  2 versions')
      expect(output).toContain('All 2 chains intact, 3 versions replayed.')
    })

    it('C45: a value from before may hold any character, and none of them controls the terminal', async () => {
      const value = 'one\u2028two\u2029three\u0085\r\n\u001b[2J\u009b2J\u202e'
      await (await folder.open()).append(storeRecord({ value }))
      const { text } = await care(['export'])
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e]/u)
      expect((await care(['verify', '-'], text)).code).toBe(0)
    })

    it('needs nothing from the service’s environment', async () => {
      const { text } = await care(['export'])
      environment = {}
      expect((await care(['verify', '-'], text)).code).toBe(0)
    })

    it('exits 1 and names the version if a chain is broken', async () => {
      const { text } = await care(['export', '--audience', 'user'])
      const { code, output } = await care(['verify', '-'], text.replaceAll('two', 'owt'))
      expect(code).toBe(1)
      expect(output).toContain('BROKEN  care://ann/tea  at version 2 of 2 (leaf)')
      expect(output).toContain('CHAIN BROKEN: 1 of 1 chain, 0 other problems.')
    })

    it('--json gives the full report, --key pins the signer', async () => {
      const { text } = await care(['export', '--audience', 'user'])
      const report = JSON.parse((await care(['verify', '-', '--json'], text)).text)
      expect(report).toMatchObject({ isIntact: true, versions: 2, problems: [] })
      const key: string = report.journals[0].verifierKey
      expect((await care(['verify', '-', '--key', key], text)).code).toBe(0)
      const other = key.replace('care.test', 'evil.test')
      expect((await care(['verify', '-', '--key', other], text)).code).toBe(1)
    })

    it('exits 2 for a file that is not an export', async () => {
      expect(await care(['verify', '-'], 'hello')).toMatchObject({
        code: 2,
        errors: 'line 1 is not JSON.',
      })
      expect((await care(['verify', '/nonexistent/file'])).code).toBe(2)
      expect((await care(['verify'])).code).toBe(2)
    })
  })

  describe('export', () => {
    it('holds only the requested audience', async () => {
      const { text } = await care(['export', '--audience', 'user'])
      expect(text).toContain('two')
      expect(text).not.toContain('internal')
    })

    it('--uri takes one chain', async () => {
      const { text } = await care(['export', '--uri', 'care-internal://ann/plan'])
      expect(text).toContain('internal')
      expect((await care(['verify', '-'], text)).code).toBe(0)
      expect((await care(['export', '--uri', 'http://ann/plan'])).code).toBe(2)
    })

    it('as a FHIR bundle holds internal records only if they are asked for', async () => {
      const documents = async (...list: readonly string[]) => {
        const { code, text } = await care(['export', '--fhir', 'collection', ...list])
        expect(code).toBe(0)
        const { entry } = JSON.parse(text) as { entry: { resource: { resourceType: string } }[] }
        return entry.filter(({ resource }) => resource.resourceType === 'DocumentReference').length
      }
      expect(await documents()).toBe(2)
      expect(await documents('--audience', 'all')).toBe(3)
      expect(await documents('--uri', 'care-internal://ann/plan', '--audience', 'assistant')).toBe(
        1,
      )
      expect((await care(['export', '--fhir', 'batch'])).errors).toContain('--fhir takes')
    })

    it('C8: every preimage hashes to its version hash, as sha256sum would', async () => {
      const { output } = await care(['export'])
      const versions = output
        .map((line) => JSON.parse(line))
        .filter(({ kind }) => kind === 'version')
      expect(versions).toHaveLength(3)
      for (const { preimage, versionHash } of versions)
        expect(createHash('sha256').update(preimage).digest('hex')).toBe(versionHash)
    })

    it('--output writes a file for its owner only, and overwrites nothing', async () => {
      const file = `${folder.databasePath}.ndjson`
      expect((await care(['export', '--output', file])).code).toBe(0)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      expect((await care(['verify', file])).code).toBe(0)
      expect((await care(['export', '--output', file])).code).toBe(2)
    })

    it('runs beside the service', async () => {
      const store = await folder.open()
      await store.append(storeRecord({ value: 'three' }))
      expect((await care(['export'])).text).toContain('three')
      await store.close()
    })
  })

  it('token mints tokens that the service accepts (C20)', async () => {
    const minted = await care(['token', '--sub', 'me', '--scope', 'care.read.user care.write'])
    expect(minted.code).toBe(0)
    const verdict = verifyToken(minted.text, {
      keys: createTokenKeys([Buffer.from(SECRET)]),
      audience: 'https://care.test/mcp',
      nowSeconds: TEST_START_MS / 1_000,
    })
    expect(verdict).toMatchObject({
      claims: {
        sub: 'me',
        scopes: ['care.read.user', 'care.write'],
        expiresAtSeconds: TEST_START_MS / 1_000 + 3_600,
      },
    })
    const modern = await care(['token', '--sub', 'me', '--revision', '2026-07-28'])
    const claims = Buffer.from(modern.text.split('.')[1] ?? '', 'base64url').toString()
    expect(JSON.parse(claims)).toMatchObject({ aud: 'https://care.test/mcp/2026-07-28' })
    expect((await care(['token', '--sub', 'me', '--revision', '2025-11-25'])).code).toBe(2)
    expect((await care(['token'])).code).toBe(2)
    expect((await care(['token', '--sub', 'me', '--scope', 'admin'])).code).toBe(2)
    expect((await care(['token', '--sub', 'me', '--lifetime-seconds', '-1'])).code).toBe(2)
  })

  it('audit lists rows newest first, beside the service', async () => {
    expect((await care(['audit'])).code).toBe(1)
    const path = sessionsPath(folder.databasePath)
    const trail = openAuditTrail(openSqliteSideRows(path), { clock: manualClock(0) })
    const row = {
      at: '2026-06-01T08:00:00.000Z',
      outcome: 'accepted',
      reason: 'ok',
      via: 'hmac',
    } as const
    for (const actor of ['dr-osei', 'dr-\u001b[2Jevil'])
      await trail.add({ ...row, actor, uri: 'care://ann/tea' })
    const { code, output } = await care(['audit', '--limit', '5'])
    expect(code).toBe(0)
    expect(output).toHaveLength(2)
    expect(output[0]).toContain('dr-\\u{1B}\\u{5B}2Jevil')
    expect(output[1]).toMatch(/^ {7}1 .*accepted {2}ok .* hmac {2}dr-osei {2}care:\/\/ann\/tea$/)
    const [line] = (await care(['audit', '--limit', '1', '--json'])).output
    expect(JSON.parse(line ?? '')).toMatchObject({ sequence: 2, outcome: 'accepted' })
    expect((await care(['audit', '--limit', 'many'])).code).toBe(2)
    await trail.close()
  })

  it('backup makes a copy, and accept-backup accepts it in place of a newer store', async () => {
    const target = `${folder.databasePath}.copy`
    const { code, text } = await care(['backup', target])
    expect(code).toBe(0)
    expect(text).toContain('2 user and 1 assistant versions')
    expect(existsSync(target)).toBe(true)
    expect((await care(['backup', target])).code).toBe(1)
    const store = await folder.open()
    await store.append(storeRecord({ value: 'three' }))
    await store.close()
    for (const end of ['-wal', '-shm']) rmSync(folder.databasePath + end, { force: true })
    copyFileSync(target, folder.databasePath)
    expect((await care(['export'])).errors).toContain('run "care accept-backup"')
    const accepted = await care(['accept-backup'])
    expect(accepted.output).toEqual([
      'user journal: 2 entries accepted; the last checkpoint counted 3: 1 are given up.',
      'assistant journal: 1 entries accepted; the last checkpoint counted 1.',
    ])
    expect((await care(['export'])).code).toBe(0)
  })

  it('accept-backup is refused while the service runs, and without a store', async () => {
    const store = await folder.open()
    expect(await care(['accept-backup'])).toMatchObject({ code: 1 })
    await store.close()
    environment.DATABASE_PATH = `${folder.databasePath}-${randomUUID()}`
    expect(await care(['accept-backup'])).toMatchObject({ code: 1 })
    expect(existsSync(environment.DATABASE_PATH)).toBe(false)
  })

  it('C16: import takes an export of everything up into a new store, sealed under the keys that it has; every entry and root stays the same', async () => {
    const file = `${folder.databasePath}.ndjson`
    expect((await care(['export', '--output', file])).code).toBe(0)
    const exported = readFileSync(file, 'utf8').trimEnd()
    expect((await care(['import', file])).errors).toContain('the store is not empty')
    environment['DATABASE_PATH'] = `${folder.databasePath}.new`
    environment.SEAL_KEYS = SEAL_KEYS
    expect(await care(['import', file])).toMatchObject({
      code: 0,
      output: ['user journal: 2 entries, as exported.', 'assistant journal: 1 entry, as exported.'],
    })
    expect((await care(['export'])).text).toBe(exported)
    const bytes = readFileSync(`${folder.databasePath}.new`).toString('latin1')
    expect(bytes).not.toContain('dr-osei')
  })

  it('S15: import refuses a part of a store, and an export that does not hold, and writes nothing of it', async () => {
    const refused = async (name: string, text: string) => {
      const file = `${folder.databasePath}.${name}`
      writeFileSync(file, text)
      return (await care(['import', file])).errors
    }
    const part = (await care(['export', '--audience', 'user'])).text
    const whole = (await care(['export'])).text
    const path = folder.databasePath
    environment['DATABASE_PATH'] = `${path}.new`
    for (const text of [part, whole.replaceAll('two', 'owt')])
      expect(await refused('export', text)).toContain('nothing was written')
    expect(await refused('export', 'hello')).toContain('line 1 is not JSON')
    expect((await care(['import', '-'])).code).toBe(2)
    expect((await care(['import', `${path}.absent`])).code).toBe(2)
    // S15: no store was made for it.
    const made = readdirSync(dirname(path)).filter((name) =>
      name.startsWith(basename(`${path}.new`)),
    )
    expect(made).toEqual([])
  })

  it('C43: erase says when it is final, by how long backups of the keys are kept; keys are copied and restored', async () => {
    const file = `${folder.databasePath}.ndjson`
    await care(['export', '--output', file])
    environment['DATABASE_PATH'] = `${folder.databasePath}.new`
    environment.SEAL_KEYS = SEAL_KEYS
    const keys = `${folder.databasePath}.new.chain-keys`
    expect((await care(['backup-keys', `${keys}.copy`])).errors).toContain('no such file')
    await care(['import', file])
    expect((await care(['backup-keys', `${keys}.copy`])).output).toEqual([
      `${keys}.copy: the keys of 2 chains, wrapped under SEAL_KEYS.`,
    ])
    expect((await care(['restore-keys', `${keys}.copy`])).errors).toContain('overwrites nothing')
    const words = ['erase', 'care://ann/tea', '--by', 'dr-osei', '--reason', 'asked to']
    expect((await care(words)).text).toContain('final on 2026-07-01T08:00:00.000Z')
    environment['CHAIN_KEYS_BACKUP_DAYS'] = '7'
    // Again, and later: the keys' backups from before the first time still count.
    nowMs += 3 * 86_400_000
    expect((await care(words)).text).toContain('final on 2026-06-08T08:00:00.000Z')
    nowMs = TEST_START_MS
    const before = (await care(['export'])).text
    for (const end of ['', '-wal', '-shm']) rmSync(keys + end, { force: true })
    expect((await care(['export'])).errors).toMatch(
      /which the place of chain keys .* does not have/,
    )
    expect((await care(['restore-keys', `${keys}.copy`])).output).toEqual([
      `The keys of 2 chains are restored from ${keys}.copy.`,
    ])
    expect((await care(['export'])).text).toBe(before)
  })

  it('bad usage exits 2 and never repeats a value', async () => {
    environment.TOKEN_SECRET = 'short-secret'
    const { code, errors } = await care(['token', '--sub', 'me'])
    expect(code).toBe(2)
    expect(errors).toContain('TOKEN_SECRET')
    expect(errors).not.toContain('short-secret')
    expect((await care(['nonsense'])).code).toBe(2)
    expect((await care(['audit', '--nonsense'])).code).toBe(2)
    expect((await care(['audit', 'word'])).code).toBe(2)
    expect((await care([])).code).toBe(2)
    expect((await care(['help'])).code).toBe(0)
  })
})
