import { createKeyRing, type KeyRing } from '@tallystick/hashchain'
import { describe, expect, it } from 'vitest'
import {
  count,
  type Diaries,
  hashOf,
  POSTGRES_DIARIES,
  useDiaries,
} from './diaries-postgres.fixture.ts'
import { resealPostgresStore } from './postgres-reseal.ts'
import { postgresMissing } from './postgres-server.fixture.ts'
import { bodyOfBytes, createBodySeal } from './sealed-bodies.ts'

/** A row, as the driver reads it. */
type Entry = { readonly at: string; readonly body: Buffer }

const ringOf = (...ids: readonly [string, ...string[]]): KeyRing =>
  createKeyRing({
    activeId: ids[0],
    keys: ids.map((id) => ({ id, key: new Uint8Array(32).fill(id.length) })),
  })

const writeSealed = (to: Diaries, ring: KeyRing, text: string) =>
  to.write(({ journals: { day } }) =>
    day.append(hashOf(text), [Buffer.from(createBodySeal(ring).close(text, `day|${day.size}`))]),
  )

describe.skipIf(postgresMissing !== undefined)(
  `C16: sealed bodies on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    const { open, optionsAs, sql, store } = useDiaries()
    const textsUnder = async (ring: KeyRing) => {
      const rows = await sql<Entry>('SELECT at, body FROM diaries.day_entries ORDER BY at')
      return rows.map(({ at, body }) => createBodySeal(ring).open(bodyOfBytes(body), `day|${at}`))
    }
    const reseal = (ring: KeyRing) =>
      resealPostgresStore(POSTGRES_DIARIES, { ...optionsAs('diaries_reseal'), keyRing: ring })

    it('another key, the same leaves; the key that nothing is sealed under is named', async () => {
      await store().close()
      const [first, both] = [ringOf('k'), ringOf('key', 'k')]
      const sealed = await open({ keyRing: first })
      for (let at = 0; at < 70; at += 1) await writeSealed(sealed, first, `text ${at}`)
      const root = sealed.journals.day.rootHash()
      await expect(reseal(both)).rejects.toThrow(/does not have the key "key": restart it/)
      await sealed.close()
      const again = await open({ keyRing: both })
      expect(await reseal(both)).toEqual({
        activeKeyId: 'key',
        resealed: 70,
        broken: 0,
        retired: ['k'],
        needed: [],
      })
      expect(await textsUnder(ringOf('key'))).toEqual(
        Array.from({ length: 70 }, (_, at) => `text ${at}`),
      )
      expect(await again.journals.day.rootAt(70)).toEqual(root)
      await again.close()
      expect((await open({ keyRing: ringOf('key') })).journals.day.size).toBe(70)
    })

    it('without the key that a body was sealed under, or with another of its name, it does not open', async () => {
      await open({ keyRing: ringOf('k') })
      await expect(open()).rejects.toThrow(/sealed under the key "k"/)
      const other = createKeyRing({
        activeId: 'k',
        keys: [{ id: 'k', key: new Uint8Array(32).fill(99) }],
      })
      await expect(open({ keyRing: other })).rejects.toThrow(/not the one/)
    })

    it('only the role that reseals puts another body into a row, and changes nothing else', async () => {
      await store().write(count('ann'))
      const body = "UPDATE diaries.day_entries SET body = 'x'"
      await expect(sql(body, 'diaries_app')).rejects.toThrow(/permission denied/)
      await expect(sql(body)).rejects.toThrow(/only grows/)
      for (const change of [
        "UPDATE diaries.day_entries SET leaf_hash = sha256('x')",
        'UPDATE diaries.day_entries SET at = 7',
        'DELETE FROM diaries.day_entries',
        "INSERT INTO diaries.day_entries VALUES (1, sha256('x'), 'x')",
        'DELETE FROM diaries.writers',
      ]) {
        await expect(sql(change, 'diaries_reseal')).rejects.toThrow(/permission denied/)
      }
      for (const change of [
        'UPDATE diaries.day_entries SET at = 7',
        'TRUNCATE diaries.day_entries',
      ])
        await expect(sql(change)).rejects.toThrow(/only grows/)
      await sql(body, 'diaries_reseal')
    })
  },
)
