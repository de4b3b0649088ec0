// A local stack whose access service can be killed and restarted as by an operator's supervisor, with a more detailed log
// than usual, and whose ledger obeys the `devnet_*` controls.
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalStack } from '../../scripts/stack/local-stack.ts'
import { freePorts } from '../../scripts/stack/ports.ts'
import { type ServiceProcess, spawnService } from '../../scripts/stack/service-process.ts'
import { isRunning, type StackDescription } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'

const KILL_MS_MAX = 5_000

/** An account of the local ledger, with its key. */
export type LedgerAccount = {
  readonly name: string
  readonly accountId: string
  readonly evmAddress: `0x${string}`
  readonly privateKey: `0x${string}`
}

export type KillableStack = {
  readonly description: StackDescription
  /** Calls a method of the ledger's JSON-RPC, including `devnet_*`. */
  ledger<Result>(method: string, ...parameters: readonly unknown[]): Promise<Result>
  newAgent(name: string, balanceTinybar: bigint): Promise<LedgerAccount>
  /** Ends a process of the stack immediately, with SIGKILL. */
  kill(name: 'access' | 'facilitator'): Promise<void>
  /** Starts access again after it was killed; resolves when it listens. */
  restartAccess(): Promise<void>
  /** Everything the services have logged. */
  logs(): string
  stop(): Promise<void>
}

export async function startKillableStack(): Promise<KillableStack> {
  const logFolder = mkdtempSync(join(tmpdir(), 'tallystick-kill-'))
  const stack = createLocalStack({
    ports: await freePorts(),
    logFolder,
    dataFolder: logFolder,
    isWatching: false,
    onStep: () => undefined,
  })
  const description = await stack.start().catch(async (error: unknown) => {
    await stack.stop()
    throw error
  })
  const { access, facilitator, ledger: edge } = description
  const pids = new Map(Object.entries(description.process.children))
  const restarted: ServiceProcess[] = []

  const ledger = async <Result>(
    method: string,
    ...parameters: readonly unknown[]
  ): Promise<Result> => {
    const answer = await fetch(edge.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters }),
    })
    const body = (await answer.json()) as { result: Result; error?: { message: string } }
    if (body.error !== undefined) throw new Error(`${method}: ${body.error.message}`)
    return body.result
  }
  const accounts = await ledger<LedgerAccount[]>('devnet_accounts')
  const keyOf = (name: string): string =>
    accounts.find((account) => account.name === name)?.privateKey ?? ''

  const restartAccess = async (): Promise<void> => {
    const service = spawnService({
      name: 'access',
      main: 'services/access/src/main.ts',
      readyUrl: `${access.baseUrl}/health`,
      logFile: join(logFolder, `access-${restarted.length + 1}.log`),
      isWatching: false,
      environment: {
        HOST: '127.0.0.1',
        PORT: new URL(access.baseUrl).port,
        BASE_URL: access.baseUrl,
        LEDGER_RPC_URL: edge.rpcUrl,
        MIRROR_URL: edge.mirrorUrl,
        FACILITATOR_URL: facilitator.url,
        ACCESS_CONTRACT: access.contract,
        PAY_TO: access.payTo,
        PAY_TO_KEY: keyOf('operator'),
        RECORDER_KEY: keyOf('recorder'),
        LOG_LEVEL: 'debug',
      },
    })
    restarted.push(service)
    pids.set('access', service.pid)
    await service.ready()
  }

  return {
    description,
    ledger,
    restartAccess,
    newAgent: (name, balanceTinybar) =>
      ledger('devnet_createAccount', { name, balanceTinybar: String(balanceTinybar) }),
    async kill(name) {
      const pid = pids.get(name) ?? 0
      process.kill(pid, 'SIGKILL')
      await eventually(() => !isRunning(pid), { timeoutMs: KILL_MS_MAX })
    },
    logs: () =>
      readdirSync(logFolder)
        .filter((file) => file.endsWith('.log'))
        .map((file) => readFileSync(join(logFolder, file), 'utf8'))
        .join('\n'),
    async stop() {
      for (const service of restarted) await service.stop()
      await stack.stop()
    },
  }
}
