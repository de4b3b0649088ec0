import { expect, it } from 'vitest'
import { inOneTransaction, openGroupCommit } from './group-commit.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'

it('S12: what throws behind a COMMIT, or while one is taken back, is told; the group runs once', async () => {
  const [behind, back] = [new Error('a bug behind the commit'), new Error('no rollback')]
  const [problems, steps] = [new Array<unknown>(), new Array<string>()]
  let isFull = false
  const told = {
    Unavailable: NotesUnavailable,
    onProblem: (error: unknown) => problems.push(error),
  }
  const writeTogether = inOneTransaction(
    {
      begin: () => steps.push('begin'),
      commit: () => {
        steps.push('commit')
        if (isFull) throw new Error('the disk is full')
      },
      goBack: () => {
        throw back
      },
      committed: () => {
        throw behind
      },
      isOfEngine: () => false,
    },
    told,
  )
  const queue = openGroupCommit({ writeTogether, writesMax: 9, Unavailable: NotesUnavailable })
  expect(await queue.write(() => 'durable')).toBe('durable')
  isFull = true
  await expect(queue.write(() => 'lost')).rejects.toThrow(
    new NotesUnavailable('nothing was written: the disk is full'),
  )
  expect(steps).toEqual(['begin', 'commit', 'begin', 'commit'])
  expect(problems).toEqual([behind, back])
})
