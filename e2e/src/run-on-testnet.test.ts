// Every command of docs/how-to/run-on-testnet.md, as a person types it, on a ledger that is as slow, late, limited and lossy as
// the public one: its shell blocks in order, and then each command of its last table. The page's addresses, accounts and keys are
// replaced by the ledger's.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DevnetAccount } from '@tallystick/devnet'
import { freePort } from '@tallystick/service-kit'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { createPublicClient, getAddress, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from './eventually.ts'
import { cloneCheckout, end, readersShell, untilSaid } from './readers-shell.ts'
import { isOk, root } from './spawned-stack.ts'

const PAGE = readFileSync(join(root, 'docs/how-to/run-on-testnet.md'), 'utf8')
const PERIOD_SECONDS = 3_600
const OVERDUE_SECONDS = 31
const LOOK_MS = 2_000
/** Ledger seconds that pass while a command waits, for each real one. */
const LEAP = { everyMs: 250, seconds: 2 }
const PURCHASE_TINYBAR = 1_200_000_000n
/** Buys nothing. */
const ODD_TINYBAR = 150_000_000n

const folder = mkdtempSync(join(tmpdir(), 'run-on-testnet-'))
const { shell, run, endAll } = readersShell(folder)
let rpcUrl: string
let mirrorUrl: string
let accounts: readonly DevnetAccount[]
/** What the page has, and what stands here for it. */
let places: readonly (readonly [string, string])[]
let baseUrl: string
/** What the page's facilitator finds on the public network. */
let facilitatorPlace: Readonly<Record<'CONSENSUS_NODES' | 'HOST' | 'PORT', string>>

/** The page's blocks of commands, with this ledger's places. */
const blocks = (): readonly string[] =>
  [...PAGE.matchAll(/^```sh\n([^`]*)^```$/gm)].map(([, script = '']) =>
    places.reduce((text, [there, here]) => text.replaceAll(there, here), script),
  )

/** The commands of the table at the end, each once. */
const operatorVerbs = (): readonly string[] => {
  const [, section = ''] = PAGE.split('\n## 6. Afterwards\n')
  const named = [...section.matchAll(/`((?:access-operator|payments) [a-zA-Z -]+)`/g)]
  return [...new Set(named.map(([, words = '']) => words.replace('access-operator ', '')))]
}

const ledger = <Result>(method: string, ...params: readonly unknown[]): Promise<Result> =>
  callLedger<Result>(rpcUrl, method, params)

async function callLedger<Result>(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<Result> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', body })
  const { result, error } = (await answer.json()) as { result: Result; error?: object }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}

const account = (name: string): DevnetAccount =>
  accounts.find((candidate) => candidate.name === name) ??
  expect.fail(`the ledger has no account ${name}`)

const inlineCommand = (start: string): string =>
  new RegExp(`\`(${start}[^\`]*)\``).exec(PAGE)?.[1] ?? expect.fail(`the page has no ${start}`)

const FREE_PORTS = '--rpc-port 0 --mirror-port 0 --consensus-port 0'

beforeAll(async () => {
  cloneCheckout(folder)
  const devnet = shell(`${inlineCommand('npm run devnet')} ${FREE_PORTS}`)
  await untilSaid(devnet, /Like testnet/)
  const printed = (form: RegExp): string => form.exec(devnet.output())?.[1] ?? ''
  rpcUrl = printed(/JSON-RPC +(http\S+)/)
  mirrorUrl = printed(/Mirror REST +(http\S+)\/api\/v1/)
  accounts = await ledger<DevnetAccount[]>('devnet_accounts')
  mkdirSync(join(folder, 'keys'))
  const keys = {
    owner: 'owner',
    'pay-to': 'operator',
    recorder: 'recorder',
    'fee-payer': 'facilitator',
    agent: 'agent-1',
  }
  for (const [file, name] of Object.entries(keys))
    writeFileSync(join(folder, 'keys', file), account(name).privateKey, { mode: 0o600 })
  baseUrl = `http://127.0.0.1:${await freePort()}`
  places = [
    ['https://testnet.hashio.io/api', rpcUrl],
    ['https://testnet.mirrornode.hedera.com', mirrorUrl],
    ['https://access.example', baseUrl],
    ['0.0.1234', account('operator').accountId],
    ['0.0.5678', account('facilitator').accountId],
  ]
  const consensus = printed(/Consensus gRPC +(\S+)/)
  facilitatorPlace = {
    CONSENSUS_NODES: `${consensus}=0.0.3`,
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
  }
  // The ledger is seconds old, and reads lag by more.
  const newest = `${mirrorUrl}/api/v1/accounts/${account('agent-3').accountId}`
  await eventually(() => isOk(newest))
})

