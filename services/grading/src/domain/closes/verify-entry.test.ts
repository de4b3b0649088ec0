import { canonicalJson } from '@tallystick/hashchain'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  START_SECONDS,
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { PublicEntry } from '../../wire/ledger.ts'
import { canonicalText, checkEntry } from './verify-entry.ts'

/** A ledger with public and hidden prices, a result and a committed pick that is open by now. */
async function openLedger(events: number) {
  const fixture = createGraderFixture()
  const { store, grader, clock, pay } = fixture
  const hidden = { feed: 'secret', isRedistributable: false, isSynthetic: false }
  for (let index = 0; index < events; index += 1) {
    const event = sampleEvent({ path: `soccer/epl.20260601.a${index}-b`, home: `Ä${index}` })
    const observation = sampleObservation({ event, closes: [samplePrices()] })
    await store.ingest(sampleBatch([observation], index % 2 === 0 ? {} : { feed: hidden }))
  }
  await store.ingest(sampleBatch([sampleObservation({ closes: [samplePrices()] })]))
  await pay(samplePick())
  clock.advanceMs(2 * 86_400_000)
  await store.ingest(sampleBatch([sampleObservation({ outcomes: scored(1, 0) })]))
  const { note, verifierKey } = await store.checkpoint()
  const entries: PublicEntry[] = []
  for (let seq = 0; seq < (await store.head()).size; seq += 1) {
    const entry = await grader.publicEntry(seq)
    if (entry !== undefined) entries.push(JSON.parse(JSON.stringify(entry)))
  }
  return { entries, head: { note, verifierKey } }
}

test('G7: every public entry checks against the signed checkpoint, at every size of the tree', async () => {
  for (const events of [0, 1, 2, 5, 12]) {
    const { entries, head } = await openLedger(events)
    expect(entries.length).toBe(events + 3)
    for (const entry of entries) {
      const checks = checkEntry(entry, head)
      expect(checks.filter(({ outcome }) => outcome === 'fails')).toEqual([])
      expect(checks.some(({ outcome }) => outcome === 'hidden')).toBe(entry.entry === undefined)
    }
    expect(entries.some(({ opened }) => opened !== undefined)).toBe(START_SECONDS > 0)
  }
})

const flip = (hex: string) => (hex.startsWith('0') ? `1${hex.slice(1)}` : `0${hex.slice(1)}`)

test('an attack on any part of an answer is named: text, hash, proof, root, signature, opening', async () => {
  const { entries, head } = await openLedger(5)
  const failing = (entry: PublicEntry, signed = head) =>
    checkEntry(entry, signed).flatMap(({ name, outcome }) => (outcome === 'fails' ? [name] : []))
  const open = entries.find(({ entry }) => entry?.['type'] === 'close')
  const pick = entries.find(({ opened }) => opened !== undefined)
  if (open === undefined || pick === undefined) throw new Error('the ledger lacks an entry')
  const { inclusion } = open
  expect(failing({ ...open, entry: { ...open.entry, status: 'provisional' } })).toEqual(['text'])
  expect(failing({ ...open, hash: flip(open.hash) })).toEqual(['text', 'proof'])
  expect(
    failing({ ...open, inclusion: { ...inclusion, proof: inclusion.proof.map(flip) } }),
  ).toEqual(['proof'])
  expect(failing({ ...open, seq: open.seq + 1 })).toContain('proof')
  expect(
    failing({ ...open, inclusion: { ...inclusion, proof: inclusion.proof.slice(1) } }),
  ).toEqual(['proof'])
  expect(failing({ ...open, inclusion: { ...inclusion, root: flip(inclusion.root) } })).toEqual([
    'proof',
    'root',
  ])
  expect(failing({ ...pick, opened: { ...pick.opened, odds: '9' } })).toEqual(['opening'])
  const [first = '', size = ''] = head.note.split('\n')
  const renamed = head.note.replace(`${first}\n${size}\n`, `${first}\n${Number(size) + 1}\n`)
  expect(failing(open, { ...head, note: renamed })).toEqual(['root', 'signature'])
  expect(failing(open, { ...head, verifierKey: `x${head.verifierKey}` })).toContain('signature')
})

test('the text that is checked is the canonical JSON of the ledger, for any value', () => {
  const wellFormed = fc.json().filter((text) => text.isWellFormed())
  fc.assert(
    fc.property(wellFormed, (text) => {
      const value = JSON.parse(text)
      expect(canonicalText(value)).toBe(canonicalJson(value))
    }),
  )
})
