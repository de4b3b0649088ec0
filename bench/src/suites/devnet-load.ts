// Whether the Hedera stand-in ages: a send, and the memory of all its processes, after two hours of load beside what they were
// when it was fresh. Every transaction, block and read of those hours is made; only the waiting between them is left out, since
// ledger time leaps.
import { execFileSync } from 'node:child_process'
import { createPublicClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type Figure, judgeFigure } from '../figure.ts'
import { control } from '../ledger-control.ts'
import { HEDERA_CHAIN_ID } from '../payment-network.ts'
import { median } from '../quantile.ts'
import type { DevnetFacts } from '../server/devnet-server.ts'
import { ServerProcess } from '../server-process.ts'

const LOAD_SECONDS = 7_200
/** Two sends a second, each with a read before it and its receipt after it: a busy service with leases sends fewer. */
const SENDS_A_SECOND = 2
/** Ledger seconds between two leaps: idle blocks are closed on the way. */
const LEAP_SECONDS = 10
/** Sends whose median is compared. */
const SAMPLE = 400
const RSS_MB_MAX = 600
/** What it may age: 1.5 times the time of a fresh send. */
const AGED_RATIO = 0.67

/** Resident memory of a process and of all that it started, MB. */
function residentMb(pid: number): number {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,rss='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number))
  const family = new Set([pid])
  // A child's number may be below its parent's: as often as there are generations.
  for (let size = 0; size !== family.size; ) {
    size = family.size
    for (const [child = 0, parent = 0] of rows) if (family.has(parent)) family.add(child)
  }
  const kilobytes = rows.filter(([child = 0]) => family.has(child)).map(([, , rss = 0]) => rss)
  return kilobytes.reduce((sum, size) => sum + size, 0) / 1_024
}

/** Sends that many transactions one after another; returns the milliseconds of each send. */
function sender(ledgerUrl: string, { senderKey, receiver }: DevnetFacts) {
  const account = privateKeyToAccount(senderKey)
  const client = createPublicClient({ transport: http(ledgerUrl) })
  let nonce = 0
  return async (count: number): Promise<readonly number[]> => {
    const gasPrice = (await client.getGasPrice()) * 2n
    const times: number[] = []
    for (let sent = 0; sent < count; sent += 1) {
      await client.getBalance({ address: receiver })
      const serializedTransaction: Hex = await account.signTransaction({
        type: 'legacy',
        chainId: HEDERA_CHAIN_ID,
        nonce,
        gasPrice,
        gas: 21_000n,
        to: receiver,
        value: 10_000_000_000n,
      })
      const sentMs = performance.now()
      const hash = await client.sendRawTransaction({ serializedTransaction })
      times.push(performance.now() - sentMs)
      await client.getTransactionReceipt({ hash })
      nonce += 1
    }
    return times
  }
}

/** A send and the memory, fresh and after two hours. */
export async function measureDevnetLoad(): Promise<readonly Figure[]> {
  const server = await ServerProcess.start('devnet-server.ts', [])
  try {
    const facts = JSON.parse(server.details) as DevnetFacts
    const send = sender(server.url, facts)
    await send(SAMPLE) // warms up
    const fresh = median(await send(SAMPLE))
    const freshMb = residentMb(facts.pid)
    let largestMb = freshMb
    for (let second = 0; second < LOAD_SECONDS; second += LEAP_SECONDS) {
      await send(SENDS_A_SECOND * LEAP_SECONDS)
      await control(server.url, 'advanceSeconds', LEAP_SECONDS)
      largestMb = Math.max(largestMb, residentMb(facts.pid))
    }
    const baseline = 'fresh'
    return [
      judgeFigure({
        name: 'a send to the stand-in after two hours of load, p50',
        value: median(await send(SAMPLE)),
        unit: 'ms',
        baseline: { name: baseline, value: fresh },
        aim: { kind: 'ratio', times: AGED_RATIO },
      }),
      judgeFigure({
        name: 'resident memory of the stand-in, largest in two hours of load',
        value: largestMb,
        unit: 'MB',
        baseline: { name: baseline, value: freshMb },
        aim: { kind: 'at-most', value: RSS_MB_MAX },
      }),
    ]
  } finally {
    await server.stop()
  }
}