afterAll(async () => {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Lets ledger time run ahead while commands wait for it. */
async function leaping<Result>(work: Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const done = work.finally(() => over.abort())
  done.catch(() => undefined)
  while (!over.signal.aborted) {
    await ledger('devnet_advanceSeconds', LEAP.seconds)
    await pause(LEAP.everyMs, undefined, { signal: over.signal }).catch(() => undefined)
  }
  return await done
}

/** Pays payTo through the facilitator, past the service, and waits until it shows. Returns the transaction's id. */
async function payDirectly(
  from: DevnetAccount,
  amountTinybar: bigint,
  memo?: string,
): Promise<string> {
  const signer = hederaSigner(from)
  const scheme = new ExactHederaClient({ signer, ...(memo !== undefined && { memo }) })
  const accepted = {
    scheme: 'exact',
    network: 'hedera:testnet' as const,
    asset: '0.0.0',
    amount: String(amountTinybar),
    payTo: account('operator').accountId,
    maxTimeoutSeconds: 180,
    extra: { feePayer: account('facilitator').accountId },
  }
  const { payload } = await scheme.createPaymentPayload(2, accepted)
  const paymentPayload = { x402Version: 2, accepted, payload }
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: accepted }),
  }
  let transaction = ''
  await eventually(async () => {
    const answer = await fetch(`${facilitatorUrl()}/settle`, request)
    const settled = (await answer.json()) as { success?: boolean; transaction?: string }
    transaction = settled.transaction ?? ''
    return settled.success === true
  })
  const shown = transaction.replace('@', '-').replace(/\.(\d+)$/, '-$1')
  await eventually(() => isOk(`${mirrorUrl}/api/v1/transactions/${shown}`))
  return transaction
}

const facilitatorUrl = (): string => `http://127.0.0.1:${facilitatorPlace.PORT}`

/** What the seller has set once the contract is deployed, for the service and for `access-operator`. */
type Seller = {
  readonly exported: string
  readonly settings: Readonly<Record<string, string>>
  readonly operator: (words: string) => Promise<string>
}

async function deployContract(deploy: string): Promise<Seller> {
  const deployed = await run(deploy, { FACILITATOR_URL: facilitatorUrl() })
  expect(deployed).toContain('one payment buys 4 periods, 12 HBAR')
  const exports = deploy.split('\n').filter((line) => line.startsWith('export '))
  const exported = `${exports.join('\n')}\n`
  const printed = [...deployed.matchAll(/^ {2}([A-Z_]+)=(\S+)$/gm)]
  const secret = (await run(inlineCommand('openssl'))).trim()
  expect(secret).toMatch(/^[0-9a-f]{64}$/)
  const settings = {
    ...Object.fromEntries(printed.map(([, name = '', value = '']) => [name, value])),
    SESSION_SECRET: secret,
    BASE_URL: baseUrl,
    PORT: new URL(baseUrl).port,
    HOST: '127.0.0.1',
  }
  const operator = (words: string): Promise<string> =>
    run(`${exported}npm run --silent access-operator -- ${words}`, settings)
  return { exported, settings, operator }
}

/** A sale, and a look at its window, while the service runs. */
async function sellWindow({ exported, settings }: Seller, scripts: readonly string[]) {
  const [serve = '', sale = ''] = scripts
  // Agents have an address, and the relay's limits, of their own.
  const sell = sale.replaceAll(rpcUrl, `${rpcUrl}/as/agent`)
  const service = shell(exported + serve, settings)
  await eventually(async () => {
    if (service.child.exitCode !== null) throw new Error(service.output())
    // As seldom as a person looks: each look reads the chain, of which the relay allows only so much.
    await pause(LOOK_MS)
    return await isOk(`${baseUrl}/ready`)
  })
  const without = (verb: string): string => sell.replace(new RegExp(`^.*-- ${verb}.*$`, 'm'), '')
  const sold = await run(without('watch'))
  expect(sold).toContain('12 HBAR')
  expect(sold).toContain('The window is guarded')
  const watch = shell(without('pay'))
  await untilSaid(watch, /renews|renewal/)
  await end(watch, 'SIGINT')
  await end(service)
}

