// The controls over JSON-RPC, as `devnet_*`, for scripts in other processes. Tinybar and gas are decimal strings.

import { z } from 'zod'
import { AnvilRefused, AnvilUnavailable } from '../anvil/anvil-client.ts'
import type { DevnetControls } from '../controls.ts'
import type { AccountKey } from '../ledger/account-key.ts'
import type { DevnetAccount, NewAccount } from '../ledger/genesis.ts'
import type { NetworkConditions } from '../ledger/network-faults.ts'
import type { ScheduledExecution } from '../ledger/scheduler.ts'
import { RpcError, type RpcMethods, refusals } from './rpc-method.ts'

/** What the methods control: a devnet without its edges. */
type Controlled = {
  readonly controls: DevnetControls
  readonly accounts: readonly DevnetAccount[]
  createAccount(account: NewAccount): Promise<DevnetAccount>
  nowSeconds(): number
  executions(): readonly ScheduledExecution[]
}

const count: z.ZodType<number> = z.int().min(0)
const amount: z.ZodType<bigint> = z
  .union([z.string().regex(/^\d{1,19}$/), z.int().min(0)])
  .transform((value) => BigInt(value))
const isOn: z.ZodType<boolean> = z.boolean()
const isOnIfGiven = z.boolean().exactOptional()
const accountKey: z.ZodType<AccountKey> = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('ECDSA_SECP256K1'),
      publicKey: z.string().regex(/^0[23][0-9a-f]{64}$/),
    }),
    z.object({ kind: z.literal('ED25519'), publicKey: z.string().regex(/^[0-9a-f]{64}$/) }),
    z.object({
      kind: z.literal('KEY_LIST'),
      threshold: z.int().min(1).exactOptional(),
      keys: z.array(accountKey),
    }),
  ]),
)
const newAccount: z.ZodType<NewAccount> = z.object({
  name: z.string().min(1),
  balanceTinybar: amount,
  keyType: z.enum(['ECDSA_SECP256K1', 'ED25519']).exactOptional(),
  privateKey: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/)
    .transform((value) => value as `0x${string}`)
    .exactOptional(),
})

const countIfGiven = count.exactOptional()

const share = z.number().min(0).max(1)

const shareIfGiven = share.exactOptional()

const latency = z.object({ min: count, max: count })
const requestLimits = z.object({
  relayPerMinute: z
    .object({ tier1: count, tier2: count, tier3: count, other: count })
    .exactOptional(),
  mirrorPerSecond: count.exactOptional(),
})
const conditions: z.ZodType<Partial<NetworkConditions>> = z.strictObject({
  sendLatencyMs: latency.exactOptional(),
  readLagMs: countIfGiven,
  receiptDelayMs: countIfGiven,
  mirrorLagMs: countIfGiven,
  nonceLagMs: countIfGiven,
  blockMs: countIfGiven,
  consensusDelayMs: countIfGiven,
  requestLimits: requestLimits.exactOptional(),
  downNodes: z.array(z.string()).exactOptional(),
  answerLoss: z.object({ rpc: share, mirror: share, consensus: share }).exactOptional(),
})

type Schemas<Parameters extends readonly unknown[]> = Readonly<{
  [Index in keyof Parameters]-?: z.ZodType<Parameters[Index]>
}>

/** The parameters of each control. */
const CONTROLS: {
  readonly [Name in keyof DevnetControls]: Schemas<Parameters<DevnetControls[Name]>>
} = {
  advanceSeconds: [count],
  likeTestnet: [conditions.optional()],
  answerPromptly: [],
  seedChance: [count],
  setSendLatencyMs: [latency],
  setOldRelay: [isOn],
  setBlockMs: [count],
  setReceiptDelayMs: [count],
  setConsensusDelayMs: [count],
  setRequestLimits: [z.union([z.enum(['public', 'none']), requestLimits])],
  setNodeDown: [z.string(), isOn],
  setAnswerLoss: [z.object({ rpc: shareIfGiven, mirror: shareIfGiven, consensus: shareIfGiven })],
  loseNextAnswers: [z.enum(['rpc', 'mirror', 'consensus']), count, z.string().optional()],
  setServerClockOffMs: [z.int()],
  setReadLagMs: [count],
  setMirrorLagMs: [count],
  setNonceLagMs: [count],
  dropNextTransactions: [count],
  dropNextTransfers: [count],
  scheduleService: [
    z.object({
      forcedCode: z.int().exactOptional(),
      gasPerSecond: amount.exactOptional(),
      createGas: amount.exactOptional(),
      timestampLagSeconds: count.exactOptional(),
    }),
  ],
  setGasPriceTinybar: [amount],
  makeGasCheaper: [z.number().positive()],
  setExchangeRate: [z.object({ hbar: z.int().min(1), cents: z.int().min(1) })],
  snapshot: [],
  revert: [z.string()],
  reset: [],
  setUnavailable: [z.object({ rpc: isOnIfGiven, mirror: isOnIfGiven, consensus: isOnIfGiven })],
  holdConsensus: [isOn],
  waitingChanges: [],
  heldTransfers: [],
  refuseNext: [z.string(), z.enum(['precheck', 'consensus']).optional()],
  setAccountKey: [z.string(), accountKey],
  setBalanceTinybar: [z.string(), amount],
}

/** The `devnet_*` methods. Those that set something return null. */
export function controlMethods(devnet: Controlled): RpcMethods {
  const controls = Object.entries(CONTROLS).map(
    ([name, schemas]: [string, readonly z.ZodType[]]) => {
      const control = devnet.controls[name as keyof DevnetControls] as (
        ...values: readonly unknown[]
      ) => unknown
      return [
        `devnet_${name}`,
        (p: readonly unknown[]) =>
          explained(() => control(...schemas.map((schema, index) => read(schema, p, index)))),
      ] as const
    },
  )
  return {
    ...Object.fromEntries(controls),
    devnet_accounts: () => devnet.accounts,
    devnet_createAccount: (p) => explained(() => devnet.createAccount(read(newAccount, p, 0))),
    devnet_nowSeconds: () => devnet.nowSeconds(),
    devnet_executions: () =>
      devnet.executions().map((execution) => ({
        ...execution,
        hash: execution.hash ?? null,
        executedNs: execution.executedNs.toString(),
        gasUsed: execution.gasUsed.toString(),
      })),
  }
}

/** Turns errors into refusals that say what is wrong. A failure of anvil is not the caller's fault. */
async function explained(run: () => unknown): Promise<unknown> {
  try {
    return await run()
  } catch (cause) {
    const isAnvil = cause instanceof AnvilUnavailable || cause instanceof AnvilRefused
    if (isAnvil || cause instanceof RpcError || !(cause instanceof Error)) throw cause
    throw refusals.invalidArguments(cause.message)
  }
}

function read<T>(schema: z.ZodType<T>, parameters: readonly unknown[], index: number): T {
  const parsed = schema.safeParse(parameters[index])
  if (parsed.success) return parsed.data
  throw refusals.invalidParameter(index, parsed.error.issues[0]?.message ?? 'not understood')
}
