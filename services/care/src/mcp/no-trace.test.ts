// The partition as a property: whatever is written and asked, in whatever order, no frame and no answer of either revision holds
// anything that its principal may not know of. Bounded here; a million of them with TALLYSTICK_LONG=1.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { modernCalls } from './edges/modern.fixture.ts'
import { type ClientSession, type McpFixture, startMcp } from './mcp.fixture.ts'
import type { EventReader } from './sessions/event-reader.fixture.ts'

const isLong = process.env['TALLYSTICK_LONG'] === '1'
/** Frames and answers looked at. */
const LOOKED_AT = isLong ? 1_000_000 : 2_000
/** Sessions with a stream, and listens, of each principal. */
const STREAMS = isLong ? 25 : 2
/** Answers asked for by each principal in each revision, between two writes. */
const READS_PER_WRITE = 1
const SEED = 20_261_123

const DOMAINS = ['tea', 'plan', 'walk']
/** Each principal, and what must not be in anything that it is sent. Some answers repeat the patient that was asked for. */
const PRINCIPALS = [
  { scope: 'care.read.user', trace: /secret|care-internal/i },
  { scope: 'care.read.user:ann care.read.assistant:ann', trace: /theirs|:\/\/wren|[[,]"wren"/i },
  { scope: 'care.read.assistant', trace: /public|care:/i },
] as const

let fixture: McpFixture
const { call, listen, issueToken } = modernCalls(() => fixture)
beforeAll(async () => {
  fixture = await startMcp({ limits: { pageVersions: 5, pageChains: 2 } })
  for (const domain of DOMAINS) await write(domain)
})
afterAll(() => fixture.close())

/** Mulberry32: the same steps in every run. */
function chance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
const roll = chance(SEED)
const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
  items[roll(items.length)] ?? items[0]

let written = 0
/** One version for each patient and audience; what it says tells whose it is. */
async function write(domain: string): Promise<void> {
  written += 1
  for (const patient of ['ann', 'wren']) {
    const whose = patient === 'wren' ? ', theirs' : ''
    await fixture.write({ patient, domain, value: `Public ${written}${whose}.` })
    const internal = { patient, domain: `${domain}-secret`, audience: 'assistant' } as const
    await fixture.write({ ...internal, value: `Secret ${written}${whose}.`, authorId: 'secret' })
  }
}

const URIS = ['ann', 'wren'].flatMap((patient) =>
  DOMAINS.flatMap((domain) => [
    `care://${patient}/${domain}`,
    `care-internal://${patient}/${domain}-secret`,
  ]),
)

const tool = (name: string, input: object) => ['tools/call', { name, arguments: input }] as const

/** Something that a principal may ask; what it names is chosen blindly. */
function anyQuestion(): readonly [string, object] {
  const uri = URIS[roll(URIS.length)] ?? ''
  const patient = pick(['ann', 'wren'])
  return pick([
    ['resources/read', { uri: roll(2) === 0 ? uri : `${uri}/1` }],
    ['resources/list', {}],
    ['prompts/get', { name: pick(['brief_carer', 'whats_changed']), arguments: { patient } }],
    [
      'completion/complete',
      {
        ref: { type: 'ref/prompt', name: 'brief_carer' },
        argument: { name: 'patient', value: '' },
      },
    ],
    tool('read_record', { uri }),
    tool('whats_changed', { patient }),
    tool('list_records', {}),
    tool('changes_since', {}),
    tool('search', { query: pick(['secret', 'public', 'wren', 'ann plan']) }),
    tool('fetch', { id: uri }),
  ])
}

type Party = {
  readonly scope: string
  readonly trace: RegExp
  readonly session: ClientSession
  readonly readers: readonly EventReader[]
}

async function join({ scope, trace }: (typeof PRINCIPALS)[number]): Promise<Party> {
  const readers: EventReader[] = []
  const sessions: ClientSession[] = []
  for (let count = 0; count < STREAMS; count += 1) {
    const session = await fixture.open(scope, { sub: scope })
    for (const uri of URIS) await session.subscribe(uri)
    sessions.push(session)
    readers.push(await session.stream())
    const requested = { resourcesListChanged: true, resourceSubscriptions: URIS }
    readers.push(await listen(issueToken(scope, scope), requested))
  }
  const [session] = sessions
  if (session === undefined) throw new Error('no session')
  return { scope, trace, session, readers }
}

/** What was sent to a party since, without what it had asked for itself. */
const takenFrom = ({ readers }: Party): readonly unknown[] =>
  readers.flatMap((reader) => reader.events.splice(0).map(({ message }) => message))

async function answersTo({ scope, session }: Party): Promise<readonly unknown[]> {
  const answers: unknown[] = []
  for (let count = 0; count < READS_PER_WRITE; count += 1) {
    const [method, params] = anyQuestion()
    const inSession = await session.call(method, params)
    const { body } = await call(scope, method, params)
    // `data` of a refusal repeats what was asked.
    for (const { error, result } of [inSession, body]) answers.push(result ?? error?.message)
  }
  return answers
}

describe('C21: frames and answers hold no trace of what their principal may not know of', () => {
  it(`${LOOKED_AT} of them`, async () => {
    const parties: Party[] = []
    for (const principal of PRINCIPALS) parties.push(await join(principal))
    let frames = 0
    let answers = 0
    const look = (party: Party, heard: readonly unknown[]): void => {
      for (const each of heard) {
        const text = JSON.stringify(each) ?? ''
        if (party.trace.test(text)) throw new Error(`${party.scope}: ${text}`)
      }
    }
    while (frames + answers < LOOKED_AT) {
      await write(DOMAINS[roll(DOMAINS.length)] ?? '')
      for (const party of parties) {
        const messages = takenFrom(party)
        const answered = await answersTo(party)
        look(party, messages)
        look(party, answered)
        frames += messages.length
        answers += answered.length
      }
    }
    expect(frames).toBeGreaterThan(answers)
    for (const { readers } of parties) for (const reader of readers) reader.drop()
  })
})
