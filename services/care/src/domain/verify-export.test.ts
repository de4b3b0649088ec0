import { beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../adapters/records/sqlite-store.fixture.ts'
import { AUDIENCES } from '../wire/audience.ts'
import { collect, sampleRecord } from './record-store.fixture.ts'
import { NotAnExport, verifyExport } from './verify-export.ts'

describe('C9: a changed export is detected', () => {
  let lines: string[]
  let verifierKey: string
  beforeEach(async () => {
    const store = await openMemoryStore()
    for (const value of ['one', 'two', 'three']) await store.append(sampleRecord({ value }))
    await store.append(sampleRecord({ domain: 'plan', audience: 'assistant' }))
    lines = await collect(store.exportLines({ audiences: AUDIENCES }))
    verifierKey = store.journals.user.verifierKey
  })
  const at = (kind: string, nth = 0): number =>
    lines.findIndex(
      (line, index) =>
        line.includes(`"kind":"${kind}"`) &&
        lines.slice(0, index).filter((before) => before.includes(`"kind":"${kind}"`)).length ===
          nth,
    )
  const edit = (index: number, change: (line: string) => string): void => {
    lines[index] = change(lines[index] ?? '')
  }

  it('unchanged, it holds', async () => {
    expect(await verifyExport(lines)).toMatchObject({ isIntact: true, versions: 4 })
  })

  it.each([
    ['a value', 1, /two/g, 'owt', 'leaf'],
    ['a label', 1, /Dr Osei/g, 'Dr Evil', 'leaf'],
    ['a preimage', 1, /"preimage":"\[/g, '"preimage":"[ ', 'slot'],
    ['a version hash', 1, /"versionHash":"../g, '"versionHash":"00', 'slot'],
    ['a leaf’s index', 1, /"leafIndex":1/g, '"leafIndex":0', 'leaf'],
  ])('an edited %s is BROKEN at its version', async (...[, nth, was, is, fault]) => {
    edit(at('version', nth), (line) => line.replaceAll(was, is))
    const report = await verifyExport(lines)
    expect(report.chains[0]).toMatchObject({ uri: 'care://ann/tea', brokenAt: 2, fault })
    expect(report.isIntact).toBe(false)
  })

  it('a dropped tail is detected by the journal', async () => {
    lines.splice(at('version', 2), 1)
    const report = await verifyExport(lines)
    expect(report.problems).toContain('the user journal lacks the entry of leaf 2')
    expect(report.isIntact).toBe(false)
  })

  it('a dropped tail with its leaf is detected by the checkpoint', async () => {
    lines.splice(at('version', 2), 1)
    edit(at('leaves'), (line) => line.replace(/,"[0-9a-f]{64}"\]/, ']'))
    const report = await verifyExport(lines)
    expect(report.problems).toContain('the user journal has 2 leaves, its checkpoint says 3')
  })

  it('reordered writes are detected', async () => {
    const [first, second] = [at('version', 0), at('version', 1)]
    const moved = lines[first] ?? ''
    lines[first] = lines[second] ?? ''
    lines[second] = moved
    expect((await verifyExport(lines)).isIntact).toBe(false)
  })

  it('a changed leaf is detected by the checkpoint', async () => {
    edit(at('leaves'), (line) => line.replace(/"[0-9a-f]{64}"/, `"${'ab'.repeat(32)}"`))
    const report = await verifyExport(lines)
    expect(report.problems).toContain('the user journal does not hash to its checkpoint')
  })

  it('a missing checkpoint, or one altered or by another key, is detected', async () => {
    expect((await verifyExport(lines, [verifierKey])).problems).toEqual([
      'the checkpoint of the assistant journal is not signed by a known key',
      'the assistant journal has no checkpoint that holds',
    ])
    const index = at('checkpoint')
    edit(index, (line) => line.replace('\\n3\\n', '\\n2\\n'))
    expect((await verifyExport(lines)).problems).toContain(
      'the checkpoint of the user journal is not signed by a known key',
    )
    lines.splice(index, 1)
    expect((await verifyExport(lines)).problems).toContain(
      'the user journal has no checkpoint that holds',
    )
  })

  it.each([
    ['nothing', []],
    ['no header', ['{"kind":"leaves","journal":"user","from":0,"hashes":[]}']],
    ['no JSON', ['hello']],
    ['another format', ['{"kind":"export","format":"other/1","audiences":[]}']],
  ])('%s is not an export', async (_what, text) => {
    await expect(verifyExport(text)).rejects.toThrow(NotAnExport)
  })

  it('two headers are not an export', async () => {
    await expect(verifyExport([...lines, lines[0] ?? ''])).rejects.toThrow(NotAnExport)
  })
})
