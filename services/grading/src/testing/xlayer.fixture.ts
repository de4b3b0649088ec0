/**
 * The service on a local X Layer: the stand-in chain and the real facilitator in the test's process, and services beside
 * them with ledgers in their own folder. One fixture serves a whole test file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startXLayer, type XLayer, type XLayerAccount } from '@tallystick/devnet'
import { startFacilitator } from '@tallystick/facilitator'
import {
  type Clock,
  type Environment,
  requireConfig,
  startListening,
  systemClock,
} from '@tallystick/service-kit'
import { ExactEvmClient, evmSigner } from '@tallystick/x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { gradingConfigSchema } from '../config.ts'
import { ingestPayload } from '../ingest/ingest-payload.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import { createGradingService, type GradingService } from '../service.ts'
import type { Card } from '../wire/cards.ts'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import { uploadSchema } from '../wire/upload.ts'

export type XLayerFixture = {
  readonly chain: XLayer
  readonly facilitator: Awaited<ReturnType<typeof startFacilitator>>
  /** Folder of the ledgers; removed when the fixture stops. */
  readonly folder: string
  readonly payTo: XLayerAccount
  account(name: string): XLayerAccount
  /** The full environment of a service with that ledger file. */
  environment(name: string, change?: Environment): Record<string, string>
  /** Starts a service; the fixture ends it at the latest. */
  startService(name: string, change?: Environment, clock?: Clock): Promise<RunningService>
  stop(): Promise<void>
}

export type RunningService = GradingService & {
  readonly baseUrl: string
  readonly stop: () => Promise<void>
}

/** The facilitator's other network is not used here: its addresses lead nowhere, and nothing calls them. */
const NO_HEDERA = {
  network: 'hedera:testnet',
  consensusNodes: [],
  mirrorUrl: 'http://127.0.0.1:9',
  feePayer: '0.0.1003',
} as const

