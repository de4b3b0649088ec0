/** What the grant store promises over either database. */
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { GrantDatabase } from './grant-database.ts'
import { createGrantStore, type GrantStore, sweepGrants } from './grant-store.ts'

/** Opens an empty database for each test; `again` opens the same one as another process would. */
export function testGrantStore(
  engine: string,
  open: () => Promise<{ readonly database: GrantDatabase; again(): Promise<GrantDatabase> }>,
): void {
  describe(`grants on ${engine}`, () => {
    const databases: GrantDatabase[] = []
    let clock: ManualClock
    let store: GrantStore
    let again: () => Promise<GrantStore>
    beforeEach(async () => {
      clock = manualClock(0)
      const opened = await open()
      databases.push(opened.database)
      store = createGrantStore(opened.database, clock)
      again = async () => {
        const database = await opened.again()
        databases.push(database)
        return createGrantStore(database, clock)
      }
    })
    afterEach(async () => {
      await Promise.all(databases.splice(0).map((database) => database.close()))
    })

    it('C27: what is used says so, what was revoked or has expired is gone, and a second use fails', async () => {
      const tokens = store.adapter('RefreshToken')
      await tokens.upsert('one', { grantId: 'g' }, 10)
      await tokens.upsert('two', { grantId: 'h' }, 10)
      await store.adapter('AuthorizationCode').upsert('one', { grantId: 'g', uid: 'u' }, 10)
      const codes = store.adapter('AuthorizationCode')
      await codes.consume('one')
      expect(await codes.find('one')).toMatchObject({ consumed: 0, grantId: 'g' })
      expect(await codes.findByUid('u')).toMatchObject({ consumed: 0 })
      await expect(codes.consume('one')).rejects.toThrow('used twice at once')
      await tokens.revokeByGrantId('g')
      expect(await tokens.find('one')).toBeUndefined()
      expect(await codes.find('one')).toBeUndefined()
      expect(await tokens.find('two')).toBeDefined()
      clock.advanceMs(10_000)
      expect(await tokens.find('two')).toBeUndefined()
    })

    it('C27: of many that use one code at once, in any process, one does', async () => {
      const stores = [store, await again(), await again()]
      await store.adapter('AuthorizationCode').upsert('code', { grantId: 'g' }, 60)
      const uses = await Promise.allSettled(
        [1, 2, 3, 4].flatMap(() =>
          stores.map((each) => each.adapter('AuthorizationCode').consume('code')),
        ),
      )
      expect(uses.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    })

    it('C50: of programs that nobody allowed anything the oldest of more than 5,000 go, and all after a day; one with a grant stays', async () => {
      const clients = store.adapter('Client')
      await clients.upsert('honest', {}, 0)
      await store.adapter('Grant').upsert('g', { clientId: 'honest' }, 2_592_000)
      const rows = Array.from({ length: 5_000 }, (_, at) => `('Client', 'c${at}', '{}', 86400)`)
      await databases[0]?.write(
        `INSERT INTO kept (model, id, payload, expires_at) VALUES ${rows.join(', ')}`,
      )
      await clients.upsert('c5000', {}, 0)
      expect(await clients.find('c0')).toBeUndefined()
      expect(await clients.find('c1')).toBeDefined()
      expect(await clients.find('honest')).toBeDefined()
      clock.advanceMs(86_400_000)
      expect(await clients.find('c5000')).toBeUndefined()
      // A quarter of a year after its last grant.
      clock.advanceMs((29 + 90) * 86_400_000 - 1)
      expect(await clients.find('honest')).toBeDefined()
      clock.advanceMs(86_400_001)
      expect(await clients.find('honest')).toBeUndefined()
    })

    it('C27: a used refresh token counts as unused for 30 seconds, until the one after it is used', async () => {
      const tokens = store.adapter('RefreshToken')
      const elsewhere = (await again()).adapter('RefreshToken')
      await tokens.upsert('first', { grantId: 'g', rotations: 0 }, 1_000)
      const isUsed = async () => (await elsewhere.find('first'))?.consumed !== undefined
      await tokens.consume('first')
      // The one who used it is about to store the next: a request that comes between ends nothing, and uses nothing.
      expect([await isUsed(), await store.findSuccessor('first')]).toEqual([false, undefined])
      await expect(elsewhere.consume('first')).rejects.toThrow('used twice at once')
      await tokens.upsert('second', { grantId: 'g', rotations: 1 }, 1_000)
      expect([await isUsed(), await store.findSuccessor('first')]).toEqual([false, 'second'])
      await tokens.consume('second')
      expect([await isUsed(), await store.findSuccessor('first')]).toEqual([true, undefined])
    })

    it('C27: after 30 seconds it is used, whether or not the one after it is', async () => {
      const tokens = store.adapter('RefreshToken')
      await tokens.upsert('first', { grantId: 'g', rotations: 0 }, 1_000)
      await tokens.consume('first')
      await tokens.upsert('second', { grantId: 'g', rotations: 1 }, 1_000)
      clock.advanceMs(31_000)
      expect(await tokens.find('first')).toMatchObject({ consumed: 0 })
      expect(await store.findSuccessor('first')).toBeUndefined()
    })

    it('attack: a text that no database takes is nowhere', async () => {
      expect(await store.adapter('AuthorizationCode').find('a\0b')).toBeUndefined()
      await store.adapter('Interaction').upsert('i', { params: { state: 'a\0b' } }, 10)
      expect(await store.adapter('Interaction').find('i')).toEqual({ params: { state: 'a\0b' } })
    })

    it('what has expired is deleted', async () => {
      await store.adapter('Session').upsert('s', {}, 10)
      const [database] = databases
      if (database === undefined) throw new Error('unreachable')
      const count = async () => (await database.read('SELECT id FROM kept')).length
      const problems: unknown[] = []
      const end = sweepGrants(database, { clock, onProblem: (error) => problems.push(error) })
      expect(await count()).toBe(1)
      await clock.advanceMsSettled(3_600_000)
      await expect.poll(count).toBe(0)
      end()
      expect(problems).toEqual([])
    })
  })
}
