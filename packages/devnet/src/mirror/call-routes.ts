// What the mirror node runs or has run in the EVM: calls and estimates, a contract's state, and the calls of a transaction.

import type { FastifyInstance } from 'fastify'
import { type Address, type Hex, numberToHex, stringToHex } from 'viem'
import { z } from 'zod'
import { unpackState } from '../anvil/anvil-generations.ts'
import type { TraceFrame } from '../ledger/complete-transfers.ts'
import { lowerAddress } from '../ledger/entity-id.ts'
import { callEvm } from '../ledger/evm-call.ts'
import { readHaltReason } from '../ledger/evm-transaction.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import type { EvmTransaction } from '../ledger/transaction-index.ts'
import { findEntity } from './account-routes.ts'
import { findBlock } from './block-routes.ts'
import { findResult } from './contract-routes.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import { cutPage, invalidParameter, isVisible, MirrorRefusal, notFound } from './mirror-query.ts'

const { paging, slot, times, wholes } = PARAMETERS

/** Hex with or without its prefix, as SDKs write it. */
const prefixed = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text): Hex => `0x${text.replace(/^0x/, '')}`)
const address = prefixed(/^(?:0x)?[0-9a-fA-F]{40}$/)
const hex = prefixed(/^(?:0x)?(?:[0-9a-fA-F]{2})*$/)
const amount = z.union([z.int().nonnegative(), z.string().regex(/^\d{1,20}$/)]).transform(BigInt)

/** The body of `POST /api/v1/contracts/call`; the value is in tinybar. */
const CallBody = z.object({
  block: z.string().nullish(),
  data: hex.nullish(),
  estimate: z.boolean().nullish(),
  from: address.nullish(),
  gas: amount.nullish(),
  gasPrice: amount.nullish(),
  to: address.nullish(),
  value: amount.nullish(),
})

/** `POST /api/v1/contracts/call`, `/api/v1/contracts/{id}/state` and `/api/v1/contracts/results/{id}/actions`. */
export function addCallRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.post('/api/v1/contracts/call', async ({ body }) => {
    const read = CallBody.safeParse(body)
    if (!read.success) {
      const names = read.error.issues.map(({ path }) => String(path[0] ?? 'body'))
      throw new MirrorRefusal(400, ...names.map((name) => ({ message: `Invalid ${name}` })))
    }
    return { result: await runCall(ledger, read.data) }
  })

  const state = { path: 'contracts/:id/state', parameters: { ...paging, slot, timestamp: times } }
  addMirrorRoute(app, state, async ({ params, query, list }) => {
    const contract = await findEntity(ledger, params.id)
    const number = blockAt(ledger, query.timestamp.to)
    const slots =
      query.slot === undefined
        ? await readSlots(ledger, contract.address)
        : [`0x${query.slot}` as const]
    const rows = slots.toSorted()
    const { page, links } = cutPage(list, rows, { name: 'slot', order: 'asc', pageKey: String })
    const values = (await ledger.anvil.batch(
      page.map((at) => ['eth_getStorageAt', [contract.address, at, numberToHex(number)]]),
    )) as Hex[]
    const found = page.flatMap((at, index) => ({
      address: contract.address,
      contract_id: contract.id,
      timestamp: formatTimestamp(ledger.evm.blockRange(number).to),
      slot: at,
      value: values[index] ?? '0x',
    }))
    return { state: found.filter(({ value }) => BigInt(value) !== 0n), links }
  })

  const actions = {
    path: 'contracts/results/:id/actions',
    parameters: { ...paging, index: wholes },
  }
  addMirrorRoute(app, actions, async ({ params, query, list }) => {
    const transaction = findResult(ledger, params.id)
    if (transaction === undefined || !isVisible(ledger, transaction.consensusNs)) throw notFound()
    if (!ledger.evm.isStateKept(transaction.blockNumber)) throw notFound()
    const tracer = [transaction.receipt.transactionHash, { tracer: 'callTracer' }]
    const trace = await ledger.queue.run(() => ledger.anvil.call('debug_traceTransaction', tracer))
    const { from, to } = query.index
    const rows = toActions(ledger, transaction, trace as TraceFrame).filter(
      ({ index }) => BigInt(index) >= from && BigInt(index) <= to,
    )
    const { page, links } = cutPage(list, rows, {
      name: 'index',
      order: 'asc',
      pageKey: ({ index }) => String(index),
    })
    return { actions: page, links }
  })
}

