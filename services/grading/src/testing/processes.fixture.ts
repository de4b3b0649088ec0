/** Equal processes of the service over one database, each as on a machine of its own, and customers who send a payment to all. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { PostgresServer } from '@tallystick/journal-store/postgres-server'
import { runSql } from '@tallystick/journal-store/postgres-server'
import { startGradingProcess } from './grading-process.fixture.ts'
import type { PostgresLedger } from './postgres-ledger.fixture.ts'
import { grade, posted, until, type XLayerFixture } from './xlayer.fixture.ts'

export type Processes = Awaited<ReturnType<typeof startProcesses>>

let started = 0

type Started = ReturnType<typeof startGradingProcess>

/** Starts so many, and waits until each is ready; `urls` are those that live. */
export async function startProcesses(
  fixture: XLayerFixture,
  options: {
    readonly ledger: Pick<PostgresLedger, 'url'>
    readonly count: number
    readonly change?: (machine: number) => Readonly<Record<string, string>>
  },
) {
  const { change = () => ({}), count, ledger } = options
  // A machine's checkpoints are of one ledger.
  const cluster = (started += 1)
  const all: Started[] = []
  const live = new Map<number, { readonly process: Started; readonly url: string }>()
  const environment = (machine: number): Readonly<Record<string, string>> =>
    fixture.environment(`machine-${cluster}-${machine}`, {
      DATABASE_URL: ledger.url,
      CHECKPOINT_KEY: Buffer.alloc(32, 3).toString('base64'),
      ...change(machine),
    })
  /** `words` are Node's own. */
  const start = async (machine: number, words: readonly string[] = []): Promise<void> => {
    const process = startGradingProcess(environment(machine), words)
    all.push(process)
    const url = await process.url()
    await until(async () => (await fetch(`${url}/ready`)).status === 200)
    live.set(machine, { process, url })
  }
  await Promise.all(Array.from({ length: count }, (_, machine) => start(machine)))
  return {
    urls: (): readonly string[] => [...live.values()].map(({ url }) => url),
    url: (machine: number): string => live.get(machine)?.url ?? '',
    signal: (machine: number, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void =>
      live.get(machine)?.process.kill(signal),
    output: (machine: number): string => live.get(machine)?.process.output() ?? '',
    /** Ends it without a word, or as it ends when it is told to. */
    async kill(machine: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
      const killed = live.get(machine)
      live.delete(machine)
      killed?.process.kill(signal)
      await killed?.process.ended
    },
    start,
    async end(): Promise<void> {
      for (const process of all) {
        process.kill('SIGCONT')
        process.kill('SIGTERM')
      }
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}

/** The sum of a counter over processes; its name has its labels. */
export async function sumMetric(urls: readonly string[], name: string): Promise<number> {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.startsWith(name))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

type SignedPayment = { readonly headers: Record<string, string>; readonly body: unknown }

/** Between two attempts of a customer, milliseconds. */
const AGAIN_MS = 250

/** A proxy's time-out, milliseconds: it goes to another process then. */
const ANSWER_MS = 10_000

/** Sends a payment once. */
export async function fetchText(url: string, { body, headers }: SignedPayment) {
  const signal = AbortSignal.timeout(ANSWER_MS)
  const answer = await fetch(url, { ...posted(body, headers), signal })
  return { status: answer.status, text: await answer.text() }
}

/**
 * Sends a payment to one process and, like a proxy's customer, to any other where that one is gone, until it is answered
 * definitely or the time is over. Undefined if it is still pending then.
 */
export async function sendUntilAnswered(
  processes: Pick<Processes, 'url' | 'urls'>,
  payment: SignedPayment,
  by: { readonly machine: number; readonly endMs: number },
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  for (let tries = 0; performance.now() < by.endMs; tries += 1) {
    const urls = processes.urls()
    const own = processes.url(by.machine)
    const url = tries === 0 && own !== '' ? own : urls[(by.machine + tries) % urls.length]
    if (url !== undefined) {
      const answer = await fetchText(grade({ baseUrl: url }), payment).catch(() => undefined)
      if (answer !== undefined && answer.status < 500) return answer
    }
    await pauseFor(AGAIN_MS)
  }
  return undefined
}

/** Picks by payment, as the database has them. */
export async function readPicks(ownerUrl: PostgresServer['url']): Promise<readonly string[]> {
  const { rows } = await runSql(ownerUrl, 'SELECT payment_id FROM grading.picks')
  return rows.map((row: { readonly payment_id: string }) => row.payment_id)
}

/** The Odds API, where each process asks under a path of its own, `/0` for the first. */
export async function startOddsApi() {
  const requested: number[] = []
  const waiting: (() => void)[] = []
  let isHeld = false
  const server = createServer((request, response) => {
    requested.push(Number(request.url?.slice(1, 2)))
    if (isHeld) waiting.push(() => response.end(JSON.stringify([comingMatch()])))
    else response.end('[]')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    makeUrl: (machine: number): string => `http://127.0.0.1:${port}/${machine}`,
    /** Which process asked, each time. */
    asked: (): readonly number[] => requested,
    /** From now on questions wait; they are answered with a match. */
    hold: (): void => void (isHeld = true),
    /** Answers them; what is asked from now on has no match. */
    release(): void {
      isHeld = false
      for (const answer of waiting.splice(0)) answer()
    },
    stop: async (): Promise<void> => void server.close(),
  }
}

/** A match of the next hour, with prices of now. */
function comingMatch() {
  const now = new Date().toISOString()
  const outcomes = ['Arsenal', 'Chelsea', 'Draw'].map((name) => ({ name, price: 3.1 }))
  const markets = [{ key: 'h2h', last_update: now, outcomes }]
  return {
    id: 'a coming match',
    sport_key: 'soccer_epl',
    commence_time: new Date(Date.now() + 3_600_000).toISOString(),
    home_team: 'Arsenal',
    away_team: 'Chelsea',
    bookmakers: [{ key: 'pinnacle', last_update: now, markets }],
  }
}

/** Entries that the ledger has. */
export async function ledgerSize(ownerUrl: string): Promise<number> {
  const { rows } = await runSql(ownerUrl, 'SELECT size FROM grading.journals')
  return Number(rows[0]?.['size'])
}
