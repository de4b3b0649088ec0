// `status`: the offer, the books, the slots, earnings against costs so far, and what is running out. It needs no key.
import { LedgerUnavailable } from '@tallystick/x402'
import { createMirrorNode, formatHbar, type MirrorNode } from '@tallystick/x402/hedera'
import { forwardGas } from '../adapters/access-contract-writer.ts'
import { offeredGasPrice } from '../adapters/call-sender.ts'
import { readArmingGas, readView } from '../adapters/contract-calls.ts'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import { createMirrorSellerHistory } from '../adapters/mirror-seller-history.ts'
import { fullBatchTinybar } from '../adapters/recorder-ledger.ts'
import { alertLimits } from '../config.ts'
import type { Hex } from '../domain/access-window.ts'
import { createSellerAccount, type SellerAccount } from '../domain/seller-account.ts'
import { judgeFigures } from '../domain/seller-alerts.ts'
import { readSlots, slotRows } from './contract-slots.ts'
import { readArming } from './offer-report.ts'
import { type ContractView, lookAtContract } from './operator-contract.ts'
import { needed, type OperatorCall, type OperatorVerb } from './operator-verb.ts'

type Row = readonly [string, string]

async function readContract(view: ContractView) {
  const { contract, facts, relay } = view
  const [books, [offerId, terms], canArm, isPaused, balanceTinybar, gasPriceWeibar, armingGas] =
    await Promise.all([
      readView(relay, { contract, functionName: 'books' }),
      readView(relay, { contract, functionName: 'currentOffer' }),
      readView(relay, { contract, functionName: 'renewalsReserveCanArm' }),
      readView(relay, { contract, functionName: 'salesPaused' }),
      facts.balanceTinybar(contract)(),
      facts.gasPriceWeibar(),
      readArmingGas(relay, contract),
    ])
  const [arming, slots] = await Promise.all([readArming(view), readSlots(view)])
  const prices = { gasPriceWeibar, armingGas, arming }
  return { books, offerId, terms, canArm, isPaused, balanceTinybar, slots, ...prices }
}

type Contract = Awaited<ReturnType<typeof readContract>>

const contractRows = (address: string, found: Contract): readonly Row[] => [
  ['Contract', address],
  [
    `Offer ${found.offerId}`,
    `${formatHbar(found.terms.priceTinybar)} for ${found.terms.periodSeconds} s and ${found.terms.callsAllowed} calls, windows end every ${found.terms.slotSeconds} s${found.terms.retiredAt === 0 ? '' : ', RETIRED: set-offer sells again'}${found.isPaused ? ', sales PAUSED' : ''}`,
  ],
  ['Earned', `${formatHbar(found.books.earnedTinybar)} to withdraw`],
  ['Reserve', `${formatHbar(found.books.reserveTinybar)} free, arms ${found.canArm} more renewals`],
  ['Locked', `${formatHbar(found.books.lockedTinybar)} for renewals that are armed`],
  ['Deposits', `${formatHbar(found.books.depositsTinybar)} of the subscribers`],
  ['Refunds', `${formatHbar(found.books.refundsTinybar)} waiting to be claimed`],
  ['Shortfall', formatHbar(found.books.shortfallTinybar)],
  ['Balance', formatHbar(found.balanceTinybar)],
  ['Gas price', `${found.gasPriceWeibar / WEIBAR_PER_TINYBAR} tinybar`],
  [
    'Arming',
    `a scheduled call is reckoned at ${found.arming.scheduleCost / 100} US cents and armed when it earns ${found.arming.armingFloorPercent} %`,
  ],
]

const accountRows = (account: SellerAccount): readonly Row[] => [
  ['So far', `${formatHbar(account.earnedTinybar)} earned since the contract was made`],
  ['- reserve', `${formatHbar(account.renewalsTinybar)} for renewals`],
  ['- payTo', `${formatHbar(account.forwardsTinybar)} for forwarding payments`],
  ['- recorder', `${formatHbar(account.recordsTinybar)} for counting calls, all recorders`],
  ['Profit', formatHbar(account.profitTinybar)],
]

/** The accounts that may count calls now, of all that ever could, and what each holds. */
async function readRecorders(
  { relay, contract }: ContractView,
  mirror: MirrorNode,
  named: readonly Hex[],
) {
  const found = await Promise.all(
    named.map(async (recorder) => {
      const [isRecorder, account] = await Promise.all([
        readView(relay, { contract, functionName: 'isRecorder', args: [recorder] }),
        mirror.account(recorder),
      ])
      return { recorder, isRecorder, tinybar: account?.balanceTinybar ?? 0n }
    }),
  )
  return found.filter(({ isRecorder }) => isRecorder)
}

