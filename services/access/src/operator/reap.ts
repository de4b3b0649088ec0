import { REAP_GAS } from '../adapters/viem-contract-sender.ts'
import type { OperatorVerb } from './operator-verb.ts'
import { openContract, receiptLine } from './owner-contract.ts'
import { addressFrom } from './read-arguments.ts'

/** Gives up an overdue schedule of an agent and arms its renewal anew. */
export const reap: OperatorVerb = {
  name: 'reap',
  usage: '0x<agent>',
  summary: 'give up a schedule that is over 30 s overdue and arm the renewal anew',
  options: {},
  wordsMax: 1,
  needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
  async run(call) {
    const agent = addressFrom(call.words[0], 'The agent')
    const contract = await openContract(call.config, 'OWNER_KEY')
    const receipt = await contract.write({ functionName: 'reap', args: [agent], gas: REAP_GAS })
    call.print(`The overdue schedule of ${agent} is given up and its lock is free.`)
    call.print(receiptLine(receipt))
  },
}
