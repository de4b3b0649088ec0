// eth_getLogs and the filters built on it.

import { type Address, type Hex, numberToHex } from 'viem'
import { z } from 'zod'
import { lowerAddress } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { blocksBetween, findBlockNumber, numberOfHash, visibleBlock } from './block-methods.ts'
import { type JsonObject, outerLogs } from './outer-view.ts'
import {
  addressParameter,
  hashParameter,
  type RpcMethods,
  refusals,
  required,
} from './rpc-method.ts'

/** Blocks that one eth_getLogs may span (ETH_GET_LOGS_BLOCK_RANGE_LIMIT of the relay). */
const LOGS_BLOCKS_MAX = 1_000

/** Topics that an EVM log can have. */
const TOPICS_MAX = 4

/** How long an unused filter lives, milliseconds (the relay's FILTER_TTL). */
const FILTER_MS_MAX = 300_000

type Filter = { kind: 'logs' | 'blocks'; criteria: Criteria; nextBlock: number; usedAtMs: number }

type Criteria = {
  addresses?: readonly Address[] | undefined
  /** Each a hash, a list of hashes to choose from, or null for any; lower case. */
  topics?: readonly (Hex | null | readonly (Hex | null)[])[]
  fromBlock?: unknown
  toBlock?: unknown
  blockHash?: unknown
}

export function logMethods(ledger: Ledger): RpcMethods {
  const filters = new Map<string, Filter>()
  let lastFilter = 0

  function forgetUnused(): void {
    for (const [id, { usedAtMs }] of filters) {
      if (ledger.clock.unixMs() - usedAtMs > FILTER_MS_MAX) filters.delete(id)
    }
  }

  function install(kind: Filter['kind'], criteria: Criteria): Hex {
    forgetUnused()
    lastFilter += 1
    const id = numberToHex(lastFilter, { size: 16 })
    const usedAtMs = ledger.clock.unixMs()
    filters.set(id, { kind, criteria, nextBlock: visibleBlock(ledger) + 1, usedAtMs })
    return id
  }

  function use(p: readonly unknown[]): Filter {
    forgetUnused()
    const filter = filters.get(String(required(p, 0)))
    if (filter === undefined) throw refusals.filterNotFound()
    filter.usedAtMs = ledger.clock.unixMs()
    return filter
  }

  return {
    eth_getLogs: (p) => readLogs(ledger, readCriteria(required(p, 0))),
    eth_newFilter: (p) => install('logs', readCriteria(p[0] ?? {})),
    eth_newBlockFilter: () => install('blocks', {}),
    eth_uninstallFilter: (p) => filters.delete(String(required(p, 0))),
    eth_getFilterLogs: (p) => {
      const filter = use(p)
      if (filter.kind === 'blocks') throw refusals.filterNotFound()
      return readLogs(ledger, filter.criteria)
    },
    eth_getFilterChanges: (p) => changes(ledger, use(p)),
  }
}

const topic = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase() as Hex)
  .nullable()

/** Each a hash, a list of hashes to choose from, or null for any. */
const topicList = z.array(z.union([topic, z.array(topic)])).max(TOPICS_MAX)

/** @throws RpcError for another form */
export function readCriteria(value: unknown): Criteria {
  if (typeof value !== 'object' || value === null) {
    throw refusals.invalidParameter(0, 'Expected Filter object')
  }
  const { address, topics, ...blocks }: { [name: string]: unknown } = { ...value }
  const chosen = topicList.safeParse(topics ?? [])
  if (!chosen.success) {
    throw refusals.invalidParameter(
      "'topics' for FilterObject",
      'Expected an array or array of arrays of 0x prefixed hashes (32 bytes)',
    )
  }
  const addresses = address == null ? undefined : [address].flat()
  return {
    ...blocks,
    topics: chosen.data,
    addresses: addresses?.map((_one, index) => addressParameter(addresses, index)),
  }
}

async function changes(ledger: Ledger, filter: Filter): Promise<unknown> {
  const from = filter.nextBlock
  const to = visibleBlock(ledger)
  if (from > to) return []
  filter.nextBlock = to + 1
  if (filter.kind === 'blocks') {
    const blocks = await blocksBetween(ledger, { from, to, isFull: false })
    return blocks.map(({ hash }) => hash)
  }
  return logsBetween(ledger, { criteria: filter.criteria, from, to })
}

async function readLogs(ledger: Ledger, criteria: Criteria): Promise<JsonObject[]> {
  if (criteria.blockHash !== undefined && criteria.blockHash !== null) {
    const number = await numberOfHash(ledger, hashParameter([criteria.blockHash], 0))
    return number === undefined ? [] : logsBetween(ledger, { criteria, from: number, to: number })
  }
  if (criteria.toBlock !== undefined && criteria.fromBlock === undefined) {
    if (criteria.toBlock !== 'latest') throw refusals.missingFromBlock()
  }
  const head = visibleBlock(ledger)
  const from = await findBlockNumber(ledger, criteria.fromBlock)
  const to = (await findBlockNumber(ledger, criteria.toBlock)) ?? head
  if (from === undefined) return []
  if (from > to) throw refusals.invalidBlockRange()
  if (to - from >= LOGS_BLOCKS_MAX) throw refusals.rangeTooLarge(LOGS_BLOCKS_MAX)
  return logsBetween(ledger, { criteria, from, to })
}

/** The logs of visible transactions, in order. A forgotten block has none. */
export function logsBetween(
  ledger: Ledger,
  range: { criteria: Criteria; from: number; to: number },
): JsonObject[] {
  const { addresses, topics = [] } = range.criteria
  const wanted = addresses?.map((each) => ledger.accounts.canonicalAddress(each))
  const isWanted = (log: JsonObject): boolean =>
    (wanted === undefined || wanted.includes(lowerAddress(String(log['address'])))) &&
    topics.every(
      (choice, at) =>
        choice === null || [choice].flat().includes((log['topics'] as Hex[])[at] ?? null),
    )
  const found: JsonObject[] = []
  for (let number = range.from; number <= range.to; number += 1) {
    found.push(...ledger.transactions.inBlock(number).flatMap(outerLogs).filter(isWanted))
  }
  return found
}
