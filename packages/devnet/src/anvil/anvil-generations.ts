// anvil never forgets: each new block's state copies the hash of every block and every slot ever written, so blocks take ever
// more time and memory. Therefore anvils succeed one another: after some blocks, the newest state moves into a fresh process
// without history or empty slots. The previous one answers for its own blocks until the next succession; older ones are
// forgotten.

import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { z } from 'zod'
import { type AnvilAddress, type AnvilCall, createAnvilClient } from './anvil-client.ts'

/** A new anvil; the caller stops it. */
type AnvilProcess = AnvilAddress & { stop(): Promise<void> }

/**
 * Blocks of one anvil. Another thousand slots cost a millisecond per block, and a thousand blocks write a few hundred; moving
 * the state takes a fifth of a second.
 */
const GENERATION_BLOCKS = 1_024

/** How many blocks ahead a successor is started. */
const START_AHEAD_BLOCKS = 64

type Generation = {
  readonly process: AnvilProcess
  readonly client: ReturnType<typeof createAnvilClient>
  /** The block with which it began. */
  readonly firstBlock: number
}

const begin = (process: AnvilProcess, firstBlock: number): Generation => ({
  process,
  client: createAnvilClient(process),
  firstBlock,
})

async function end({ client, process }: Generation): Promise<void> {
  client.close()
  await process.stop()
}

/** The position of the block number in the methods that read a state or a block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_getStorageAt: 2,
  eth_getTransactionCount: 1,
  eth_getBlockByNumber: 0,
}

export type AnvilGenerations = Awaited<ReturnType<typeof startAnvilGenerations>>

/** Starts the first anvil. `start` is called again for each successor, after `generationBlocks` blocks each. */
export async function startAnvilGenerations(
  start: () => Promise<AnvilProcess>,
  generationBlocks = GENERATION_BLOCKS,
) {
  let current = begin(await start(), 0)
  let previous: Generation | undefined
  let successor: Promise<AnvilProcess> | undefined
  let retired: Promise<unknown> = Promise.resolve()
  /** Of the ledger before `load`: reads under way end on them. */
  let outgoing: Generation[] = []

  function findGeneration([method, parameters = []]: AnvilCall): Generation {
    const tag = parameters[BLOCK_AT[method] ?? -1]
    const isOlder =
      typeof tag === 'string' && tag.startsWith('0x') && Number(tag) < current.firstBlock
    return isOlder && previous !== undefined ? previous : current
  }

  /** Looks up by hash: asks the current anvil, then the previous one. */
  async function byHash(method: string, parameters: readonly unknown[]): Promise<unknown> {
    const ask = ({ client }: Generation) => client.call(method, parameters)
    const older = previous
    return (await ask(current)) ?? (older === undefined ? null : ask(older))
  }

  const dump = async (isHistoryKept: boolean): Promise<string> =>
    slimmed(String(await current.client.call('anvil_dumpState')), { isHistoryKept })

  /** A successor with that state. */
  async function beginWith(state: string, newestBlock: number): Promise<Generation> {
    const next = begin(await (successor ?? start()), newestBlock)
    successor = undefined
    await next.client.call('anvil_loadState', [state])
    return next
  }

  async function succeed(newestBlock: number): Promise<void> {
    const next = await beginWith(await dump(false), newestBlock)
    if (previous !== undefined) retired = Promise.all([retired, end(previous)])
    previous = current
    current = next
  }

  return {
    /** One call; the result as anvil gives it. A forgotten block is refused as out of range. */
    call: (method: string, parameters: readonly unknown[] = []): Promise<unknown> =>
      method === 'eth_getBlockByHash'
        ? byHash(method, parameters)
        : findGeneration([method, parameters]).client.call(method, parameters),
    /** Several calls, in one message if they are for one generation; results in the same order. */
    async batch(calls: readonly AnvilCall[]): Promise<unknown[]> {
      const generations = calls.map(findGeneration)
      const [only = current, ...others] = new Set(generations)
      if (others.length === 0) return only.client.batch(calls)
      return Promise.all(calls.map((call, at) => (generations[at] ?? current).client.call(...call)))
    },
    /** Moves the state into a successor when due. Nothing may change meanwhile: the caller holds the queue. */
    async succeedIfDue(newestBlock: number): Promise<void> {
      const age = newestBlock - current.firstBlock
      // Started ahead, so that the succession itself does not wait for it.
      if (age >= generationBlocks - START_AHEAD_BLOCKS) successor ??= start()
      if (age >= generationBlocks) await succeed(newestBlock)
    },
    /** The newest state, and the blocks that the current anvil has. The caller holds the queue. */
    dump: () => dump(true),
    /** Goes on from what `dump` gave, in another anvil. The caller holds the queue. */
    async load(state: string, newestBlock: number): Promise<void> {
      const next = await beginWith(state, newestBlock)
      retired = Promise.all([retired, ...outgoing.map(end)])
      outgoing = [current, ...(previous === undefined ? [] : [previous])]
      previous = undefined
      current = next
    },
    /** Ends every anvil. */
    async stop(): Promise<void> {
      await retired
      await Promise.all(outgoing.map(end))
      const spare = await successor?.catch(() => undefined)
      await Promise.all([
        end(current),
        ...(previous === undefined ? [] : [end(previous)]),
        ...(spare === undefined ? [] : [spare.stop()]),
      ])
    },
  }
}

const Dump = z.looseObject({
  best_block_number: z.union([z.number(), z.string()]),
  accounts: z.record(z.string(), z.looseObject({ storage: z.record(z.string(), z.string()) })),
  blocks: z.array(z.looseObject({ header: z.looseObject({ number: z.string() }) })),
})

/** What `anvil_dumpState` gave: every account with its storage. */
export async function unpackState(dump: string): Promise<z.output<typeof Dump>> {
  const packed = Buffer.from(dump.slice(2), 'hex')
  return Dump.parse(JSON.parse((await promisify(gunzip)(packed)).toString('utf8')))
}

/** anvil's dump without its index of transactions and zero slots; unless history is kept, with its newest block alone, emptied. */
async function slimmed(
  dump: string,
  { isHistoryKept }: { isHistoryKept: boolean },
): Promise<string> {
  const state = await unpackState(dump)
  for (const account of Object.values(state.accounts)) {
    const used = Object.entries(account.storage).filter(([, value]) => !/^0x0*$/.test(value))
    account.storage = Object.fromEntries(used)
  }
  const best = Number(state.best_block_number)
  const blocks = state.blocks.filter(
    ({ header }) => isHistoryKept || Number(header.number) === best,
  )
  const slim = {
    ...state,
    blocks: isHistoryKept ? blocks : blocks.map((block) => ({ ...block, transactions: [] })),
    transactions: [],
    historical_states: null,
  }
  return `0x${(await promisify(gzip)(JSON.stringify(slim))).toString('hex')}`
}
