import { accessWindowAbi } from '@tallystick/contracts'
import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '@tallystick/x402/hedera'
import { REAP_GAS } from '../adapters/viem-contract-sender.ts'
import { openContract, receiptLine } from './operator-contract.ts'
import {
  addressFrom,
  hbarOption,
  neededHbarOption,
  OperatorRefusal,
  type OperatorVerb,
} from './operator-verb.ts'

const FUND_GAS = 200_000n

/** Adds to the gas reserve that pays for arming renewals. */
export const fund: OperatorVerb = {
  name: 'fund',
  usage: '--hbar N',
  summary: 'add to the gas reserve, from the owner',
  options: { hbar: 'text' },
  wordsMax: 0,
  needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
  async run(call) {
    const valueTinybar = neededHbarOption(call, 'hbar')
    const contract = await openContract(call.config, 'OWNER_KEY')
    const receipt = await contract.write({
      functionName: 'fundReserve',
      args: [],
      valueTinybar,
      gas: FUND_GAS,
    })
    call.print(`The reserve has ${formatHbar(valueTinybar)} more.`)
    call.print(receiptLine(receipt))
  },
}

/** A transfer out, and the creation of an account that the network has not seen yet (0.8 M). */
const WITHDRAW_GAS = 1_000_000n

/** Sends earnings, or free gas reserve, to the owner or another account. */
export const withdraw: OperatorVerb = {
  name: 'withdraw',
  usage: 'earnings|reserve [--hbar N] [--to 0x…]',
  summary: 'take out earnings or free reserve, all of it unless --hbar says less',
  options: { hbar: 'text', to: 'text' },
  wordsMax: 1,
  needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
  async run(call) {
    const [source] = call.words
    if (source !== 'earnings' && source !== 'reserve') {
      throw new BadUsage('Say what to withdraw: `earnings` or `reserve`.')
    }
    const asked = hbarOption(call, 'hbar')
    const toText = call.text('to')
    const given = toText === undefined ? undefined : addressFrom(toText, '--to')
    const contract = await openContract(call.config, 'OWNER_KEY')
    const to = given ?? contract.ledger.address
    const books = await contract.ledger.reader.readContract({
      abi: accessWindowAbi,
      address: contract.address,
      functionName: 'books',
    })
    const available = source === 'earnings' ? books.earnedTinybar : books.reserveTinybar
    const amount = asked ?? available
    if (amount === 0n) throw new OperatorRefusal(`There is nothing to withdraw: ${source} 0 HBAR.`)
    const receipt = await contract.write({
      functionName: source === 'earnings' ? 'withdrawEarnings' : 'withdrawReserve',
      args: [to, amount],
      gas: WITHDRAW_GAS,
    })
    call.print(`${formatHbar(amount)} of the ${source} went to ${to}.`)
    call.print(receiptLine(receipt))
  },
}

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
