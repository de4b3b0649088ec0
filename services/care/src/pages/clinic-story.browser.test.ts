// A day at a clinic, in Chromium: two clinicians correct past each other, a device was away and hears what to take back, and a
// record is erased while its proofs hold.
import { parseKeyRing } from '@tallystick/hashchain'
import { systemClock } from '@tallystick/service-kit'
import { expect, it } from 'vitest'
import { eraseChain } from '../adapters/open-stores.ts'
import { verifyExport } from '../domain/verify-export.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { readStoreConfig } from '../testing/store-place.fixture.ts'
import { describePages, fillWrite, newest, text, USER, WAIT } from './page-browser.fixture.ts'

const SEAL_KEYS = `key-1:${Buffer.alloc(32, 1).toString('base64')}`
const drops = { patient: 'rosa-12', domain: 'drops' }

describePages((pages) => {
  it.skipIf(process.env['DATABASE_URL'] !== undefined)(
    'C29, C31, C46: a clinic’s day: somebody is faster, a device was away, a record is erased (on PostgreSQL another role erases)',
    async () => {
      const AUTHOR_LABELS = '{"dr-osei":"Dr Osei"}'
      const environment = {
        SEAL_KEYS,
        BEARER_AUTHOR: 'sub',
        VERIFY_NAMES: 'private',
        AUTHOR_LABELS,
      }
      const service = await pages.start({ environment })
      const token = service.token(`${USER} care.write`, 3_600, 'dr-osei')
      const osei = await pages.visit(`/clinician.html#token=${token}`)
      await fillWrite(osei, drops)
      await expect.poll(() => osei.inputValue('#authorLabel'), WAIT).toBe('Dr Osei')
      expect(await osei.isEditable('#authorLabel')).toBe(false)
      // The sentence alone: typing another name of patient or domain reads the record again.
      const publish = async (value: string): Promise<void> => {
        await osei.fill('#value', value)
        await osei.click('#send')
      }
      await publish('Take ten drops.')
      await osei.waitForSelector('text=Version 1 is stored', WAIT)
      const device = await pages.listen()
      expect(await text(device, '#records')).toContain('Take ten drops.')

      // The device is away, and somebody else corrects twice; Dr Osei's page has not noticed.
      const since = new Date(systemClock.unixMs()).toISOString()
      await expect.poll(() => text(osei, '#before'), WAIT).toContain('Take ten drops.')
      service.network.cut()
      await device.waitForSelector('#state[data-state="waiting"]', WAIT)
      const lind = { ...drops, authorId: 'dr-lind', authorLabel: 'Dr Lind' }
      await service.write({ ...lind, value: 'Take twelve drops.' })
      await service.write({ ...lind, value: 'Take thirty drops.' })
      service.network.mend()

      // It hears exactly what to take back: what it held, not what it never heard.
      await expect.poll(() => text(device, `${newest} .now`), WAIT).toBe('Take thirty drops.')
      expect(await text(device, newest)).toContain('Last shown here was version 1: Take ten drops.')
      const host = await openHost(
        { url: service.url, token: (scope) => service.token(scope) },
        USER,
      )
      const query = { name: 'whats_changed', arguments: { patient: drops.patient, since } }
      const { result } = await host.request('tools/call', query)
      expect(result).toMatchObject({
        structuredContent: {
          changed: [{ previousValue: 'Take ten drops.', value: 'Take thirty drops.' }],
        },
      })
      expect(JSON.stringify(result)).toContain('disregard “Take ten drops.”')
      await host.close()

      // Dr Osei corrects what is no longer there, is told, and sees what holds.
      await publish('Take eleven drops.')
      await osei.waitForSelector('text=Not stored: somebody was faster', WAIT)
      await expect.poll(() => text(osei, '#before'), WAIT).toContain('Take thirty drops.')

      // An auditor takes a proof; then the record is erased.
      const get = (path: string) =>
        fetch(service.url + path, { headers: { authorization: `Bearer ${token}` } })
      const proof = (await (await get('/verify/export')).text()).trimEnd().split('\n')
      const ring = parseKeyRing(SEAL_KEYS)
      if (ring.kind !== 'ring') throw new Error(ring.problem)
      const by = { at: since, actor: 'dr-osei', reason: 'asked to' }
      const slot = { ...drops, audience: 'user' as const }
      await eraseChain(readStoreConfig(service.place), { slot, by }, ring.ring)
      await publish('Take one drop.')
      await osei.waitForSelector('text=Not stored: erased', WAIT)
      expect(await (await get('/verify')).json()).toMatchObject({
        chains: [{ uri: 'care://rosa-12/drops', versions: 3, erased: 3, intact: true }],
        versions: 0,
        erased: 3,
        intact: true,
      })
      expect(await verifyExport(proof)).toMatchObject({ isIntact: true, versions: 3 })
      expect(await (await get('/verify/export')).text()).not.toContain('Take')
      pages.forgive()
    },
  )
})
