// The files that one warm request runs in each service: a metered call that no lease covers, a signed write, a paid grade.
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { createPublicClient, type Hex, http } from 'viem'
import { z } from 'zod'
import { writeRecord } from '../care-writer.ts'
import { type Agent, payForAccess, payForGrade } from '../pay-on-stack.ts'
import type { SpawnedStack } from '../spawned-stack.ts'
import { type WatchedProcess, watchProcess } from './watched-process.ts'

/** Requests before the first that counts: they fill caches, connections and keys. */
const WARM_UPS = 3
/** What runs in each of these is the request's; what runs in some is a timer's. On a busy machine a timer ran in all of four. */
const MEASURED = 12

type Stack = Pick<SpawnedStack, 'description' | 'stackFile'>
type Request = (watched: Pick<WatchedProcess, 'begin'>) => Promise<Response>

/** Calls until one is recorded by itself: a lease covers up to 50 (A18). */
const CALLS_MAX = 60

const Metered = z.object({ metering: z.object({ recordedOnChain: z.string() }) })

async function answered(answer: Response): Promise<Response> {
  if (answer.status !== 200) throw new Error(`${answer.url}: ${await answer.text()}`)
  return answer
}

/**
 * Calls inside a window until one is recorded on the chain by a transaction of its own, to the end: its receipt is there. Without
 * that a pause in the send counts as the end, and whatever reads the receipt is missing now and then.
 */
function meteredCall({ description }: Stack, { evmAddress }: Agent): Request {
  const url = `${description.access.baseUrl}/api/svc/access?agent=${evmAddress}`
  const ledger = createPublicClient({ transport: http(description.ledger.rpcUrl) })
  let recorded = ''
  return async ({ begin }) => {
    for (let call = 1; call <= CALLS_MAX; call += 1) {
      await begin()
      const answer = await answered(await fetch(url))
      const { metering } = Metered.parse(await answer.clone().json())
      const isByItself = metering.recordedOnChain !== recorded
      recorded = metering.recordedOnChain
      if (!isByItself) continue
      await ledger.waitForTransactionReceipt({ hash: recorded as Hex })
      return answer
    }
    throw new Error('every call was covered by a lease')
  }
}

const signedWrite =
  ({ description }: Stack): Request =>
  async ({ begin }) => {
    await begin()
    const record = {
      patient: 'measured',
      domain: 'sleep',
      value: randomUUID(),
      authorId: 'dr-moss',
    }
    return await writeRecord(description.care, record)
  }

/** Only the request with the payment counts, not the one that learns the price. */
const paidGrade =
  ({ description }: Stack, agent: Agent): Request =>
  async ({ begin }) => {
    const { baseUrl } = description.grading
    const request: typeof fetch = async (input, init) => {
      const sent = new Request(input, init)
      if (sent.headers.has('payment-signature')) await begin()
      return await fetch(sent)
    }
    return await payForGrade(agent, { baseUrl, request }, description)
  }

type Measured = { readonly service: 'access' | 'care' | 'grading'; readonly request: Request }

/**
 * The files that every one of several warm requests runs; of several rounds, the most: whether what follows an answer in the
 * background comes in time differs from round to round.
 */
async function measure(
  { description, stackFile }: Stack,
  { request, service }: Measured,
  rounds: number,
): Promise<readonly string[]> {
  const pid = description.process.children[service]
  if (pid === undefined) throw new Error(`the stack has no ${service}`)
  const watched = await watchProcess(pid, join(dirname(stackFile), 'logs', `${service}.log`))
  try {
    const run = async (): Promise<readonly string[]> => {
      await answered(await request(watched))
      return watched.filesRun()
    }
    for (let turn = 1; turn <= WARM_UPS; turn += 1) await run()
    let most: readonly string[] = []
    for (let round = 1; round <= rounds; round += 1) {
      let files = await run()
      for (let turn = 2; turn <= MEASURED; turn += 1) {
        const ran = await run()
        files = files.filter((file) => ran.includes(file))
      }
      if (files.length > most.length) most = files
    }
    return most
  } finally {
    await watched.close()
  }
}

/** The files of each kind of request, by its name; the most of so many rounds. */
export async function measureRequests(
  stack: Stack,
  rounds = 1,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const [buyer, bettor] = stack.description.agents.slice(-2)
  if (buyer === undefined || bettor === undefined) throw new Error('the stack has too few agents')
  await answered(await payForAccess(buyer, stack.description.access))
  const measured = (service: Measured['service'], request: Request): Promise<readonly string[]> =>
    measure(stack, { service, request }, rounds)
  return {
    'metered call': await measured('access', meteredCall(stack, buyer)),
    'signed write': await measured('care', signedWrite(stack)),
    'paid grade': await measured('grading', paidGrade(stack, bettor)),
  }
}
