// A journal and its witnesses, which share no code with it, over real HTTP.
import {
  computeRoot,
  consistencyProof,
  createNoteSigner,
  formatCheckpoint,
  leafHash,
  openCosignature,
  openNote,
} from '@tallystick/hashchain'
import { afterEach, expect, test } from 'vitest'
import { type Witness, type WitnessLead, type WitnessProblem, WitnessPush } from './witness-push.ts'
import { startWitness, type WitnessServer, witnessKey } from './witness-server.fixture.ts'

const ORIGIN = 'care.example.org/user'
const signer = createNoteSigner({ keyName: ORIGIN, seed: Buffer.alloc(32, 7) })
const logKey = signer.verifierKey
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

/** A journal whose entries a test may put back or replace. */
function makeJournal(...first: readonly string[]) {
  const entries = [...first]
  const leaves = () => entries.map((entry) => leafHash(Buffer.from(entry)))
  return {
    entries,
    size: () => entries.length,
    verifierKey: logKey,
    rootAt: async (size: number) => computeRoot(leaves().slice(0, size)),
    checkpoint: () =>
      signer.sign(
        formatCheckpoint({ origin: ORIGIN, size: entries.length, rootHash: computeRoot(leaves()) }),
      ),
    consistencyProof: async (oldSize: number, size: number) =>
      oldSize === 0
        ? []
        : consistencyProof({
            oldSize,
            size,
            leafHashes: ({ from, to }) => leaves().slice(from, to),
          }),
  }
}

async function makeWitness(name: string): Promise<WitnessServer> {
  const witness = await startWitness({ name, logKey })
  ends.push(() => witness.close())
  return witness
}

type Started = {
  readonly push: WitnessPush
  readonly problems: (readonly [string, WitnessProblem])[]
  readonly leads: readonly WitnessLead[]
  readonly waits: number[]
  readonly lastCosigned: () => string | undefined
  /** Lets everything fall due that waits. */
  readonly elapse: () => void
}

function start(
  journal: ReturnType<typeof makeJournal>,
  witnesses: readonly Witness[],
  {
    givenUp,
    lastCosigned,
  }: { lastCosigned?: string | undefined; givenUp?: Record<string, number> } = {},
) {
  const leads: WitnessLead[] = []
  const timers = new Set<() => void>()
  const waits: number[] = []
  const problems: (readonly [string, WitnessProblem])[] = []
  let stored = lastCosigned
  const push = new WitnessPush({
    witnesses: witnesses.map(({ url, verifierKey }) => ({ url, verifierKey })),
    journal,
    post: async (url, body) => {
      try {
        const answer = await fetch(url, { method: 'POST', body })
        return { status: answer.status, text: await answer.text() }
      } catch {
        return undefined
      }
    },
    lastCosigned,
    keep: async (note) => {
      stored = note
    },
    clock: {
      after: (ms, run) => {
        waits.push(ms)
        timers.add(run)
        return () => timers.delete(run)
      },
    },
    createBackOff: ({ firstMs }) => {
      let failures = 0
      return {
        failed: () => firstMs * (failures += 1),
        succeeded: () => {
          failures = 0
        },
      }
    },
    givenUp,
    onLead: (lead) => leads.push(lead),
    onProblem: (name, problem) => problems.push([name, problem]),
    onError: (error) => {
      throw error
    },
  })
  ends.push(() => push.close())
  const elapse = (): void => {
    for (const run of timers) {
      timers.delete(run)
      run()
    }
  }
  return { push, problems, leads, waits, lastCosigned: () => stored, elapse } satisfies Started
}

const sizes = ({ push }: Started) => push.states().map(({ cosigned }) => cosigned?.size)
const isCosigned = (note: string | undefined, { verifierKey }: Witness): boolean =>
  openCosignature({ note: note ?? '', verifierKey }).kind === 'opened'