/** Earnings against costs, who counts calls, and what is running out. Throws LedgerUnavailable. */
async function readSeller(call: OperatorCall, found: Contract, payTo: string) {
  const { config, clock } = call
  const address = needed(config, 'ACCESS_CONTRACT')
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const history = createMirrorSellerHistory({ mirror, clock, contract: address, payTo })
  const reader = createSellerAccount({
    contract: { books: async () => found.books },
    history,
    clock,
  })
  let account = await reader.read()
  while (!account.isComplete) account = await reader.read()
  const [payToAccount, recorders] = await Promise.all([
    mirror.account(payTo),
    lookAtContract(call, (view) => readRecorders(view, mirror, account.recorders)),
  ])
  const price = found.gasPriceWeibar
  const poorest = recorders.map(({ tinybar }) => tinybar).toSorted((a, b) => (a < b ? -1 : 1))[0]
  const figures = {
    renewalsReserveCanArm: Number(found.canArm),
    earnedTinybar: found.books.earnedTinybar,
    recorderTinybar: poorest ?? 0n,
    batchTinybar: fullBatchTinybar(price),
    floatTinybar: payToAccount?.balanceTinybar ?? 0n,
    purchaseTinybar: found.terms.priceTinybar * BigInt(config.PERIODS_PER_PURCHASE),
    forwardTinybar: forwardGas(found.armingGas, offeredGasPrice(price)),
  }
  const low = Object.values(judgeFigures(figures, alertLimits(config), 0n))
  const alerts = low.filter(({ headroom }) => headroom < 1).map(({ text }) => text)
  return { account, recorders, alerts }
}

/** The same for programs; what PAY_TO or the mirror node would tell is left out without them. */
async function statusDocument(call: OperatorCall, contract: string, found: Contract) {
  const { balanceTinybar, books, canArm, isPaused, offerId, slots, terms: offer } = found
  const known = { contract, offerId, offer, isPaused, books, balanceTinybar, slots }
  const { PAY_TO: payTo } = call.config
  const reading = payTo === undefined ? undefined : readSeller(call, found, payTo)
  const seller = await reading?.catch((error: unknown) => {
    if (error instanceof LedgerUnavailable) return undefined
    throw error
  })
  const recorders = seller?.recorders.map(({ recorder, tinybar }) => ({ recorder, tinybar }))
  return { ...known, ...seller, recorders, renewalsReserveCanArm: canArm }
}

export const statusVerb: OperatorVerb = {
  name: 'status',
  summary:
    'the offer, the books, the slots, earnings against costs so far, and what is running out',
  example: 'status --json',
  json: {
    prints: 'one document',
    members: [
      'contract',
      'offerId',
      'offer (priceTinybar, periodSeconds, callsAllowed, slotSeconds, startsAt, retiredAt)',
      'isPaused',
      'books (earnedTinybar, reserveTinybar, lockedTinybar, depositsTinybar, refundsTinybar, shortfallTinybar)',
      'renewalsReserveCanArm',
      'balanceTinybar',
      'slots (periodSeconds, nextSecond, agents, schedule, scheduledAtSeconds)',
      'account (earnedTinybar, renewalsTinybar, forwardsTinybar, recordsTinybar, profitTinybar)',
      'recorders (recorder, tinybar)',
      'alerts',
    ],
  },
  needs: ['ACCESS_CONTRACT'],
  async run(call) {
    const address = needed(call.config, 'ACCESS_CONTRACT')
    const found = await lookAtContract(call, readContract)
    if (call.isJson) return call.printJson(await statusDocument(call, address, found))
    const print = ([name, value]: Row) => call.print(`${name.padEnd(10)} ${value}`)
    contractRows(address, found).forEach(print)
    slotRows(found.slots, Math.floor(call.clock.unixMs() / 1000)).forEach(print)
    const { PAY_TO: payTo } = call.config
    if (payTo === undefined)
      return call.print('Set PAY_TO to see earnings against costs so far, and the recorders.')
    try {
      const seller = await readSeller(call, found, payTo)
      for (const { recorder, tinybar } of seller.recorders)
        print(['Recorder', `${recorder} holds ${formatHbar(tinybar)}`])
      accountRows(seller.account).forEach(print)
      for (const text of seller.alerts) call.print(`! ${text}`)
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error
      call.print(`Earnings against costs are not known: ${error.message}.`)
    }
  },
}
