#!/usr/bin/env node
import { HELP, readArguments } from './command/read-arguments.ts'
import { welcome, welcomeToXLayer } from './command/welcome.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { startXLayer, type XLayer } from './xlayer/start-xlayer.ts'

process.exitCode = await main()

async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2))
  if (wanted.kind === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (wanted.kind === 'invalid') {
    process.stderr.write(`${wanted.message}\n\n${HELP}`)
    return 2
  }
  try {
    const devnet = await startDevnet(wanted)
    const xLayer = await startXLayerIfWanted(wanted, devnet)
    const ended = stopOnSignal([devnet, ...(xLayer === undefined ? [] : [xLayer])])
    process.stdout.write(await welcome(devnet, (accountId) => readBalance(devnet, accountId)))
    if (xLayer !== undefined) process.stdout.write(welcomeToXLayer(xLayer))
    await ended
    return 0
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`)
    return 1
  }
}

/** Starts the second chain; the first one does not outlive its failure. */
async function startXLayerIfWanted(
  { host, xLayerPort: port }: { host: string; xLayerPort: number | undefined },
  devnet: Devnet,
): Promise<XLayer | undefined> {
  if (port === undefined) return undefined
  try {
    return await startXLayer({ host, port })
  } catch (cause) {
    await devnet.stop()
    throw cause
  }
}

function stopOnSignal(ledgers: readonly { stop(): Promise<void> }[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      void Promise.allSettled(ledgers.map((ledger) => ledger.stop())).then(resolveOrReject)
    }
    const resolveOrReject = (ends: readonly PromiseSettledResult<void>[]): void => {
      const failure = ends.find((end) => end.status === 'rejected')
      if (failure === undefined) resolve()
      else reject(failure.reason)
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
  })
}

async function readBalance(devnet: Devnet, accountId: string): Promise<bigint> {
  const response = await fetch(`${devnet.mirrorUrl}/api/v1/accounts/${accountId}`)
  const account: unknown = await response.json()
  const isAccount = typeof account === 'object' && account !== null && 'balance' in account
  return BigInt((isAccount ? (account.balance as { balance: number }).balance : 0) ?? 0)
}
