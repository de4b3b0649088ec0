import { describe, expect, it } from 'vitest'
import { inOrderOfConcern, readCheckpoint, verdictWords } from './overview-facts.js'

/** @param {string} uri */
const good = (uri) => ({ uri, versions: 1, intact: true })
const bad = { uri: 'care://z/z', versions: 3, intact: false, brokenAt: 2 }
/** @param {import('./overview-facts.js').ChainVerdict[]} chains */
const answer = (chains) => ({
  checkedAt: '2026-11-21T12:00:00.000Z',
  atRest: '',
  chains,
  receipts: [],
  versions: 0,
  intact: chains.every(({ intact }) => intact),
})

describe('the verdict in words', () => {
  it.each([
    [[], 'No public records yet'],
    [[good('care://a/b')], 'The one chain is intact'],
    [[good('care://a/b'), good('care://a/c')], 'All 2 chains are intact'],
    [[good('care://a/b'), bad], 'One chain is BROKEN'],
    [[bad, bad], '2 chains are BROKEN'],
  ])('%#: %s', (chains, words) => {
    expect(verdictWords(answer(chains))).toBe(words)
  })
})

it('what is broken stands first, then by name', () => {
  const chains = [good('care://b/b'), good('care://a/a'), bad]
  expect(inOrderOfConcern(chains).map(({ uri }) => uri)).toEqual([
    'care://z/z',
    'care://a/a',
    'care://b/b',
  ])
})

describe('a signed checkpoint', () => {
  const note = 'care.test/user\n15\nCsUYapGGPo4=\n\n— care.test+c74f20a3 AZ3grPXi\n'

  it('gives size, root and signer', () => {
    expect(readCheckpoint(note)).toEqual({
      size: 15,
      root: 'CsUYapGGPo4=',
      signer: 'care.test+c74f20a3',
    })
  })

  it.each([
    '',
    'care.test/user\n15\nroot\n',
    note.replace('15', 'fifteen'),
    note.replace('\n\n', '\n'),
  ])('%j is none', (text) => {
    expect(readCheckpoint(text)).toBeUndefined()
  })
})
