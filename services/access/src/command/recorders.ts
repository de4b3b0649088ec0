// Who may count calls. The contract answers for one address at a time, so the list is made from its RecorderSet events,
// read in the steps of 1,000 blocks that Hedera's relay allows.
import { accessWindowAbi } from '@tallystick/contracts'
import { BadUsage } from '@tallystick/service-kit/command'
import { type Address, getAbiItem, getAddress, numberToHex, toEventSelector } from 'viem'
import { contractEvents, type LedgerLog, readView } from '../adapters/contract-calls.ts'
import { quantity } from '../adapters/ledger-facts.ts'
import { actAsOwner } from './contract-verbs.ts'
import { type ContractView, lookAtContract } from './operator-contract.ts'
import {
  addressFrom,
  type OperatorCall,
  OperatorRefusal,
  type OperatorVerb,
} from './operator-verb.ts'

const SET_RECORDER_GAS = 100_000n
/** Hedera's relay answers at most this many blocks of logs at once. */
const LOG_BLOCKS_MAX = 1_000n
/** A longer search would run for many minutes against a public relay. */
const LOG_REQUESTS_MAX = 500n

const topics = [toEventSelector(getAbiItem({ abi: accessWindowAbi, name: 'RecorderSet' }))]

/** Addresses that a RecorderSet event named since a block. Throws OperatorRefusal for too long a search. */
async function namedRecorders(
  { relay, contract }: ContractView,
  fromBlock: bigint,
): Promise<ReadonlySet<Address>> {
  const head = quantity(await relay.read('eth_blockNumber', []))
  if (head - fromBlock > LOG_BLOCKS_MAX * LOG_REQUESTS_MAX) {
    throw new OperatorRefusal(
      `The ledger has ${head - fromBlock} blocks since ${fromBlock}: say --from-block with the block that \`deploy\` printed, or a later one.`,
    )
  }
  const found = new Set<Address>()
  for (let from = fromBlock; from <= head; from += LOG_BLOCKS_MAX) {
    const toBlock = from + LOG_BLOCKS_MAX - 1n < head ? from + LOG_BLOCKS_MAX - 1n : head
    const range = { fromBlock: numberToHex(from), toBlock: numberToHex(toBlock) }
    const logs = await relay.read('eth_getLogs', [{ address: contract, topics, ...range }])
    for (const event of contractEvents(logs as readonly LedgerLog[], contract))
      if (event.eventName === 'RecorderSet') found.add(getAddress(event.args.recorder))
  }
  return found
}

async function currentRecorders(
  view: ContractView,
  fromBlock: bigint,
): Promise<readonly Address[]> {
  const { relay, contract } = view
  const current: Address[] = []
  for (const recorder of await namedRecorders(view, fromBlock)) {
    const asked = { contract, functionName: 'isRecorder', args: [recorder] } as const
    if (await readView(relay, asked)) current.push(recorder)
  }
  return current
}

async function list(call: OperatorCall): Promise<void> {
  const fromText = call.text('from-block') ?? '0'
  if (!/^\d{1,15}$/.test(fromText)) throw new BadUsage('--from-block takes a block number.')
  const fromBlock = BigInt(fromText)
  const current = await lookAtContract(call, (view) => currentRecorders(view, fromBlock))
  for (const recorder of current) call.print(recorder)
  call.print(current.length === 1 ? '1 recorder.' : `${current.length} recorders.`)
}

async function set(call: OperatorCall, isAllowed: boolean): Promise<void> {
  const recorder = addressFrom(call.words[1], 'A recorder')
  await actAsOwner(call, () => ({
    write: { functionName: 'setRecorder', args: [recorder, isAllowed], gas: SET_RECORDER_GAS },
    said: [`${recorder} counts calls ${isAllowed ? 'now' : 'no more'}.`],
  }))
}

export const recorders: OperatorVerb = {
  name: 'recorders',
  usage: 'add 0x…|remove 0x…|list [--from-block N]',
  summary: 'who may count calls: one account per service process',
  options: { 'from-block': 'text' },
  wordsMax: 2,
  needs: (words) => (words[0] === 'list' ? ['ACCESS_CONTRACT'] : ['OWNER_KEY', 'ACCESS_CONTRACT']),
  async run(call) {
    const [action] = call.words
    if (action === 'list') return await list(call)
    if (action === 'add' || action === 'remove') return await set(call, action === 'add')
    throw new BadUsage('Say what to do: `add 0x…`, `remove 0x…` or `list`.')
  },
}
