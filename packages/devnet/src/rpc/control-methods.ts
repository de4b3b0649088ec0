// The controls over JSON-RPC, as `devnet_*`, for scripts in other processes. Tinybar and gas are decimal strings.

import { z } from 'zod'
import { AnvilRefused, AnvilUnavailable } from '../anvil/anvil-client.ts'
import type { DevnetAccount, DevnetControls } from '../devnet.ts'
import type { AccountKey } from '../ledger/account-key.ts'
import { createAccount } from '../ledger/genesis.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Scheduler } from '../ledger/scheduler.ts'
import { RpcError, type RpcMethods, refusals } from './rpc-method.ts'

const count = z.number().int().min(0)
const amount = z.union([z.string().regex(/^\d{1,19}$/), count]).transform((value) => BigInt(value))
const hex32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((value): `0x${string}` => `0x${value.slice(2)}`)
const newAccount = z.object({
  name: z.string().min(1),
  balanceTinybar: amount,
  keyType: z.enum(['ECDSA_SECP256K1', 'ED25519']).optional(),
  privateKey: hex32.optional(),
})
const edges = z.object({
  rpc: z.boolean().optional(),
  mirror: z.boolean().optional(),
  consensus: z.boolean().optional(),
})
const schedule = z.object({
  forcedCode: z.number().int().optional(),
  gasPerSecond: amount.optional(),
  createGas: amount.optional(),
  timestampLagSeconds: count.optional(),
})
const accountKey: z.ZodType<AccountKey> = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('ECDSA_SECP256K1'),
      publicKey: z.string().regex(/^0[23][0-9a-f]{64}$/),
    }),
    z.object({ kind: z.literal('ED25519'), publicKey: z.string().regex(/^[0-9a-f]{64}$/) }),
    z.object({
      kind: z.literal('KEY_LIST'),
      threshold: z.number().int().min(1).exactOptional(),
      keys: z.array(accountKey),
    }),
  ]),
)
const rate = z.object({ hbar: z.number().int().min(1), cents: z.number().int().min(1) })

/** The `devnet_*` methods. Those that set something answer null. */
export function controlMethods(parts: {
  ledger: Ledger
  scheduler: Scheduler
  controls: DevnetControls
  accounts: DevnetAccount[]
}): RpcMethods {
  const { ledger, scheduler, controls, accounts } = parts
  return explained({
    devnet_advanceSeconds: (p) => controls.advanceSeconds(read(count, p, 0)),
    devnet_setReadLagMs: (p) => controls.setReadLagMs(read(count, p, 0)),
    devnet_setMirrorLagMs: (p) => controls.setMirrorLagMs(read(count, p, 0)),
    devnet_setNonceLagMs: (p) => controls.setNonceLagMs(read(count, p, 0)),
    devnet_dropNextTransactions: (p) => controls.dropNextTransactions(read(count, p, 0)),
    devnet_dropNextTransfers: (p) => controls.dropNextTransfers(read(count, p, 0)),
    devnet_scheduleService: (p) => controls.scheduleService(defined(read(schedule, p, 0))),
    devnet_setGasPriceTinybar: (p) => controls.setGasPriceTinybar(read(amount, p, 0)),
    devnet_setExchangeRate: (p) => controls.setExchangeRate(read(rate, p, 0)),
    devnet_setUnavailable: (p) => controls.setUnavailable(defined(read(edges, p, 0))),
    devnet_holdConsensus: (p) => controls.holdConsensus(read(z.boolean(), p, 0)),
    devnet_heldTransfers: () => controls.heldTransfers(),
    devnet_refuseNext: (p) => {
      const at = read(z.enum(['precheck', 'consensus']).default('precheck'), p, 1)
      controls.refuseNext(read(z.string(), p, 0), at)
    },
    devnet_setAccountKey: (p) =>
      controls.setAccountKey(read(z.string(), p, 0), read(accountKey, p, 1)),
    devnet_setBalanceTinybar: (p) =>
      controls.setBalanceTinybar(read(z.string(), p, 0), read(amount, p, 1)),
    devnet_accounts: () => accounts,
    devnet_createAccount: async (p) => {
      const account = defined(read(newAccount, p, 0))
      const created = await ledger.queue.run(() => createAccount(ledger, account))
      accounts.push(created)
      return created
    },
    devnet_nowSeconds: () => ledger.clock.nowSeconds(),
    devnet_executions: () =>
      scheduler.executions().map((execution) => ({
        ...execution,
        hash: execution.hash ?? null,
        executedNs: execution.executedNs.toString(),
        gasUsed: execution.gasUsed.toString(),
      })),
  })
}

/** The methods with their errors as refusals: who asks for something impossible is told why. That anvil failed is none. */
function explained(methods: RpcMethods): RpcMethods {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (parameters: readonly unknown[]) => explain(method, parameters),
    ]),
  )
}

async function explain(
  method: RpcMethods[string],
  parameters: readonly unknown[],
): Promise<unknown> {
  try {
    return await method(parameters)
  } catch (cause) {
    const isAnvil = cause instanceof AnvilUnavailable || cause instanceof AnvilRefused
    if (isAnvil || cause instanceof RpcError || !(cause instanceof Error)) throw cause
    throw refusals.invalidArguments(cause.message)
  }
}

function read<T extends z.ZodType>(
  schema: T,
  parameters: readonly unknown[],
  index: number,
): z.output<T> {
  const parsed = schema.safeParse(parameters[index])
  if (parsed.success) return parsed.data
  throw refusals.invalidParameter(index, parsed.error.issues[0]?.message ?? 'not understood')
}

/** The object without its undefined members, as exact optional properties want it. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