test('C9: every witness cosigns each checkpoint that goes on from the last; the note opens under the journal’s key and each of theirs', async () => {
  const journal = makeJournal('a', 'b', 'c')
  const witnesses = [await makeWitness('one.example'), await makeWitness('two.example')]
  const started = start(journal, witnesses)
  await expect.poll(() => sizes(started)).toEqual([3, 3])
  journal.entries.push('d', 'e')
  started.push.grown()
  started.push.grown()
  started.elapse()
  await expect.poll(() => sizes(started)).toEqual([5, 5])
  const note = started.push.cosigned()
  expect(openNote({ note: note ?? '', verifierKey: logKey }).kind).toBe('opened')
  for (const witness of witnesses) {
    expect(isCosigned(note, witness)).toBe(true)
    expect(witness.requests).toEqual([
      'POST /witness/add-checkpoint old 0',
      'POST /witness/add-checkpoint old 3',
    ])
  }
  await expect.poll(started.lastCosigned).toBe(note)
  expect(started.problems).toEqual([])
})

test('a service that has forgotten what was cosigned goes on from the size that a 409 names; one that has not, from its own', async () => {
  const journal = makeJournal('a', 'b', 'c')
  const witness = await makeWitness('one.example')
  const first = start(journal, [witness])
  await expect.poll(first.lastCosigned).toBeDefined()
  await first.push.close()
  journal.entries.push('d')
  const second = start(journal, [witness])
  await expect.poll(() => sizes(second)).toEqual([4])
  expect(witness.requests.slice(1).map((line) => line.split(' ').at(-1))).toEqual(['0', '3'])
  await second.push.close()
  journal.entries.push('e')
  const third = start(journal, [witness], { lastCosigned: second.lastCosigned() })
  expect(isCosigned(third.push.cosigned(), witness)).toBe(true)
  await expect.poll(() => sizes(third)).toEqual([5])
  expect(witness.requests.slice(3)).toEqual(['POST /witness/add-checkpoint old 4'])
})

test.each([
  ['forked', 'before the last cosigned entry', ['a', 'x', 'c', 'd', 'e', 'f']],
  ['forked', 'at the same size', ['a', 'b', 'c', 'd', 'x']],
  ['rolled_back', 'shorter', ['a', 'b', 'c']],
  ['forked', 'rolled back and grown again with other entries', ['a', 'b', 'c', 'x', 'y', 'z']],
] as const)(
  'attack: a journal that was %s (%s) is cosigned by nobody',
  async (problem, _, entries) => {
    const witness = await makeWitness('one.example')
    const honest = start(makeJournal('a', 'b', 'c', 'd', 'e'), [witness])
    await expect.poll(honest.lastCosigned).toBeDefined()
    await honest.push.close()
    for (const lastCosigned of [honest.lastCosigned(), undefined]) {
      const attacker = start(makeJournal(...entries), [witness], { lastCosigned })
      await expect.poll(() => attacker.problems).toEqual([['one.example', problem]])
      expect(attacker.push.states()).toMatchObject([{ problem }])
      expect(attacker.push.leads()).toMatchObject([{ name: 'one.example', problem, seen: 5 }])
      // What was cosigned before stays what is served.
      expect(attacker.push.cosigned()).toBe(lastCosigned)
      await attacker.push.close()
    }
    expect(witness.seen()).toBe(5)
  },
)

test('C42: the first answer of a witness tells whether the store was put back while it was closed, however late it comes; later ones are of other processes', async () => {
  const witness = await makeWitness('one.example')
  const honest = start(makeJournal('a', 'b', 'c'), [witness])
  await expect.poll(honest.lastCosigned).toBeDefined()
  witness.answerInstead(() => ({ status: 409, body: '9\n' }))
  honest.push.grown()
  honest.elapse()
  await honest.push.compared()
  expect(honest.push.leads()).toEqual([])
  witness.answerInstead(() => ({ status: 503, body: '' }))
  const late = start(makeJournal('a'), [witness])
  await late.push.compared()
  expect(late.push.leads()).toEqual([])
  witness.answerInstead(undefined)
  late.elapse()
  await expect.poll(() => late.leads.length).toBe(1)
  const lead = { name: 'one.example', problem: 'rolled_back', seen: 3, size: 1 }
  expect(late.push.leads()).toMatchObject([lead])
  // What an operator gave up is no news, unless somebody has shown more since.
  const { verifierKey } = witness
  for (const [givenUp, count] of [
    [3, 0],
    [2, 1],
  ] as const) {
    const { push } = start(makeJournal('a'), [witness], { givenUp: { [verifierKey]: givenUp } })
    await push.compared()
    expect(push.leads()).toHaveLength(count)
  }
})

