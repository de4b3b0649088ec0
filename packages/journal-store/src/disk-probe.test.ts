import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDiskProbe } from './disk-probe.ts'

let folder: string
let probe: ReturnType<typeof openDiskProbe>
let problems: string[]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallystick-disk-'))
  problems = []
  probe = openDiskProbe(join(folder, 'store.db'), (error) => void problems.push(String(error)))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('S13: a disk that takes no writes is said, until it takes them again', () => {
  it('a disk with room is no trouble, and nothing is left on it', async () => {
    expect(await probe.trouble()).toBeUndefined()
    expect(readdirSync(folder)).toEqual([])
  })

  it.skipIf(!existsSync('/dev/full'))('a full one (skipped without /dev/full)', async () => {
    symlinkSync('/dev/full', join(folder, 'store.db.probe'))
    expect(await probe.trouble()).toEqual({
      reason: 'disk_full',
      sentence: 'the disk of the store has no room for a write',
    })
    expect(problems.join()).toMatch(/store\.db: ENOSPC/)
    await expect.poll(() => probe.trouble()).toBeUndefined()
  })

  it('one that is gone', async () => {
    renameSync(folder, `${folder}-gone`)
    expect(await probe.trouble()).toMatchObject({ reason: 'disk_unwritable' })
    renameSync(`${folder}-gone`, folder)
    await expect.poll(() => probe.trouble()).toBeUndefined()
  })
})