export async function startXLayerFixture(): Promise<XLayerFixture> {
  const chain = await startXLayer()
  const folder = mkdtempSync(join(tmpdir(), 'grading-xlayer-'))
  const account = (name: string): XLayerAccount => {
    const found = chain.accounts.find((each) => each.name === name)
    if (found === undefined) throw new Error(`the stand-in has no account ${name}`)
    return found
  }
  const { privateKey } = account('facilitator')
  const { chainId, rpcUrl, stablecoin } = chain
  const asset = { network: `eip155:${chainId}`, ...stablecoin }
  const facilitator = await startFacilitator({
    ...NO_HEDERA,
    feePayerKey: privateKey,
    evm: { rpcUrl, chainId, privateKey, assets: [asset] },
  })
  const payTo = account('operator')
  const databases = await openDatabases()
  const services = new Set<RunningService>()
  const environment = (name: string, change: Environment = {}): Record<string, string> => {
    const whole: Environment = {
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_PATH: join(folder, name),
      ...databases.makeEnvironment(name),
      PAY_TO: payTo.address,
      ASSET: `${stablecoin.address}/${stablecoin.name}/${stablecoin.version}/${stablecoin.decimals}`,
      LEDGER_RPC_URL: rpcUrl,
      FACILITATOR_URL: facilitator.url,
      TOKEN_SECRET: 'a token secret of the tests, 32 bytes and more',
      ...change,
    }
    return Object.fromEntries(
      Object.entries(whole).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    )
  }
  return {
    chain,
    facilitator,
    folder,
    payTo,
    account,
    environment,
    async startService(name, change, clock = systemClock) {
      const config = requireConfig(gradingConfigSchema, environment(name, change))
      const service = await createGradingService({ config, clock })
      const { url: baseUrl, stop } = await startListening(service, { port: config.PORT })
      const running = { ...service, baseUrl, stop }
      services.add(running)
      return running
    },
    async stop() {
      for (const service of services) await service.stop()
      await facilitator.stop()
      await chain.stop()
      await databases.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** More services than a test file starts. */
const DATABASES = 16

/** Where DATABASE_URL is set, a database of its own for each ledger file that a test names. */
async function openDatabases() {
  if (process.env['DATABASE_URL'] === undefined)
    return { makeEnvironment: () => ({}), end: async () => undefined }
  const { startLedgerServer } = await import('./postgres-ledger.fixture.ts')
  const ledgers = startLedgerServer()
  const free = await Promise.all(Array.from({ length: DATABASES }, () => ledgers.ledger()))
  const taken = new Map<string, string>()
  return {
    makeEnvironment: (name: string): Record<string, string> => {
      const url = taken.get(name) ?? free.pop()?.url
      if (url === undefined) throw new Error(`more than ${DATABASES} ledgers`)
      taken.set(name, url)
      return { DATABASE_URL: url, CHECKPOINT_KEY: Buffer.alloc(32, 3).toString('base64') }
    },
    end: () => ledgers.endLedgers(),
  }
}

/** The official client, unmodified, with our scheme for signed transfers. */
export function payingFetch(
  { chain }: Pick<XLayerFixture, 'chain'>,
  payer: XLayerAccount,
  through: typeof fetch = fetch,
): typeof fetch {
  const scheme = new ExactEvmClient({ signer: evmSigner(payer) })
  const client = new x402Client().register('eip155:*', scheme)
  client.setSpendControls({
    allowedAssets: [
      {
        network: 'eip155:196',
        asset: chain.stablecoin.address,
        maxAmountPerPayment: '200000',
      },
    ],
  })
  return wrapFetchWithPayment(through, client)
}

/** Posts JSON. */
export const posted = (body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** Ends a hang. */
const LIMIT_MS = 300_000

/** Polls until `isDone`, for what happens in the background. */
export async function until(isDone: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + LIMIT_MS
  while (!(await isDone())) {
    if (Date.now() > endMs) throw new Error('it did not happen in time')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** A payment that the official client has signed but not sent, as request headers. */
async function signedPayment(
  fixture: Pick<XLayerFixture, 'chain'>,
  payer: XLayerAccount,
  request: { readonly url: string; readonly body: unknown },
): Promise<Record<string, string>> {
  let signed: string | undefined
  const through: typeof fetch = async (input, init) => {
    const headers = new Headers(input instanceof Request ? input.headers : init?.headers)
    const header = headers.get('payment-signature')
    if (header === null) return fetch(input, init)
    signed = header
    return new Response('{}', { status: 200 })
  }
  await payingFetch(fixture, payer, through)(request.url, posted(request.body))
  if (signed === undefined) throw new Error('the client signed no payment')
  return { 'payment-signature': signed }
}

const RECEIVED_SECONDS = 1_780_400_000

type Address = { readonly baseUrl: string }

/** The example match, closed and settled, in a service's ledger. */
export async function fill({ store }: Pick<RunningService, 'store'>): Promise<void> {
  const upload = uploadSchema.parse(uploadExample)
  await ingestPayload({
    store,
    raw: Buffer.from(JSON.stringify(uploadExample)),
    receivedAtSeconds: RECEIVED_SECONDS,
    read: () => [normaliseManualUpload(upload, RECEIVED_SECONDS)],
  })
}

/** The URL that sells grades. */
export const grade = ({ baseUrl }: Address): string => `${baseUrl}/api/grade`

/** Sends a grade with a signed payment and reads the answer. */
export async function send(
  url: string,
  headers: Record<string, string>,
  body: unknown = gradeExample,
): Promise<{ status: number; card: Card & { error?: string }; headers: Headers; text: string }> {
  const answer = await fetch(url, posted(body, headers))
  const text = await answer.text()
  return { status: answer.status, card: JSON.parse(text), headers: answer.headers, text }
}

/** Wraps the fixture of a test file, which exists once its tests run. */
export const xlayerCalls = (fixture: () => XLayerFixture) => ({
  startFilled: async (name: string, change: Record<string, string | undefined> = {}) => {
    const started = await fixture().startService(name, change)
    await fill(started)
    return started
  },
  balanceOf: (name: string) => fixture().chain.controls.balanceOf(fixture().account(name).address),
  sign: (name: string, at: Address, body: unknown = gradeExample) =>
    signedPayment(fixture(), fixture().account(name), { url: grade(at), body }),
})
