import type { FastifyInstance } from 'fastify'
import { type Hex, keccak256, numberToHex } from 'viem'
import type { InnerBlock } from '../ledger/evm.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp, secondsToNs } from '../ledger/records.ts'
import {
  invalidParameter,
  type MirrorQuery,
  type MirrorRequest,
  notFound,
  pageOf,
  parseWhole,
  readRange,
  timesIn,
} from './mirror-query.ts'

/** `/api/v1/blocks` and `/api/v1/blocks/{hash or number}`. */
export function addBlockRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<MirrorRequest>('/api/v1/blocks', async (request) => {
    const { page, links } = pageOf(request, blocksIn(ledger, request.query), {
      name: 'block.number',
      order: 'desc',
      keyOf: String,
    })
    const blocks = (await ledger.anvil.batch(
      page.map((number) => ['eth_getBlockByNumber', [numberToHex(number), false]]),
    )) as (InnerBlock | null)[]
    const known = blocks.filter((block) => block !== null)
    return { blocks: known.map((block) => toMirrorBlock(ledger, block)), links }
  })

  app.get<MirrorRequest>('/api/v1/blocks/:id', async ({ params }) => {
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

function blocksIn(ledger: Ledger, query: MirrorQuery): number[] {
  const numbers = readRange(query, 'block.number', parseWhole)
  const times = timesIn(query)
  const last = Math.min(Number(numbers.to), ledger.evm.newestBlock(ledger.faults.mirrorLagMs))
  const found: number[] = []
  for (let number = Number(numbers.from); number <= last; number += 1) {
    const atNs = ledger.evm.blockTimes(number)?.consensusNs ?? 0n
    if (atNs >= times.from && atNs <= times.to) found.push(number)
  }
  return found
}

async function findBlock(ledger: Ledger, id: string): Promise<InnerBlock | null> {
  const hash = /^(?:0x)?([0-9a-f]{64})(?:[0-9a-f]{32})?$/i.exec(id)?.[1]
  const number = parseWhole(id)
  if (hash === undefined && number === undefined) throw invalidParameter('hashOrNumber')
  const found =
    number === undefined
      ? ledger.anvil.call('eth_getBlockByHash', [`0x${hash}`, false])
      : ledger.anvil.call('eth_getBlockByNumber', [numberToHex(number), false])
  return (await found) as InnerBlock | null
}

function toMirrorBlock(ledger: Ledger, block: InnerBlock): { [name: string]: unknown } {
  const number = Number(block.number)
  const fromNs = secondsToNs(BigInt(block.timestamp))
  const toNs = ledger.evm.blockTimes(number)?.consensusNs ?? fromNs
  return {
    count: ledger.records.between({ from: toNs, to: toNs }).length,
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
