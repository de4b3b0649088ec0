// Whether time tells what the answer does not: each operation on an internal record, by a principal without its scope, beside
// the same on one that does not exist, interleaved. The control is two that do not exist. What both take alike has a ratio of 1.
import { type Figure, judgeFigure } from '../figure.ts'
import { McpLoad } from '../mcp-load.ts'
import { median } from '../quantile.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PAIRS = 2_000
const WARM_PAIRS = 200
/** Characters of the hidden sentence: a usual one, and nearly the longest that a write may have. */
const SIZES = [60, 250_000] as const
/** How far a ratio may be from that of the control, either way. */
const TOLERANCE = 0.05

type Ask = (domain: string) => Promise<unknown>

const uriOf = (domain: string): string => `care-internal://ann/${domain}`

const uri = (domain: string) => ({ uri: uriOf(domain) })
const cursor = (domain: string) => Buffer.from(uriOf(domain)).toString('base64url')

/** Every operation that can name an internal record. */
function operations(load: McpLoad, session: string): Readonly<Record<string, Ask>> {
  const call = (method: string, params: (domain: string) => object): Ask => {
    return (domain) => load.call(session, method, params(domain))
  }
  const ref = { type: 'ref/resource', uri: 'care-internal://{patient}/{domain}/{version}' }
  return {
    read: call('resources/read', uri),
    'read of a version': call('resources/read', (domain) => ({ uri: `${uriOf(domain)}/1` })),
    subscribe: call('resources/subscribe', uri),
    unsubscribe: call('resources/unsubscribe', uri),
    'list by cursor': call('resources/list', (domain) => ({ cursor: cursor(domain) })),
    completion: call('completion/complete', (domain) => ({
      ref,
      argument: { name: 'version', value: '' },
      context: { arguments: { patient: 'ann', domain } },
    })),
    'tool read_record': call('tools/call', (domain) => ({
      name: 'read_record',
      arguments: uri(domain),
    })),
    '/verify?uri=': (domain) => load.get(`/verify?uri=${encodeURIComponent(uriOf(domain))}`),
    '/verify/export?uri=': (domain) =>
      load.get(`/verify/export?uri=${encodeURIComponent(uriOf(domain))}`),
  }
}

async function timeOf(ask: Ask, domain: string): Promise<number> {
  const startMs = performance.now()
  await ask(domain)
  return performance.now() - startMs
}

/** How the first of two takes compared with the second; which comes first changes from pair to pair. */
async function ratioOf(ask: Ask, [one, other]: readonly [string, string]): Promise<number> {
  const times: [number[], number[]] = [[], []]
  for (let pair = 0; pair < WARM_PAIRS + PAIRS; pair += 1) {
    const isOneFirst = pair % 2 === 0
    const first = await timeOf(ask, isOneFirst ? one : other)
    const second = await timeOf(ask, isOneFirst ? other : one)
    if (pair < WARM_PAIRS) continue
    times[0].push(isOneFirst ? first : second)
    times[1].push(isOneFirst ? second : first)
  }
  return median(times[0]) / median(times[1])
}

/** The wall between audiences, by time. */
export async function measureCareWall(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const server = await ServerProcess.start('care-server.ts', [folder.file('care.db'), 'clear'])
  const load = new McpLoad(server.url)
  const figures: Figure[] = []
  try {
    for (const size of SIZES)
      await load.writeRecord({
        patient: 'ann',
        domain: `hide-${size}`,
        audience: 'assistant',
        value: 'x'.repeat(size),
        authorId: 'dr-osei',
      })
    const [session = ''] = await load.openSessions(1)
    for (const [name, ask] of Object.entries(operations(load, session)))
      for (const size of SIZES) {
        const control = await ratioOf(ask, [`none-${size}`, `nope-${size}`])
        const ratio = await ratioOf(ask, [`hide-${size}`, `none-${size}`])
        figures.push(
          judgeFigure({
            name: `${name}: hidden over absent, off by, ${size} characters`,
            value: Math.abs(ratio - 1),
            unit: '',
            baseline: { name: 'absent over absent, off by', value: Math.abs(control - 1) },
            aim: { kind: 'at-most', value: TOLERANCE },
          }),
        )
      }
    return figures
  } finally {
    load.close()
    await server.stop()
  }
}