/** A payment that buys nothing goes back. */
async function refundOddPayment({ operator }: Seller): Promise<string> {
  const odd = await payDirectly(account('agent-2'), ODD_TINYBAR)
  expect(await operator('payments')).toContain(', 1 refused')
  return await operator(`payments refund ${odd}`)
}

/** A payment that arrived while no service ran is opened. */
async function openPayment({ operator }: Seller): Promise<string> {
  const payer = account('agent-3')
  const paid = await payDirectly(payer, PURCHASE_TINYBAR, `x402:${payer.evmAddress}`)
  expect(await operator('payments')).toContain(', 1 pending')
  return await operator(`payments open ${paid}`)
}

/** Each command of the last table: its words, and what it says. */
const operatorLines = (agent: string): Readonly<Record<string, readonly [string, string]>> => ({
  payments: ['payments', '2 opened, 0 pending, 0 refused, 1 refunded'],
  status: ['status', 'Earned'],
  withdraw: ['withdraw earnings', 'of the earnings went to'],
  fund: ['fund --hbar 5', 'The reserve has 5 HBAR more.'],
  'set-arming': ['set-arming --schedule-cents 12 --floor-percent 100', 'reckoned at 12 US cents'],
  'set-offer': [
    'set-offer --price-hbar 3 --period-seconds 3600 --calls 500 --slot-seconds 900',
    'with 500 calls costs 3 HBAR',
  ],
  'retire-offer': ['retire-offer 0', 'Offer 0 takes no new money'],
  pause: ['pause', 'Sales are paused.'],
  reap: [`reap ${agent}`, `The overdue schedule of ${agent} is given up`],
  poke: [`poke ${agent}`, `The slot of ${agent} is brought up to date`],
})

it('every command of run-on-testnet.md does what the page says, on a network like testnet', async () => {
  const [deploy = '', facilitate = '', ...selling] = blocks()
  expect(selling).toHaveLength(2)
  const facilitator = shell(facilitate, facilitatorPlace)
  const [seller] = await Promise.all([
    deployContract(deploy),
    untilSaid(facilitator, /"listening"/),
  ])
  const [refunded] = await Promise.all([refundOddPayment(seller), sellWindow(seller, selling)])
  expect(refunded).toContain(`1.5 HBAR went back to ${account('agent-2').accountId}`)
  const opened = await leaping(openPayment(seller))
  expect(opened).toContain(`The window of ${account('agent-3').evmAddress} is open.`)
  const verbs = operatorVerbs().filter((verb) => !/^payments (open|refund) ID$/.test(verb))
  expect(operatorVerbs()).toHaveLength(verbs.length + 2)
  const lines = operatorLines(account('agent-1').evmAddress)
  expect(verbs.toSorted()).toEqual(Object.keys(lines).toSorted())
  for (const verb of verbs) {
    const [words = '', says = ''] = lines[verb] ?? []
    if (verb === 'reap') await loseRenewals(seller.settings['ACCESS_CONTRACT'] ?? '')
    expect(await leaping(seller.operator(words)), verb).toContain(says)
  }
  await end(facilitator)
})

/** The network finds the contract unable to hold the gas of its calls: they are over, and nothing tells the contract. */
async function loseRenewals(contract: string): Promise<void> {
  // A read's answer may be lost, too: this client asks again.
  const client = createPublicClient({ transport: http(rpcUrl) })
  const weibar = await client.getBalance({ address: getAddress(contract) })
  await ledger('devnet_setBalanceTinybar', contract, '1')
  await ledger('devnet_advanceSeconds', 2 * PERIOD_SECONDS)
  await ledger('devnet_setBalanceTinybar', contract, String(weibar / 10_000_000_000n))
  await ledger('devnet_advanceSeconds', OVERDUE_SECONDS)
}

it('--server-clock-off makes this machine’s clock wrong by as much', async () => {
  const devnet = shell(`npm run devnet -- ${inlineCommand('--server-clock-off')} ${FREE_PORTS}`)
  const [, url = ''] = await untilSaid(devnet, /JSON-RPC +(http\S+)[^]*First successes/)
  const beforeSeconds = Date.now() / 1_000
  const ledgerSeconds = await callLedger<number>(url, 'devnet_nowSeconds')
  // The ledger's whole second was begun at some time between these two.
  const afterSeconds = Date.now() / 1_000
  expect(ledgerSeconds).toBeGreaterThan(beforeSeconds - 30 - 2)
  expect(ledgerSeconds).toBeLessThanOrEqual(afterSeconds - 30 + 1)
  await end(devnet, 'SIGINT')
})
