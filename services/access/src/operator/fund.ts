import { formatHbar } from '../domain/hbar.ts'
import type { OperatorVerb } from './operator-verb.ts'
import { openContract, receiptLine } from './owner-contract.ts'
import { neededHbarOption } from './read-arguments.ts'

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
