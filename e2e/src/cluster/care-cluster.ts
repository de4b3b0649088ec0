// Three processes of care over the trio, behind the proxy, as an operator starts them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, systemClock } from '@tallystick/service-kit'
import { runSql } from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { startServiceProcess } from '../../../packages/service-kit/src/service-process.fixture.ts'
import { runCare } from '../../../services/care/src/command/run-care.ts'
import { eventually } from '../eventually.ts'
import { startProxy } from './round-robin-proxy.ts'

const MAIN = fileURLToPath(new URL('../../../services/care/src/main.ts', import.meta.url))
const PROCESSES = 3
const SECRET = 'what everybody in this test knows, to the letter'

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
  await answer?.arrayBuffer()
  return answer?.ok === true
}

/** As a supervisor does: one that ends as it starts, while no server takes writes say, is started again. */
export async function untilStarted(start: () => Promise<unknown>): Promise<void> {
  let failure: unknown
  const isStarted = () =>
    start().then(
      () => true,
      (error) => {
        failure = error
        return false
      },
    )
  await eventually(isStarted).catch((cause) => {
    throw new Error(`It never started, at last since ${String(failure)}`, { cause })
  })
}

export type ClusterDatabase = {
  /** Of all servers. */
  readonly url: string
  /** Of the primary itself. */
  readonly adminUrl: string
}

export async function startCareCluster(database: ClusterDatabase, count = PROCESSES) {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-cluster-'))
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const proxy = await startProxy(ports)
  const environment = {
    HOST: '127.0.0.1',
    BASE_URL: proxy.url,
    WRITE_SECRET: SECRET,
    TOKEN_SECRET: SECRET,
    CHECKPOINT_KEY: Buffer.alloc(32, 7).toString('base64'),
    DATABASE_URL: database.url,
    LOG_LEVEL: 'info',
  }
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  const migrated = await runCare({
    arguments: ['migrate'],
    environment: { DATABASE_URL: database.adminUrl },
    clock: systemClock,
    stdin: process.stdin,
    print,
    printError: print,
  })
  if (migrated !== 0) throw new Error(printed.join('\n'))
  /** `words` are Node's own. */
  const start = (at: number, words: readonly string[] = []) =>
    startServiceProcess([...words, MAIN], {
      ...environment,
      PORT: String(ports[at]),
      DATABASE_PATH: join(folder, `care-${at}.db`),
    })
  const running = ports.map((_, at) => start(at))
  const untilReady = (at: number) => eventually(() => isReady(ports[at] ?? 0))
  await Promise.all(ports.map((_, at) => untilReady(at)))
  return {
    name: 'care',
    care: {
      baseUrl: proxy.url,
      mcpUrl: `${proxy.url}/mcp`,
      writeSecret: SECRET,
      tokenSecret: SECRET,
    },
    proxyPort: proxy.port,
    signal: (at: number, signal: 'SIGSTOP' | 'SIGCONT'): void => running[at]?.kill(signal),
    /** One dies, and its successor begins. */
    async killAndRestart(at: number): Promise<void> {
      running[at]?.kill('SIGKILL')
      await running[at]?.ended
      await untilStarted(() => {
        running[at] = start(at)
        return running[at].url()
      })
      await untilReady(at)
    },
    /** One is told to end, and another, with words for Node, begins once it has. */
    async replace(at: number, words: readonly string[]): Promise<void> {
      running[at]?.kill('SIGTERM')
      await running[at]?.ended
      running[at] = start(at, words)
      await running[at].url()
      await untilReady(at)
    },
    untilAllReady: async () => void (await Promise.all(ports.map((_, at) => untilReady(at)))),
    logs: () => running.map((each) => each.output()),
    async stop(): Promise<void> {
      for (const each of running) {
        each.kill('SIGCONT')
        each.kill('SIGKILL')
      }
      await Promise.all(running.map((each) => each.ended))
      proxy.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type CareCluster = Awaited<ReturnType<typeof startCareCluster>>

/** Every version of every chain, from the primary itself. */
export async function readStored(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await runSql(
    url,
    `SELECT c.patient, c.domain, v.version::int AS version, convert_from(v.body, 'UTF8') AS body
     FROM care.user_versions v JOIN care.chains c ON c.id = v.chain ORDER BY c.id, v.version`,
  )
  const stored = new Map<string, string[]>()
  for (const { body, domain, patient } of rows) {
    const chain = `care://${String(patient)}/${String(domain)}`
    const { value } = JSON.parse(String(body)) as { value: string }
    stored.set(chain, [...(stored.get(chain) ?? []), value])
  }
  return stored
}
