import { manualClock } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createMirrorAccountDirectory } from './account-directory.ts'

function stand(accountsMax = 10_000) {
  const time = manualClock(0)
  const reads: string[] = []
  const known = new Set(['a', 'b', 'c'])
  const directory = createMirrorAccountDirectory({
    clock: time,
    accountsMax,
    mirror: {
      async account(name) {
        reads.push(name)
        await new Promise((resolve) => setImmediate(resolve))
        return known.has(name)
          ? { accountId: name, evmAddress: '0x00', key: null, isDeleted: false }
          : undefined
      },
    },
  })
  return { directory, known, reads, time }
}

test('remembers accounts for five minutes, and shares concurrent reads', async () => {
  const { directory, reads, time } = stand()
  await Promise.all([directory.account('a'), directory.account('a'), directory.account('a')])
  await time.advanceMsSettled(299_999)
  await directory.account('a')
  expect(reads).toEqual(['a'])
  await time.advanceMsSettled(1)
  await directory.account('a')
  expect(reads).toEqual(['a', 'a'])
})

test('a refresh reads again, but each account at most every 2 s', async () => {
  const { directory, reads, time } = stand()
  await directory.account('a')
  await directory.refresh('a')
  expect(reads).toHaveLength(1)
  await time.advanceMsSettled(2_000)
  await directory.refresh('a')
  expect(reads).toHaveLength(2)
})

test('an unknown account is requested again after 2 s', async () => {
  const { directory, known, time } = stand()
  expect(await directory.account('new')).toBeUndefined()
  known.add('new')
  expect(await directory.account('new')).toBeUndefined()
  await time.advanceMsSettled(2_000)
  expect(await directory.account('new')).toBeDefined()
})

test('memory is bounded', async () => {
  const { directory, reads } = stand(2)
  for (const name of ['a', 'b', 'c', 'c', 'b', 'a']) await directory.account(name)
  expect(reads).toEqual(['a', 'b', 'c', 'a'])
})
