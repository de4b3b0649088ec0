import { accessWindowAbi } from '@tallystick/contracts'
import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '@tallystick/x402/hedera'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-client.ts'
import {
  type ContractView,
  lookAtContract,
  openContract,
  receiptLine,
} from './operator-contract.ts'
import { countOption, neededHbarOption, type OperatorVerb } from './operator-verb.ts'

/** Everything that `status` shows, read at once. */
async function readBooks({ reader, address }: ContractView) {
  const contract = { abi: accessWindowAbi, address } as const
  const [books, offer, canArm, isPaused, balanceWeibar, gasPriceWeibar] = await Promise.all([
    reader.readContract({ ...contract, functionName: 'books' }),
    reader.readContract({ ...contract, functionName: 'currentOffer' }),
    reader.readContract({ ...contract, functionName: 'renewalsReserveCanArm' }),
    reader.readContract({ ...contract, functionName: 'salesPaused' }),
    reader.getBalance({ address }),
    reader.getGasPrice(),
  ])
  const [offerId, terms] = offer
  return { address, books, offerId, terms, canArm, isPaused, balanceWeibar, gasPriceWeibar }
}

/** Shows the offer and the seller's books. */
export const status: OperatorVerb = {
  name: 'status',
  usage: '',
  summary: 'the offer, the books, and how many renewals the reserve can arm',
  options: {},
  wordsMax: 0,
  needs: ['ACCESS_CONTRACT'],
  async run(call) {
    const { address, books, offerId, terms, canArm, isPaused, ...ledger } = await lookAtContract(
      call.config,
      readBooks,
    )
    const rows: readonly (readonly [string, string])[] = [
      ['Contract', address],
      [
        `Offer ${offerId}`,
        `${formatHbar(terms.priceTinybar)} for ${terms.periodSeconds} s and ${terms.callsAllowed} calls${isPaused ? ', sales PAUSED' : ''}`,
      ],
      ['Earned', `${formatHbar(books.earnedTinybar)} to withdraw`],
      ['Reserve', `${formatHbar(books.reserveTinybar)} free, arms ${canArm} more renewals`],
      ['Locked', `${formatHbar(books.lockedTinybar)} for renewals that are armed`],
      ['Deposits', `${formatHbar(books.depositsTinybar)} of the subscribers`],
      ['Refunds', `${formatHbar(books.refundsTinybar)} waiting to be claimed`],
      ['Shortfall', formatHbar(books.shortfallTinybar)],
      ['Balance', formatHbar(ledger.balanceWeibar / WEIBAR_PER_TINYBAR)],
      ['Gas price', `${ledger.gasPriceWeibar / WEIBAR_PER_TINYBAR} tinybar`],
    ]
    for (const [name, value] of rows) call.print(`${name.padEnd(10)} ${value}`)
  },
}

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

const PAUSE_GAS = 100_000n

type PauseWords = Pick<OperatorVerb, 'name' | 'summary'> & {
  readonly isPaused: boolean
  readonly said: string
}

function pauseVerb({ name, summary, isPaused, said }: PauseWords): OperatorVerb {
  return {
    name,
    usage: '',
    summary,
    options: {},
    wordsMax: 0,
    needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
    async run(call) {
      const contract = await openContract(call.config, 'OWNER_KEY')
      const receipt = await contract.write({
        functionName: 'pauseSales',
        args: [isPaused],
        gas: PAUSE_GAS,
      })
      call.print(said)
      call.print(receiptLine(receipt))
    },
  }
}

/** Stops new sales; open windows renew and refunds are paid as before. */
export const pause = pauseVerb({
  name: 'pause',
  summary: 'stop new sales; open windows go on renewing',
  isPaused: true,
  said: 'Sales are paused. Open windows go on renewing, and settled payments are still opened.',
})

/** Takes sales up again. */
export const resume = pauseVerb({
  name: 'resume',
  summary: 'take sales up again',
  isPaused: false,
  said: 'Sales are open.',
})
