import { accessWindowAbi } from '@tallystick/contracts'
import { WEIBAR_PER_TINYBAR } from '../adapters/hedera-units.ts'
import { formatHbar } from '../domain/hbar.ts'
import { type ContractView, lookAtContract } from './look-at-contract.ts'
import type { OperatorVerb } from './operator-verb.ts'

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
