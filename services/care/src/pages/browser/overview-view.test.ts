import { describe, expect, it } from 'vitest'
import type { ChainVerdict } from '../../wire/verify.ts'
import { useEnglishHead } from '../page-head.fixture.ts'
import { inOrderOfConcern, verdictWords } from './overview-view.ts'

useEnglishHead('overview')

const good = (uri: string): ChainVerdict => ({ uri, versions: 1, intact: true })
const bad = { uri: 'care://z/z', versions: 3, intact: false, brokenAt: 2 }
const answer = (chains: ChainVerdict[]) => ({
  chains,
  intact: chains.every(({ intact }) => intact),
})

describe('the verdict in words', () => {
  it.each<[ChainVerdict[], string]>([
    [[], 'No public records yet'],
    [[good('care://a/b')], 'The one chain is intact'],
    [[good('care://a/b'), good('care://a/c')], 'All 2 chains are intact'],
    [[good('care://a/b'), bad], 'One chain is BROKEN'],
    [[bad, bad], '2 chains are BROKEN'],
  ])('%#: %s', (chains, words) => {
    expect(verdictWords(answer(chains))).toBe(words)
  })
})

it('broken chains come first, then by name', () => {
  const chains = [good('care://b/b'), good('care://a/a'), bad]
  expect(inOrderOfConcern(chains).map(({ uri }) => uri)).toEqual([
    'care://z/z',
    'care://a/a',
    'care://b/b',
  ])
})