test('a witness that is away holds up no other and is asked again, as late as its failures in a row demand', async () => {
  const journal = makeJournal('a')
  const [here, away] = [await makeWitness('here.example'), await makeWitness('away.example')]
  away.answerInstead(() => ({ status: 503, body: '' }))
  const started = start(journal, [here, away])
  for (let attempt = 1; attempt <= 4; attempt += 1) {
    await expect.poll(() => started.problems.length).toBe(attempt)
    // Meanwhile the journal grows, and whoever rests is not asked for it.
    journal.entries.push('more')
    started.elapse()
  }
  await expect.poll(() => sizes(started)).toEqual([5, undefined])
  away.answerInstead(undefined)
  await expect.poll(() => started.problems.length).toBe(5)
  started.elapse()
  await expect.poll(() => sizes(started)).toEqual([5, 5])
  expect(started.push.states()[1]?.problem).toBe(undefined)
  away.answerInstead(() => ({ status: 503, body: '' }))
  journal.entries.push('more')
  started.push.grown()
  started.elapse()
  await expect.poll(() => started.problems.length).toBe(6)
  const gathering = 1_000
  expect(started.waits).toEqual([5_000, 10_000, 15_000, 20_000, 25_000, gathering, 5_000])
})

test.each([
  ['a page', () => '<html>sign in</html>'],
  ['a cosignature by another key', (body: string) => otherLine(body, 'liar.example')],
  ['one by another key under its own name', (body: string) => otherLine(body, 'one.example')],
  ['nothing', () => ''],
])('attack: a witness answers %s: nothing is kept of it', async (_, text) => {
  const witness = await makeWitness('one.example')
  witness.answerInstead((body) => ({ status: 200, body: text(body) }))
  const started = start(makeJournal('a', 'b'), [witness])
  await expect.poll(() => started.problems).toEqual([['one.example', 'bad_answer']])
  expect(started.push.cosigned()).toBe(undefined)
  expect(started.lastCosigned()).toBe(undefined)
})

function otherLine(body: string, keyName: string): string {
  const note = body.slice(body.indexOf('\n\n') + 2)
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
  return witnessKey(keyName, Buffer.alloc(32, 3)).cosign(text, 1)
}

test('attack: a witness answers 409 with sizes that lead nowhere: three requests, and no more', async () => {
  const witness = await makeWitness('one.example')
  let size = 0
  witness.answerInstead(() => {
    size += 1
    return { status: 409, body: `${size}\n` }
  })
  const started = start(makeJournal('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), [witness])
  await expect.poll(() => witness.requests.length).toBe(3)
  await started.push.close()
  expect(witness.requests.length).toBe(3)
  expect(started.push.cosigned()).toBe(undefined)
})

test('attack: the kept file was altered, or is another journal’s: it is not served', async () => {
  const journal = makeJournal('a', 'b')
  const witness = await makeWitness('one.example')
  const honest = start(journal, [witness])
  await expect.poll(honest.lastCosigned).toBeDefined()
  const note = honest.lastCosigned() ?? ''
  const stranger = createNoteSigner({ keyName: ORIGIN, seed: Buffer.alloc(32, 8) })
  const line = note.slice(note.lastIndexOf('\u2014'))
  for (const altered of [
    note.replace('\n2\n', '\n3\n'),
    stranger.sign(note.slice(0, note.lastIndexOf('\n\n') + 1)) + line,
    note.replace(line, ''),
    'nonsense',
  ])
    expect(start(makeJournal(), [witness], { lastCosigned: altered }).push.cosigned()).toBe(
      undefined,
    )
  expect(start(makeJournal(), [witness], { lastCosigned: note }).push.cosigned()).toBe(note)
})

test('an empty journal is shown to nobody', async () => {
  const witness = await makeWitness('one.example')
  await start(makeJournal(), [witness]).push.close()
  expect(witness.requests).toEqual([])
})
