// The rules that every place of chain keys keeps (C16, C31, S12). A suite gets a place that can be opened several times, as by
// several processes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyRing } from '@tallystick/hashchain'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { testKeyRing } from '../records/sqlite-store.fixture.ts'
import { type ChainKeys, type ChainKeysPlace, openChainKeys } from './chain-keys.ts'
import { backupChainKeys, restoreChainKeys } from './chain-keys-file.ts'

/** An empty place. */
type KeysPlaceUnderTest = {
  open(): Promise<ChainKeysPlace>
  /** Makes every COMMIT that adds a key fail, or lets them succeed again. */
  failCommits(isFailing: boolean): Promise<void>
  /** All bytes of its files, without logs that only recovery reads. */
  bytes(): Promise<Buffer>
  end(): Promise<void>
}

const keyRing = testKeyRing('key-1')
const TEA = 'ann|tea'
const SLOT = 'ann|tea|1|user'
const erasure = {
  patient: 'ann',
  domain: 'tea',
  turn: 0,
  at: '2026-06-02T09:00:00.000Z',
  actor: 'dr-osei',
  reason: 'asked to',
}

const sealed = async (keys: ChainKeys) =>
  (await keys.sealToWrite([TEA], async () => [])).close('ten drops', SLOT)
const opens = async (keys: ChainKeys, body: unknown) => (await keys.sealFor([TEA])).open(body, SLOT)

