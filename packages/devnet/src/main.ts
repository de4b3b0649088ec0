#!/usr/bin/env node
import { HELP, readArguments } from './command/read-arguments.ts'
import { welcome } from './command/welcome.ts'
import type { Devnet } from './devnet.ts'
import { startDevnet } from './start-devnet.ts'

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
    const ended = stopOnSignal(devnet)
    process.stdout.write(await welcome(devnet, (accountId) => readBalance(devnet, accountId)))
    await ended
    return 0
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`)
    return 1
  }
}

function stopOnSignal(devnet: Devnet): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      devnet.stop().then(resolve, reject)
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
