// What an acknowledged write survives (C14), proved with real processes, real signals and real files. That a store is locked,
// signed and closed is shown where its engine is: packages/journal-store.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CareRecord } from '../../domain/care-record.ts'
import { intactVersions, TEA } from '../../domain/record-store.fixture.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { verifyExport } from '../../domain/verify-export.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { makeStoreFolder, type StoreFolder } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

/** Each costs the start of a process. A fault that one kill in thirty shows escapes one long run in thirty. */
const KILLS = process.env.TALLYSTICK_LONG === '1' ? 100 : 5
/** A store is verified whole after every kill: it shall not grow for ever. */
const KILLS_PER_STORE = 5
/** At most so many acknowledged writes are waited for before a kill, at least none. */
const ACKNOWLEDGED_BEFORE_KILL = 9
const WRITER = fileURLToPath(new URL('./store-process.fixture.ts', import.meta.url))

const hasStrace = spawnSync('strace', ['-V']).status === 0

describe('C14: a 200 from /write means fsynced', () => {
  let folder: StoreFolder
  let children: ChildProcess[]
  beforeEach(() => {
    folder = makeStoreFolder()
    children = []
  })
  afterEach(() => {
    for (const child of children) child.kill('SIGKILL')
    folder.remove()
  })

  const startWriter = (...options: readonly string[]) => {
    const child = spawn(process.execPath, [WRITER, folder.databasePath, ...options], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let printed = ''
    let complained = ''
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      complained += chunk.toString()
    })
    return {
      child,
      output: () => printed,
      complaint: () => complained,
      acknowledged: (): readonly CareRecord[] =>
        printed
          .split('\n')
          .slice(1, -1)
          .map((line) => JSON.parse(line) as CareRecord),
    }
  }
  /** Kills writers of one store, each of which finds it as the last one left it. */
  const killRepeatedly = async (): Promise<number> => {
    let acknowledgedInAll = 0
    for (let round = 0; round < KILLS_PER_STORE; round += 1) {
      const writer = startWriter('8')
      // Some writes are waited for, and the moment is random from there: on a busy machine no time alone is sure to see one.
      const least = Math.floor(Math.random() * ACKNOWLEDGED_BEFORE_KILL)
      do await once(writer.child.stdout, 'data')
      while (writer.acknowledged().length < least)
      await new Promise((resolve) => {
        setTimeout(resolve, Math.random() * 60)
      })
      writer.child.kill('SIGKILL')
      await once(writer.child, 'close')
      expect(writer.complaint()).toBe('')
      const store = await folder.open()
      const acknowledged = writer.acknowledged()
      for (const record of acknowledged) {
        const read = await store.version(record, record.version)
        if (read.kind !== 'found' || read.record.versionHash !== record.versionHash)
          throw new Error(`acknowledged and lost in round ${round}: ${JSON.stringify(record)}`)
      }
      acknowledgedInAll += acknowledged.length
      expect(await intactVersions(store)).toBeGreaterThanOrEqual(acknowledgedInAll)
      await store.close()
    }
    const store = await folder.open()
    const report = await verifyExport(store.exportLines({ audiences: AUDIENCES }))
    expect(report.isIntact).toBe(true)
    await store.close()
    return acknowledgedInAll
  }

  it(`kill -9 at ${KILLS} random moments under concurrent writes loses no acknowledged write and shows no torn one`, async () => {
    for (let killed = 0; killed < KILLS; killed += KILLS_PER_STORE) {
      folder.remove()
      folder = makeStoreFolder()
      expect(await killRepeatedly()).toBeGreaterThan(KILLS_PER_STORE)
    }
  })

  it.skipIf(!hasStrace)(
    `strace counts at least one fsync per commit${hasStrace ? '' : ' (skipped: strace is absent)'}`,
    async () => {
      const trace = `${folder.databasePath}.trace`
      const writes = ['-fyo', trace, '-etrace=fsync,fdatasync', process.execPath, WRITER]
      await promisify(execFile)('strace', [...writes, folder.databasePath, '1', '60'])
      const syncs = readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+<[^>]*-wal>/g)
      expect(syncs?.length).toBeGreaterThanOrEqual(60)
    },
  )

  it('a torn tail of the write-ahead log is left out, and what was acknowledged before it is there', async () => {
    const writer = startWriter('1')
    await once(writer.child.stdout, 'data')
    while (writer.acknowledged().length < 5) await once(writer.child.stdout, 'data')
    writer.child.kill('SIGKILL')
    await once(writer.child, 'close')
    const wal = `${folder.databasePath}-wal`
    const { size } = statSync(wal)
    // A commit that was being written when the power went: half a frame of garbage behind the last whole one.
    writeFileSync(wal, Buffer.alloc(2_000, 0x5a), { flag: 'a' })
    const store = await folder.open()
    for (const record of writer.acknowledged())
      expect(await store.version(record, record.version)).toMatchObject({ kind: 'found', record })
    await intactVersions(store)
    await store.close()
    expect(size).toBeGreaterThan(4_096)
  })

  it('a full disk: the write is refused, nothing of it is there, and the next one after space was made is accepted', async () => {
    const store = await folder.open({ pagesMax: 24 })
    let written = 0
    const fill = async (): Promise<void> => {
      for (; written < 200; written += 1)
        await store.append(storeRecord({ value: `${written} ${'x'.repeat(2_000)}` }))
    }
    await expect(fill()).rejects.toThrow(RecordStoreUnavailable)
    expect(await intactVersions(store)).toBe(written)
    expect(await store.latest(TEA)).toMatchObject({ latestVersion: written })
    await expect(store.append(storeRecord({ value: 'y'.repeat(90_000) }))).rejects.toThrow(
      /nothing was written/,
    )
    await store.close()
    const roomier = await folder.open()
    expect(await roomier.append(storeRecord({ value: 'after' }))).toMatchObject({
      kind: 'appended',
      record: { version: written + 1 },
    })
    expect(roomier.journals.user.checkpoint().split('\n')[1]).toBe(String(written + 1))
    await roomier.close()
  })
})
