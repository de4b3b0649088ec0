// Starts anvil as a child that cannot outlive this process. A shell between the two watches a pipe that only we hold
// open. When we end, for whatever reason, the pipe closes, and the shell kills anvil and removes its scratch folder.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '@tallystick/service-kit'
import { reachableHost } from '../listen.ts'

/** anvil ended, or did not start. The message contains its last output. */
export class AnvilFailed extends Error {
  override name = 'AnvilFailed'
}

/** How long anvil may take to listen, in milliseconds; it takes about 20 here. */
const START_MS_MAX = 15_000

/** How much of anvil's output is kept for an error message, in characters. */
const OUTPUT_CHARACTERS_KEPT = 4_000

// $1 is the scratch folder, the rest is the command. Descriptor 3 is the pipe from our process. The shell prints nothing:
// writing to a closed pipe would end it before it has cleaned up.
const GUARDIAN = `
scratch=$1; shift
exec 3<&0
"$@" </dev/null 3<&- &
anvil=$!
exec >/dev/null 2>&1
{ read -r _ <&3; kill -9 $anvil 2>/dev/null; } </dev/null &
wait $anvil
rm -rf "$scratch"
kill -9 0
`

type AnvilOptions = {
  chainId: number
  genesisSecond: number
  gasLimit: number
  /** How many blocks' states and transactions are kept; by default all, most states on disk. */
  blocksKept?: number
  /** A free port by default. */
  port?: number
  /** Address to listen on; loopback by default. */
  host?: string
}

/** Starts anvil without a base fee, with its genesis block at `genesisSecond` (Unix seconds). */
export async function startAnvil(options: AnvilOptions) {
  const anvil = findAnvil()
  const scratch = mkdtempSync(join(tmpdir(), 'tallystick-devnet-'))
  const command = [anvil, ...anvilArguments(options), '--cache-path', scratch]
  const child = spawn('/bin/sh', ['-c', GUARDIAN, 'devnet-guardian', scratch, ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group, so that Ctrl-C reaches only us, and we stop it in order.
    detached: true,
    env: { ...process.env, HOME: scratch },
  })
  child.stdin.on('error', () => undefined)
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve()
    })
  })
  const port = await listeningPort(child)
  return {
    /** Address and port of its JSON-RPC. */
    host: reachableHost(options.host ?? '127.0.0.1'),
    port,
    /** Process id of anvil's guardian; anvil is in its process group. */
    processId: child.pid ?? 0,
    /** Kills it and waits until it is gone. */
    async stop(): Promise<void> {
      child.stdin.end()
      await exited
    },
  }
}

const onlyNewest = (blocks: string): string[][] => [
  ['--prune-history', blocks],
  ['--transaction-block-keeper', blocks],
]

function anvilArguments(options: AnvilOptions): string[] {
  return [
    ['--host', options.host ?? '127.0.0.1'],
    ['--port', String(options.port ?? 0)],
    ['--chain-id', String(options.chainId)],
    ['--hardfork', 'cancun'],
    ['--block-base-fee-per-gas', '0'],
    ['--gas-limit', String(options.gasLimit)],
    ['--timestamp', String(options.genesisSecond)],
    ['--accounts', '0'],
    ['--order', 'fifo'],
    ['--auto-impersonate'],
    ['--no-request-size-limit'],
    ...(options.blocksKept === undefined ? [] : onlyNewest(String(options.blocksKept))),
  ].flat()
}

function listeningPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => {
      child.stdin?.end()
      reject(new AnvilFailed(`anvil did not listen within ${START_MS_MAX} ms. ${output}`))
    }, START_MS_MAX)
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-OUTPUT_CHARACTERS_KEPT)
      const port = /Listening on (?:\[[\da-f:.]+\]|[\d.]+):(\d+)/i.exec(output)?.[1]
      if (port === undefined) return
      clearTimeout(timer)
      child.stdout?.off('data', read).resume()
      resolve(Number(port))
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('error', (cause) => {
      clearTimeout(timer)
      reject(new AnvilFailed('anvil could not be started', { cause }))
    })
    // Not 'exit': only 'close' comes after all output.
    child.once('close', () => {
      clearTimeout(timer)
      reject(new AnvilFailed(`anvil ended before it listened. ${output}`))
    })
  })
}

/** There is no `anvil` to run, neither in the npm package for this platform nor on PATH. */
export class AnvilMissing extends Error {
  override name = 'AnvilMissing'
}

/**
 * The path of the real anvil program: the npm package's, otherwise the first on `pathVariable`. Never the npm launcher,
 * which would leave its child behind when killed.
 * @throws AnvilMissing with what to install
 */
export function findAnvil(pathVariable = process.env['PATH'] ?? ''): string {
  return fromPackage() ?? findProgram('anvil', pathVariable) ?? fail()
}

function fromPackage(): string | undefined {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const outer = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    return createRequire(outer).resolve(`@foundry-rs/anvil-${process.platform}-${cpu}/bin/anvil`)
  } catch {
    return undefined
  }
}

function fail(): never {
  throw new AnvilMissing(
    `No anvil for ${process.platform}-${process.arch}: npm carries none for this platform and there is none on PATH. ` +
      'Install Foundry (https://getfoundry.sh) and run again.',
  )
}