export function describeChainKeys(name: string, start: () => Promise<KeysPlaceUnderTest>): void {
  describe(`keys of chains: ${name}`, () => {
    let under: KeysPlaceUnderTest
    let folder: string
    const opened: ChainKeysPlace[] = []
    beforeEach(async () => {
      under = await start()
      folder = mkdtempSync(join(tmpdir(), 'care-keys-'))
    })
    afterEach(async () => {
      for (const place of opened.splice(0)) await place.close()
      await under.end()
      rmSync(folder, { recursive: true, force: true })
    })
    const openPlace = async (): Promise<ChainKeysPlace> => {
      const place = await under.open()
      opened.push(place)
      return place
    }
    const open = async (ring = keyRing): Promise<ChainKeys> =>
      openChainKeys(await openPlace(), ring)

    it('what one opening seals, another opens, in its slot alone; the place keeps its own key', async () => {
      const [keys, other] = [await open(), await open()]
      const body = await sealed(keys)
      expect(await opens(other, body)).toBe('ten drops')
      expect((await other.sealFor([TEA])).open(body, 'ann|tea|2|user')).toBe(undefined)
      expect((await other.sealFor(['ann|walks'])).open(body, 'ann|walks|1|user')).toBe(undefined)
      expect(other.ownKeyId).toBe(keys.ownKeyId)
      expect(other.ownRing.key(keys.ownKeyId)).toEqual(keys.ownRing.key(keys.ownKeyId))
    })

    it('C32: a key that is used once, as in a replay, is not kept in the place of those in use', async () => {
      let unwrapped = 0
      const key = (id: string) => {
        unwrapped += 1
        return keyRing.key(id)
      }
      const body = await sealed(await open())
      const keys = await open({ ...keyRing, key })
      const countOpening = async (seal: typeof keys.sealFor) => {
        const before = unwrapped
        expect((await seal([TEA])).open(body, SLOT)).toBe('ten drops')
        return unwrapped - before
      }
      expect(await countOpening(keys.sealOnce)).toBe(1)
      expect(await countOpening(keys.sealOnce)).toBe(1)
      expect(await countOpening(keys.sealFor)).toBe(1)
      expect(await countOpening(keys.sealOnce)).toBe(0)
    })

    it('S12: a key whose COMMIT failed seals nothing, then or later; the next one is there after a restart', async () => {
      const keys = await open()
      await under.failCommits(true)
      await expect(sealed(keys)).rejects.toThrow(RecordStoreUnavailable)
      await expect(sealed(keys)).rejects.toThrow(RecordStoreUnavailable)
      await under.failCommits(false)
      const body = await sealed(keys)
      expect(await opens(await open(), body)).toBe('ten drops')
    })

    it('S12: a key that is only seen, as one whose COMMIT no standby confirmed, seals nothing before a commit stands behind it', async () => {
      await sealed(await open())
      const place = await openPlace()
      let commits = 0
      let isWaiting = true
      const keys = await openChainKeys(
        {
          ...place,
          add: async (added) => {
            if (added.some(([chain]) => chain === TEA)) {
              if (isWaiting) throw new RecordStoreUnavailable('commits wait')
              commits += 1
            }
            await place.add(added)
          },
        },
        keyRing,
      )
      await expect(sealed(keys)).rejects.toThrow('commits wait')
      isWaiting = false
      const body = await sealed(keys)
      await sealed(keys)
      expect(commits).toBe(1)
      expect(await opens(await open(), body)).toBe('ten drops')
    })

    it('openings that begin one chain at the same time agree on its key', async () => {
      const all = [await open(), await open(), await open()]
      const bodies = await Promise.all(all.map((keys) => sealed(keys)))
      for (const keys of all)
        for (const body of bodies) expect(await opens(keys, body)).toBe('ten drops')
    })

    it('C31: a key that another process destroyed opens nothing more, and none is made again', async () => {
      const [keys, other] = [await open(), await open()]
      const body = await sealed(keys)
      expect(await opens(keys, body)).toBe('ten drops')
      await other.place.destroy(erasure)
      expect(await opens(keys, body)).toBe(undefined)
      await expect(sealed(keys)).rejects.toThrow('the chain was erased')
      await other.place.destroy({ ...erasure, actor: 'dr-later' })
      expect(await keys.place.erasures()).toEqual([erasure])
    })

    it('C31: attack: a destroyed key is looked for in the bytes of the place', async () => {
      const keys = await open()
      await sealed(keys)
      const [found] = await keys.place.find([TEA])
      const wrapped = Buffer.from(found?.[2] ?? '')
      await keys.place.destroy(erasure)
      expect((await under.bytes()).includes(wrapped)).toBe(false)
    })

    it('C16: every key comes under the active key of the ring, and the old one is needed no more', async () => {
      const keys = await open()
      const body = await sealed(keys)
      expect((await keys.sealFor([TEA])).receipt(body, TEA)).toMatchObject({ keyId: 'key-1' })
      await expect(open(testKeyRing('key-2'))).rejects.toThrow(
        /wrapped under the key "key-1", which SEAL_KEYS does not have/,
      )
      const newer = await open(testKeyRing('key-2', 'key-1'))
      expect(await opens(newer, body)).toBe('ten drops')
      await newer.rewrap()
      const only = await open(testKeyRing('key-2'))
      expect(await opens(only, body)).toBe('ten drops')
      expect((await only.sealFor([TEA])).receipt(body, TEA)).toMatchObject({ keyId: 'key-2' })
      await expect(sealed(keys)).rejects.toThrow('no key of SEAL_KEYS opens')
    })

    it('C16: keys that a process with the old key in front makes after that come under the new one at the next start', async () => {
      const older = await open(testKeyRing('key-1', 'key-2'))
      await (await open(testKeyRing('key-2', 'key-1'))).rewrap()
      const body = await sealed(older)
      await (await open(testKeyRing('key-2', 'key-1'))).rewrap()
      expect(await opens(await open(testKeyRing('key-2')), body)).toBe('ten drops')
      expect(await opens(older, body)).toBe('ten drops')
    })

    it('C16: processes that rewrap the same keys at the same time do not stop each other', async () => {
      const keys = await open()
      const chains = Array.from({ length: 1_000 }, (_, at) => `${at}|tea`)
      await keys.sealToWrite(chains, async () => [])
      const others = [await openPlace(), await openPlace()] as const
      const found = await keys.place.find(chains)
      for (let round = 0; round < 5; round += 1)
        await Promise.all([others[0].rewrap(found), others[1].rewrap(found.toReversed())])
      expect(await keys.place.find(chains)).toHaveLength(chains.length)
    })

    it('C16: another key under the id of the one that keys were wrapped under is refused', async () => {
      await sealed(await open())
      const key = new Uint8Array(32).fill(99)
      const wrong = createKeyRing({ activeId: 'key-1', keys: [{ id: 'key-1', key }] })
      await expect(open(wrong)).rejects.toThrow(/"key-1" in SEAL_KEYS is not the one/)
    })

    it('C43: a copy is a file that fills an empty place, erasures included, and overwrites nothing', async () => {
      const keys = await open()
      const body = await sealed(keys)
      await keys.sealToWrite(['ann|walks'], async () => [])
      await keys.place.destroy({ ...erasure, domain: 'walks' })
      const target = join(folder, 'copy')
      expect(await backupChainKeys(keys.place, target)).toBe(1)
      await expect(backupChainKeys(keys.place, target)).rejects.toThrow(/overwrites nothing/)
      await expect(restoreChainKeys(keys.place, target)).rejects.toThrow(/overwrites nothing/)
      await keys.close()
      await under.end()
      under = await start()
      // Whoever opened it first made it a key of its own.
      await open()
      expect(await restoreChainKeys(await openPlace(), target)).toBe(1)
      const restored = await open()
      expect(restored.ownKeyId).toBe(keys.ownKeyId)
      expect(await opens(restored, body)).toBe('ten drops')
      expect(await restored.place.erasures()).toMatchObject([{ domain: 'walks' }])
      await expect(restoreChainKeys(restored.place, join(folder, 'none'))).rejects.toThrow(
        /no such file/,
      )
    })
  })
}
