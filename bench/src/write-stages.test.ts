import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'
import { stageMicros } from './write-stages.ts'

const STACKS = [
  ['(root)', ''],
  ['answer', 'write-route.ts'],
  ['judgeWrite', 'write-route.ts'],
  ['parseJson', 'write-route.ts'],
  ['decideGroup', 'write-group.ts'],
  ['#commitNow', 'sqlite-commit.ts'],
  ['#inTransaction', 'sqlite-connection.ts'],
  ['publish', 'session-hub.ts'],
  ['(garbage collector)', ''],
  ['(idle)', ''],
  ['readMemory', 'record-writer.ts'],
  ['#save', 'sqlite-commit.ts'],
] as const

/** Every function below the root, but `judgeWrite` within `answer` and `parseJson` within that. */
const profileWith = (stacks: readonly (readonly [string, string])[]) => ({
  nodes: stacks.map(([functionName, file], at) => ({
    id: at + 1,
    callFrame: { functionName, url: `file:///src/${file}` },
    children:
      at === 0
        ? [2, ...stacks.keys()].filter((id) => id > 4 || id === 2)
        : ([[], [3], [4]][at] ?? []),
  })),
  startTime: 1_000,
  samples: [4, 4, 2, 5, 10, 3],
  timeDeltas: [10, 20, 30, 40, 50, 60],
})

test('a sample belongs to the innermost stage on its stack, within the moments that are asked for', () => {
  using folder = temporaryFolder()
  writeFileSync(folder.file('one.cpuprofile'), JSON.stringify(profileWith(STACKS)))
  const spent = stageMicros(folder.file('one.cpuprofile'), { fromMicros: 1_015, toMicros: 1_160 })
  expect(Object.fromEntries(spent)).toEqual({
    'judging: signature, JSON, fields': 20,
    'HTTP, and all else': 30,
    'the version: tail, hashes, rows': 40,
    idle: 50,
  })
})

test('a stage whose function has another name by now is no stage that takes no time', () => {
  using folder = temporaryFolder()
  const renamed = STACKS.filter(([name]) => name !== 'publish')
  writeFileSync(folder.file('one.cpuprofile'), JSON.stringify(profileWith(renamed)))
  const all = { fromMicros: 0, toMicros: 9_999 }
  expect(() => stageMicros(folder.file('one.cpuprofile'), all)).toThrow(
    'telling sessions: publish of session-hub.ts is not in the profile',
  )
})
