import type { FastifyInstance } from 'fastify'
import { type Hex, keccak256, numberToHex } from 'viem'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, parseTimestamp, secondsToNs } from '../ledger/timestamp.ts'
import {
  invalidParameter,
  type MirrorQuery,
  nextLink,
  notFound,
  readLimit,
  readOrder,
  readRange,
} from './mirror-query.ts'

/** A block as anvil gives it; what is read here. */
type InnerBlock = {
  number: Hex
  hash: Hex
  parentHash: Hex
  timestamp: Hex
  gasUsed: Hex
  logsBloom: Hex
  size: Hex
}

/** `/api/v1/blocks` and `/api/v1/blocks/{hash or number}`. */
export function addBlockRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<{ Querystring: MirrorQuery }>('/api/v1/blocks', async ({ query }) => {
    const limit = readLimit(query)
    const order = readOrder(query, 'desc')
    const page = blocksIn(ledger, query)
    if (order === 'desc') page.reverse()
    const numbers = page.slice(0, limit)
    const blocks = (await ledger.anvil.batch(
      numbers.map((number) => ['eth_getBlockByNumber', [numberToHex(number), false]]),
    )) as InnerBlock[]
    const last = numbers.length < limit ? undefined : numbers.at(-1)?.toString()
    const path = '/api/v1/blocks'
    return {
      blocks: blocks.map((block) => toMirrorBlock(ledger, block)),
      links: { next: nextLink({ path, query, name: 'block.number', order, last }) },
    }
  })

  app.get<{ Params: { id: string } }>('/api/v1/blocks/:id', async ({ params }) => {
    const block = await findBlock(ledger, params.id)
    if (block === null || Number(block.number) > newestBlock(ledger)) throw notFound()
    return toMirrorBlock(ledger, block)
  })
}

/** The newest block that the mirror node has taken in. */
function newestBlock(ledger: Ledger): number {
  const { mirrorLagMs } = ledger.faults
  return mirrorLagMs === 0
    ? ledger.evm.latestBlock()
    : ledger.evm.blockAt(ledger.clock.unixMs() - mirrorLagMs)
}

/** The mirror node's 48-byte form of a block hash; its first 32 bytes are what JSON-RPC shows. */
export function toMirrorBlockHash(hash: Hex): Hex {
  return `${hash}${keccak256(hash).slice(2, 34)}`
}

function blocksIn(ledger: Ledger, query: MirrorQuery): number[] {
  const numbers = readRange({ query, name: 'block.number', parse: parseNumber })
  const times = readRange({ query, name: 'timestamp', parse: parseTimestamp })
  return Array.from({ length: newestBlock(ledger) + 1 }, (_, number) => number).filter((number) => {
    const atNs = ledger.evm.blockTimes(number)?.consensusNs ?? 0n
    return (
      BigInt(number) >= numbers.from &&
      BigInt(number) <= numbers.to &&
      atNs >= times.from &&
      atNs <= times.to
    )
  })
}

function parseNumber(text: string): bigint | undefined {
  return /^\d{1,15}$/.test(text) ? BigInt(text) : undefined
}

async function findBlock(ledger: Ledger, id: string): Promise<InnerBlock | null> {
  const hash = /^(?:0x)?([0-9a-f]{64})(?:[0-9a-f]{32})?$/i.exec(id)?.[1]
  if (hash !== undefined) {
    return (await ledger.anvil.call('eth_getBlockByHash', [
      `0x${hash}`,
      false,
    ])) as InnerBlock | null
  }
  if (!/^\d{1,15}$/.test(id)) throw invalidParameter('hashOrNumber')
  const number = numberToHex(Number(id))
  return (await ledger.anvil.call('eth_getBlockByNumber', [number, false])) as InnerBlock | null
}

function toMirrorBlock(ledger: Ledger, block: InnerBlock): { [name: string]: unknown } {
  const number = Number(block.number)
  const fromNs = secondsToNs(BigInt(block.timestamp))
  const toNs = ledger.evm.blockTimes(number)?.consensusNs ?? fromNs
  return {
    count: ledger.records.between({ fromNs: toNs, toNs }).length,
    gas_used: Number(block.gasUsed),
    hapi_version: '0.76.0',
    hash: toMirrorBlockHash(block.hash),
    logs_bloom: block.logsBloom,
    name: `${formatTimestamp(fromNs).replace('.', '_')}.rcd.gz`,
    number,
    previous_hash: toMirrorBlockHash(block.parentHash),
    size: Number(block.size),
    timestamp: { from: formatTimestamp(fromNs), to: formatTimestamp(toNs) },
  }
}
