import { accessWindowAbi } from '@tallystick/contracts'
import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '../domain/hbar.ts'
import { OperatorRefusal, type OperatorVerb } from './operator-verb.ts'
import { openContract, receiptLine } from './owner-contract.ts'
import { addressFrom, hbarOption } from './read-arguments.ts'

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
