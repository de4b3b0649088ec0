// What a scrape of /metrics costs each service that has answered on its free routes, beside its /health.
import { type Figure, judgeFigure } from '../figure.ts'
import { gradingEnvironment } from '../paid-holds.ts'
import { deployOffer, inPaymentNetwork, startAccess } from '../payment-network.ts'
import { median } from '../quantile.ts'
import { getRequest, runLanes } from '../raw-load.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REPEATS = 7
const SCRAPES = 200
/** A thirtieth of a percent of a core, scraped every fifteen seconds. */
const AIM_MICROS = 500

/** Every route that it can answer adds lines to a scrape. */
async function askRoutes({ url }: ServerProcess): Promise<void> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: object }
  for (const path of [...Object.keys(paths), '/docs', '/llms.txt', '/nowhere'])
    await (await fetch(`${url}${path.replaceAll(/[{}]/g, '')}`)).arrayBuffer()
}

async function readMicros(server: ServerProcess, path: string): Promise<number> {
  const request = getRequest(new URL(server.url), path)
  const load = { url: server.url, lanes: 1, count: SCRAPES, status: 200, request: () => request }
  return (await server.readCpuMicros(() => runLanes(load))) / SCRAPES
}

async function scrapeFigure(name: string, server: ServerProcess): Promise<Figure> {
  try {
    await askRoutes(server)
    const scrapes: number[] = []
    const answers: number[] = []
    for (let round = 0; round <= REPEATS; round += 1) {
      const [scrape, answer] = [
        await readMicros(server, '/metrics'),
        await readMicros(server, '/health'),
      ]
      // The first round warms up.
      if (round === 0) continue
      scrapes.push(scrape)
      answers.push(answer)
    }
    return judgeFigure({
      name: `CPU per scrape of ${name}`,
      value: median(scrapes),
      unit: 'µs',
      baseline: { name: '/health', value: median(answers) },
      aim: { kind: 'at-most', value: AIM_MICROS },
    })
  } finally {
    await server.stop()
  }
}

/** Each service as an operator runs it, one after another. */
export async function measureScrape(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const care = await ServerProcess.start('care-server.ts', [folder.file('care.db'), 'clear'])
  const figures = [await scrapeFigure('care', care)]
  await inPaymentNetwork(1, async (network) => {
    const environment = gradingEnvironment(network.facts, {
      DATABASE_PATH: folder.file('grading.db'),
    })
    const grading = await ServerProcess.start('grading-server.ts', [JSON.stringify(environment)])
    figures.push(await scrapeFigure('grading', grading))
    const access = await startAccess(network, await deployOffer(network))
    figures.push(await scrapeFigure('access', access))
  })
  return figures
}
