// Three processes of grading over the trio, behind the proxy, and customers who send each payment to all of them at once. The
// chain and the facilitator outlive everything.
import { setTimeout as pause } from 'node:timers/promises'
import { stablecoinAbi } from '@tallystick/contracts'
import { freePort, systemClock } from '@tallystick/service-kit'
import { createPublicClient, http } from 'viem'
import { runSql } from '../../../packages/journal-store/src/postgres-server.fixture.ts'
import { runGrading } from '../../../services/grading/src/command/run-grading.ts'
import {
  sendUntilAnswered,
  startProcesses,
} from '../../../services/grading/src/testing/processes.fixture.ts'
import {
  startXLayerFixture,
  type XLayerFixture,
  xlayerCalls,
} from '../../../services/grading/src/testing/xlayer.fixture.ts'
import { gradeExample, uploadExample } from '../../../services/grading/src/wire/examples.ts'
import { type ClusterDatabase, untilStarted } from './care-cluster.ts'
import type { PaymentSeen } from './check-payments.ts'
import { startProxy } from './round-robin-proxy.ts'

const PROCESSES = 3
const PAYERS = 9
const PRICE = 10_000n
/** Grades of one payer differ by their odds, in hundredths, from here on. */
const FIRST_ODDS = 150
const AGAIN_MS = 250
/** A payment that no process answers for so long is pending, milliseconds: longer than a failover. */
export const PAYMENT_MS_MAX = 30_000
/** The same where nothing fails any more: whoever was charged is answered, on a loaded machine too. */
export const AGAIN_MS_MAX = 60_000

/** Runs a command of the operator. */
async function runCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin = '',
): Promise<void> {
  const printed: string[] = []
  const print = (line: string): void => void printed.push(line)
  const code = await runGrading({
    arguments: words,
    environment,
    clock: systemClock,
    stdin: (async function* () {
      yield Buffer.from(stdin)
    })(),
    print,
    printError: print,
  })
  if (code !== 0) throw new Error(printed.join('\n'))
}

/** The schema, and one match that is closed and settled. */
async function fillLedger(
  fixture: XLayerFixture,
  { url, adminUrl }: ClusterDatabase,
): Promise<void> {
  await runCommand(['migrate'], { DATABASE_URL: adminUrl })
  const environment = fixture.environment('filling', { DATABASE_URL: url, ...CHECKPOINT })
  await runCommand(['import', '-'], environment, JSON.stringify(uploadExample))
}

const CHECKPOINT = { CHECKPOINT_KEY: Buffer.alloc(32, 3).toString('base64') }

type SignedPayment = Parameters<typeof sendUntilAnswered>[1]

export async function startGradingCluster(database: ClusterDatabase, count = PROCESSES) {
  const fixture = await startXLayerFixture()
  await fillLedger(fixture, database)
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()))
  const proxy = await startProxy(ports)
  const processes = await startProcesses(fixture, {
    ledger: database,
    count,
    change: (machine) => ({ ...CHECKPOINT, PORT: String(ports[machine]), BASE_URL: proxy.url }),
  })
  const { sign } = xlayerCalls(() => fixture)
  const sent = new Map<string, SignedPayment>()
  const signOne = async (at: number): Promise<SignedPayment> => {
    const odds = ((FIRST_ODDS + at) / 100).toFixed(2)
    const body = { pick: { ...gradeExample.pick, odds, confirmed: true } }
    const payer = `agent-${(at % PAYERS) + 1}`
    for (;;) {
      try {
        return { headers: await sign(payer, { baseUrl: proxy.url }, body), body }
      } catch {
        // No challenge amid a fault: it asks again, and the test's own limit ends a hang.
        await pause(AGAIN_MS)
      }
    }
  }
  /** Sends it to all processes at once. */
  const sendEverywhere = async (
    payment: SignedPayment,
    { limitMs = PAYMENT_MS_MAX, startMs = Date.now() },
  ): Promise<PaymentSeen> => {
    const endMs = performance.now() + limitMs
    let firstMs: number | undefined
    const answers = await Promise.all(
      ports.map(async (_, machine) => {
        const answer = await sendUntilAnswered(processes, payment, { machine, endMs })
        if (answer !== undefined) firstMs ??= Date.now()
        return answer ?? []
      }),
    )
    return { id: paymentId(payment), startMs, firstMs, answers: answers.flat() }
  }
  return {
    name: 'grading',
    /** Buys the grade of a pick of its own. */
    async pay(at: number): Promise<PaymentSeen> {
      const startMs = Date.now()
      const payment = await signOne(at)
      sent.set(paymentId(payment), payment)
      return sendEverywhere(payment, { startMs })
    },
    /** Sends everything once more, whatever was answered. */
    async payAgain(): Promise<readonly PaymentSeen[]> {
      const rest = [...sent.values()].values()
      const seen: PaymentSeen[] = []
      const payer = async (): Promise<void> => {
        for (const payment of rest)
          seen.push(await sendEverywhere(payment, { limitMs: AGAIN_MS_MAX }))
      }
      await Promise.all(Array.from({ length: PAYERS }, payer))
      return seen
    },
    /** A payment for each time that the seller was paid, as the chain has it. */
    charges: () => readCharges(fixture),
    /** A payment for each pick, as the database has them. */
    async effects(url: string): Promise<readonly string[]> {
      const { rows } = await runSql(url, 'SELECT payment_id FROM grading.picks')
      return rows.map((row: { readonly payment_id: string }) => lastPart(row.payment_id))
    },
    signal: processes.signal,
    async killAndRestart(at: number): Promise<void> {
      await processes.kill(at)
      await untilStarted(() => processes.start(at))
    },
    /** One is told to end, and another, with words for Node, begins once it has. */
    async replace(at: number, words: readonly string[]): Promise<void> {
      await processes.kill(at, 'SIGTERM')
      await processes.start(at, words)
    },
    async stop(): Promise<void> {
      await processes.end()
      proxy.stop()
      await fixture.stop()
    },
  }
}

export type GradingCluster = Awaited<ReturnType<typeof startGradingCluster>>

const lastPart = (id: string): string => id.slice(id.lastIndexOf('/') + 1).toLowerCase()

/** Its nonce, which is unique among all payers here. */
function paymentId({ headers }: SignedPayment): string {
  const text = Buffer.from(headers['payment-signature'] ?? '', 'base64').toString()
  const { payload } = JSON.parse(text) as {
    readonly payload: { readonly authorization: { readonly nonce: string } }
  }
  return payload.authorization.nonce.toLowerCase()
}

async function readCharges({ chain, payTo }: XLayerFixture): Promise<readonly string[]> {
  const client = createPublicClient({ transport: http(chain.rpcUrl) })
  const options = { address: chain.stablecoin.address, abi: stablecoinAbi, fromBlock: 0n } as const
  const used = await client.getContractEvents({ ...options, eventName: 'AuthorizationUsed' })
  // What reached the seller beside authorizations would be nobody's payment.
  const [extra, rest] = [
    (await chain.controls.balanceOf(payTo.address)) / PRICE - BigInt(used.length),
    (await chain.controls.balanceOf(payTo.address)) % PRICE,
  ]
  return [
    ...used.map(({ args }) => String(args.nonce).toLowerCase()),
    ...Array.from({ length: Number(extra) }, () => 'money of no authorization'),
    ...(rest === 0n ? [] : ['money that is no price']),
  ]
}
