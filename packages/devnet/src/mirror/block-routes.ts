import type { FastifyInstance } from 'fastify'
import { type Hex, keccak256, numberToHex } from 'viem'
import type { InnerBlock } from '../anvil/anvil-client.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { computeBloom, networkLogs } from '../ledger/network-logs.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  cutPage,
  invalidParameter,
  isWithin,
  notFound,
  parseWhole,
  type Range,
} from './mirror-query.ts'

const { paging, times, wholes } = PARAMETERS

/** `/api/v1/blocks` and `/api/v1/blocks/{hash or number}`. */
export function addBlockRoutes(app: FastifyInstance, ledger: Ledger): void {
  const listed = { ...paging, 'block.number': wholes, timestamp: times }
  addMirrorRoute(app, { path: 'blocks', parameters: listed }, async ({ query, list }) => {
    const { page, links } = cutPage(list, blocksIn(ledger, query), {
      name: 'block.number',
      order: 'desc',
      pageKey: String,
    })
    const blocks = (await ledger.anvil.batch(
      page.map((number) => ['eth_getBlockByNumber', [numberToHex(number), false]]),
    )) as (InnerBlock | null)[]
    const known = blocks.filter((block) => block !== null)
    return { blocks: known.map((block) => toMirrorBlock(ledger, block)), links }
  })

  addMirrorRoute(app, { path: 'blocks/:id', parameters: {} }, async ({ params }) => {
    const block = await findBlock(ledger, params.id)
    if (block === null || Number(block.number) > ledger.evm.newestBlock(ledger.faults.mirrorLagMs))
      throw notFound()
    return toMirrorBlock(ledger, block)
  })
}

/** The mirror node's 48-byte form of a block hash; its first 32 bytes are what JSON-RPC shows. */
export function toMirrorBlockHash(hash: Hex): Hex {
  return `${hash}${keccak256(hash).slice(2, 34)}`
}

function blocksIn(ledger: Ledger, query: { 'block.number': Range; timestamp: Range }): number[] {
  const { 'block.number': numbers } = query
  const newest = BigInt(ledger.evm.newestBlock(ledger.faults.mirrorLagMs))
  const last = Number(numbers.to < newest ? numbers.to : newest)
  const found: number[] = []
  for (let number = Number(numbers.from); number <= last; number += 1) {
    const { to } = ledger.evm.blockRange(number)
    if (isWithin(numbers, BigInt(number)) && isWithin(query.timestamp, to)) found.push(number)
  }
  return found
}

/** The block with that hash or number, null if there is none. @throws MirrorRefusal that names `parameter` */
export async function findBlock(
  ledger: Ledger,
  id: string,
  parameter = 'hashOrNumber',
): Promise<InnerBlock | null> {
  const hash = /^(?:0x)?([0-9a-f]{64})(?:[0-9a-f]{32})?$/i.exec(id)?.[1]
  const number = parseWhole(id)
  if (hash === undefined && number === undefined) throw invalidParameter(parameter)
  const found =
    number === undefined
      ? ledger.anvil.call('eth_getBlockByHash', [`0x${hash}`, false])
      : ledger.anvil.call('eth_getBlockByNumber', [numberToHex(number), false])
  return (await found) as InnerBlock | null
}

function toMirrorBlock(ledger: Ledger, block: InnerBlock): { [name: string]: unknown } {
  const number = Number(block.number)
  const { from, to } = ledger.evm.blockRange(number)
  const transactions = ledger.transactions.inBlock(number)
  return {
    count: ledger.records.between({ from, to }).length,
    gas_used: Number(block.gasUsed),
    hapi_version: '0.76.0',
    hash: toMirrorBlockHash(block.hash),
    logs_bloom: computeBloom(transactions.flatMap(networkLogs)),
    name: `${formatTimestamp(from).replace('.', '_')}.rcd.gz`,
    number,
    previous_hash: toMirrorBlockHash(block.parentHash),
    size: Number(block.size),
    timestamp: { from: formatTimestamp(from), to: formatTimestamp(to) },
  }
}
