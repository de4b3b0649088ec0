// Who may count calls.
import { BadUsage } from '@tallystick/service-kit/command'
import { createMirrorNode } from '@tallystick/x402/hedera'
import { type Address, getAddress } from 'viem'
import { readView } from '../adapters/contract-calls.ts'
import { createMirrorSellerHistory } from '../adapters/mirror-seller-history.ts'
import { createRecorderReader } from '../domain/recorder-count.ts'
import { actAsOwner } from './contract-verbs.ts'
import { type ContractView, lookAtContract } from './operator-contract.ts'
import { addressFrom, type OperatorCall, type OperatorVerb } from './operator-verb.ts'

const SET_RECORDER_GAS = 100_000n

async function currentRecorders(
  { clock, config }: OperatorCall,
  { relay, contract }: ContractView,
): Promise<readonly Address[]> {
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const history = createMirrorSellerHistory({ mirror, clock, contract, payTo: undefined })
  const isRecorder = (account: Address) =>
    readView(relay, { contract, functionName: 'isRecorder', args: [account] })
  const recorders = await createRecorderReader({ clock, history, isRecorder })()
  return recorders.map((account) => getAddress(account))
}

async function list(call: OperatorCall): Promise<void> {
  const current = await lookAtContract(call, (view) => currentRecorders(call, view))
  if (call.isJson) return call.printJson({ recorders: current })
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

export const recordersVerb: OperatorVerb = {
  name: 'recorders',
  usage: 'add 0x…|remove 0x…|list',
  summary: 'who may count calls: one account per service process',
  example: 'recorders list',
  json: { prints: 'one document', members: ['recorders'] },
  wordsMax: 2,
  needs: (words) => (words[0] === 'list' ? ['ACCESS_CONTRACT'] : ['OWNER_KEY', 'ACCESS_CONTRACT']),
  async run(call) {
    const [action] = call.words
    if (action === 'list') return await list(call)
    if (action === 'add' || action === 'remove') return await set(call, action === 'add')
    throw new BadUsage('Say what to do: `add 0x…`, `remove 0x…` or `list`.')
  },
}