async function runCall(ledger: Ledger, body: z.output<typeof CallBody>): Promise<Hex> {
  const { data, from, gas, to, value } = body
  const outcome = await callEvm(
    ledger,
    { from, to, data: data ?? '0x', gas, valueTinybar: value },
    {
      method: body.estimate === true ? 'eth_estimateGas' : 'eth_call',
      tag: numberToHex(await blockNamed(ledger, body.block ?? 'latest')),
    },
  )
  if (outcome.kind === 'returned') return outcome.data
  throw new MirrorRefusal(
    400,
    outcome.kind === 'reverted'
      ? {
          message: 'CONTRACT_REVERT_EXECUTED',
          detail: outcome.reason ?? '',
          data: outcome.data,
        }
      : { message: 'INSUFFICIENT_PAYER_BALANCE', detail: '', data: '0x' },
  )
}

/** Number of the block that a call names by tag, number or hash. @throws MirrorRefusal if its state is not there */
async function blockNamed(ledger: Ledger, name: string): Promise<number> {
  const newest = ledger.evm.newestBlock(ledger.faults.mirrorLagMs)
  if (/^(?:latest|pending|safe|finalized)$/.test(name)) return newest
  const block = await findBlock(ledger, name === 'earliest' ? '0' : name, 'block')
  const number = Number(block?.number ?? -1)
  if (number < 0 || number > newest || !ledger.evm.isStateKept(number)) {
    throw new MirrorRefusal(400, { message: 'Unknown block number' })
  }
  return number
}

/** The newest block whose content reached consensus by then. @throws MirrorRefusal if its state is forgotten */
function blockAt(ledger: Ledger, consensusNs: bigint): number {
  let number = ledger.evm.newestBlock(ledger.faults.mirrorLagMs)
  while (number > 0 && ledger.evm.blockRange(number).to > consensusNs) number -= 1
  if (!ledger.evm.isStateKept(number)) throw invalidParameter('timestamp')
  return number
}

/** The slots of a contract that hold something in the newest state. */
async function readSlots(ledger: Ledger, contract: Address): Promise<Hex[]> {
  const dump = await ledger.queue.run(() => ledger.anvil.call('anvil_dumpState'))
  const { accounts } = await unpackState(String(dump))
  const storage = Object.entries(accounts).find(([at]) => lowerAddress(at) === contract)?.[1]
    .storage
  return Object.entries(storage ?? {})
    .filter(([, value]) => BigInt(value) !== 0n)
    .map(([at]) => numberToHex(BigInt(at), { size: 32 }))
}

/** What a frame ended with: a halt has a reason instead of data. */
function readEnd({ error, output = '0x' }: TraceFrame) {
  const halt = readHaltReason(error)
  if (halt !== undefined) return { result_data: stringToHex(halt), result_data_type: 'ERROR' }
  return {
    result_data: output,
    result_data_type: error === undefined ? 'OUTPUT' : 'REVERT_REASON',
  }
}

/** The calls of a transaction, outermost first. */
function toActions(ledger: Ledger, transaction: EvmTransaction, top: TraceFrame) {
  const typeAt = (at: Address): string =>
    ledger.accounts.byAddress(at)?.kind === 'account' ? 'ACCOUNT' : 'CONTRACT'
  const flatten = (frame: TraceFrame, depth: number): { frame: TraceFrame; depth: number }[] => [
    { frame, depth },
    ...(frame.calls ?? []).flatMap((call) => flatten(call, depth + 1)),
  ]
  return flatten(top, 0).map(({ frame, depth }, index) => ({
    call_depth: depth,
    call_operation_type: frame.type,
    call_type: frame.type.startsWith('CREATE') ? 'CREATE' : 'CALL',
    caller: ledger.accounts.findId(frame.from),
    caller_type: typeAt(frame.from),
    from: frame.from,
    gas: Number(frame.gas),
    gas_used: Number(frame.gasUsed),
    index,
    input: frame.input,
    recipient: ledger.accounts.findId(frame.to ?? null),
    recipient_type: frame.to === undefined ? null : typeAt(frame.to),
    ...readEnd(frame),
    timestamp: formatTimestamp(transaction.consensusNs),
    to: frame.to ?? null,
    value: Number(frame.value ?? 0),
  }))
}
