/** Equal processes of the service over one database, each as on a machine of its own, and customers who send a payment to all. */
import { join } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import type { PostgresServer } from '@tallystick/journal-store/postgres-server'
import { runSql } from '@tallystick/journal-store/postgres-server'
import { startGradingProcess } from './grading-process.fixture.ts'
import type { PostgresLedger } from './postgres-ledger.fixture.ts'
import { grade, send, type XLayerFixture } from './xlayer.fixture.ts'

export type Processes = Awaited<ReturnType<typeof startProcesses>>

type Started = ReturnType<typeof startGradingProcess>

/** Starts so many, and waits until each listens; `urls` are those that live. */
export async function startProcesses(
  fixture: XLayerFixture,
  options: {
    readonly ledger: Pick<PostgresLedger, 'url'>
    readonly count: number
    readonly change?: Readonly<Record<string, string>>
  },
) {
  const { change, count, ledger } = options
  const all: Started[] = []
  const live = new Map<number, { readonly process: Started; readonly url: string }>()
  const start = async (machine: number): Promise<void> => {
    const process = startGradingProcess(
      fixture.environment(join(`machine-${machine}`), {
        DATABASE_URL: ledger.url,
        CHECKPOINT_KEY: Buffer.alloc(32, 3).toString('base64'),
        ...change,
      }),
    )
    all.push(process)
    live.set(machine, { process, url: await process.url() })
  }
  await Promise.all(Array.from({ length: count }, (_, machine) => start(machine)))
  return {
    urls: (): readonly string[] => [...live.values()].map(({ url }) => url),
    url: (machine: number): string => live.get(machine)?.url ?? '',
    signal: (machine: number, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): void =>
      live.get(machine)?.process.kill(signal),
    output: (machine: number): string => live.get(machine)?.process.output() ?? '',
    /** Ends it without a word. */
    async kill(machine: number): Promise<void> {
      const killed = live.get(machine)
      live.delete(machine)
      killed?.process.kill('SIGKILL')
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

/** Between two attempts of a customer, milliseconds. */
const AGAIN_MS = 250

/**
 * Sends a payment to one process and, like a proxy's customer, to any other where that one is gone, until it is answered
 * definitely or the time is over. Undefined if it is still pending then.
 */
export async function sendUntilAnswered(
  processes: Pick<Processes, 'url' | 'urls'>,
  payment: { readonly headers: Record<string, string>; readonly body: unknown },
  by: { readonly machine: number; readonly endMs: number },
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  for (let tries = 0; performance.now() < by.endMs; tries += 1) {
    const urls = processes.urls()
    const own = processes.url(by.machine)
    const url = tries === 0 && own !== '' ? own : urls[(by.machine + tries) % urls.length]
    if (url !== undefined) {
      const answer = await send(grade({ baseUrl: url }), payment.headers, payment.body).catch(
        () => undefined,
      )
      if (answer !== undefined && answer.status < 500)
        return { status: answer.status, text: answer.text }
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
