// Whether time tells what the answer does not: each operation on an internal record, by a principal without its scope, beside
// the same on one that does not exist. The control is two that do not exist, between them. What takes alike has a ratio of 1.
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

const recordUri = (domain: string): string => `care-internal://ann/${domain}`

const uri = (domain: string) => ({ uri: recordUri(domain) })
const cursor = (domain: string) => Buffer.from(recordUri(domain)).toString('base64url')

/** Every operation that can name an internal record. */
function operations(load: McpLoad, session: string): Readonly<Record<string, Ask>> {
  const call = (method: string, params: (domain: string) => object): Ask => {
    return (domain) => load.call(session, method, params(domain))
  }
  const get = (path: string, as: 'visitor' | 'principal'): Ask => {
    return (domain) => load.get(`${path}?uri=${encodeURIComponent(recordUri(domain))}`, as)
  }
  const ref = { type: 'ref/resource', uri: 'care-internal://{patient}/{domain}/{version}' }
  return {
    read: call('resources/read', uri),
    'read of a version': call('resources/read', (domain) => ({ uri: `${recordUri(domain)}/1` })),
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
    '/verify?uri=': get('/verify', 'visitor'),
    '/verify?uri= with a token': get('/verify', 'principal'),
    '/verify/export?uri=': get('/verify/export', 'visitor'),
    '/verify/export?uri= with a token': get('/verify/export', 'principal'),
  }
}

async function measureTime(ask: Ask, domain: string): Promise<number> {
  const startMs = performance.now()
  await ask(domain)
  return performance.now() - startMs
}

/** Pairs in a sample: one first, other first, and both again the other way round, so that no place in it favours either. */
const PAIRS_PER_SAMPLE = 4

/** How the first of two takes compared with the second, by their logarithms. */
async function logRatio(ask: Ask, [first, other]: readonly [string, string]): Promise<number> {
  let sum = 0
  for (const domain of [first, other, other, first, other, first, first, other]) {
    const log = Math.log(await measureTime(ask, domain))
    sum += domain === first ? log : -log
  }
  return sum / PAIRS_PER_SAMPLE
}

/**
 * The ratios of some pairs, each pair's measured between those of the others, so that what the machine does meanwhile falls
 * on all: the median over the pairs, not the ratio of two medians, which that would move apart.
 */
async function measureRatios(
  ask: Ask,
  compared: readonly (readonly [string, string])[],
): Promise<readonly number[]> {
  const logs = compared.map((): number[] => [])
  for (let pair = 0; pair < WARM_PAIRS + PAIRS; pair += PAIRS_PER_SAMPLE)
    for (const [place, two] of compared.entries()) {
      const log = await logRatio(ask, two)
      if (pair >= WARM_PAIRS) logs[place]?.push(log)
    }
  return logs.map((each) => Math.exp(median(each)))
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
        const [ratio = 0, control = 0] = await measureRatios(ask, [
          [`hide-${size}`, `none-${size}`],
          [`nope-${size}`, `none-${size}`],
        ])
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
