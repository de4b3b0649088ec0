import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '../domain/hbar.ts'
import type { OperatorVerb } from './operator-verb.ts'
import { openContract, receiptLine } from './owner-contract.ts'
import { countOption, neededHbarOption } from './read-arguments.ts'

const SET_OFFER_GAS = 250_000n

/** Sets the terms of purchases from now on; those who bought keep theirs. */
export const setOffer: OperatorVerb = {
  name: 'set-offer',
  usage: '--price-hbar N --period-seconds N --calls N',
  summary: 'set price, period and quota of purchases from now on',
  options: { 'price-hbar': 'text', 'period-seconds': 'text', calls: 'text' },
  wordsMax: 0,
  needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
  async run(call) {
    const priceTinybar = neededHbarOption(call, 'price-hbar')
    const periodSeconds = countOption(call, 'period-seconds')
    const calls = countOption(call, 'calls')
    if (periodSeconds === undefined || calls === undefined) {
      throw new BadUsage('An offer has all three: --price-hbar, --period-seconds, --calls.')
    }
    const contract = await openContract(call.config, 'OWNER_KEY')
    const receipt = await contract.write({
      functionName: 'setOffer',
      args: [priceTinybar, periodSeconds, calls],
      gas: SET_OFFER_GAS,
    })
    call.print(
      `From now on one period of ${periodSeconds} s with ${calls} calls costs ${formatHbar(priceTinybar)}.`,
    )
    call.print('Whoever was challenged before may pay the previous price for 10 minutes more.')
    call.print(receiptLine(receipt))
  },
}
