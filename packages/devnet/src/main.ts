#!/usr/bin/env node
import { readVersion } from '@tallystick/service-kit/command'
import { type ControlCall, HELP, readArguments } from './command/read-arguments.ts'
import { controlled, welcome, welcomeToXLayer } from './command/welcome.ts'
import { SEND_LATENCY_MS } from './ledger/network-faults.ts'
import { type Devnet, startDevnet } from './start-devnet.ts'
import { startXLayer, type XLayer } from './xlayer/start-xlayer.ts'

process.exitCode = await main()

async function main(): Promise<number> {
  const wanted = readArguments(process.argv.slice(2))
  if (wanted.kind === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (wanted.kind === 'version') {
    process.stdout.write(`tallystick-devnet ${readVersion()}\n`)
    return 0
  }
  if (wanted.kind === 'invalid') {
    process.stderr.write(`${wanted.message}\n\n${HELP}`)
    return 2
  }
  try {
    const devnet = await startDevnet({ sendLatencyMs: SEND_LATENCY_MS, ...wanted })
    const xLayer = await startXLayerIfWanted(wanted, devnet)
    const ledgers = [devnet, ...(xLayer === undefined ? [] : [xLayer])]
    const ended = stopOnSignal(ledgers)
    process.stdout.write(await welcome(devnet))
    if (xLayer !== undefined) process.stdout.write(welcomeToXLayer(xLayer))
    const refused = await firstRefusal(devnet, wanted.controls)
    if (refused !== undefined) {
      for (const ledger of ledgers) await ledger.stop()
      throw new Error(refused)
    }
    if (wanted.controls.length > 0) process.stdout.write(controlled(wanted.controls))
    await ended
    return 0
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`)
    return 1
  }
}

/** Calls the controls in order until the ledger refuses one; returns its reason. */
async function firstRefusal(
  { rpcUrl }: Devnet,
  controls: readonly ControlCall[],
): Promise<string | undefined> {
  for (const { name, parameters } of controls) {
    const call = { jsonrpc: '2.0', id: 1, method: `devnet_${name}`, params: parameters }
    const answer = await fetch(rpcUrl, { method: 'POST', body: JSON.stringify(call) })
    const { error } = (await answer.json()) as { error?: { message: string } }
    if (error !== undefined) return `--control ${name}: ${error.message}`
  }
  return undefined
}

/** Starts the second chain; if that fails, the first one ends too. */
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

/** Resolves once a signal has come and every ledger has ended, even if another failed to. */
async function stopOnSignal(ledgers: readonly { stop(): Promise<void> }[]): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => resolve())
  })
  const ends = ledgers.map((ledger) => ledger.stop())
  await Promise.allSettled(ends)
  await Promise.all(ends)
}
