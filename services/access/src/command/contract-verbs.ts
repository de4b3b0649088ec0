// The verbs that look at the contract or that only its owner may call: the offer, sales, money, overdue schedules.
import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '@tallystick/x402/hedera'
import { readArmingGas, readView } from '../adapters/contract-calls.ts'
import { requirePrice, slotSecondsFrom } from './deploy.ts'
import { OFFER_REPORT_OPTIONS, readArming, reportOffer } from './offer-report.ts'
import {
  askLedger,
  type ContractWrite,
  type OwnerContract,
  openContract,
  receiptLine,
} from './operator-contract.ts'
import {
  addressFrom,
  countOption,
  hbarOption,
  neededHbarOption,
  type OperatorCall,
  OperatorRefusal,
  type OperatorVerb,
} from './operator-verb.ts'

const SET_OFFER_GAS = 250_000n
const PAUSE_GAS = 100_000n
const RETIRE_GAS = 100_000n
const FUND_GAS = 200_000n
/** A transfer out, and the creation of an account that the network has not seen yet (0.8 M). */
const WITHDRAW_GAS = 1_000_000n

/** One transaction of the owner, and what to print once it has its receipt. */
type OwnerAct = { readonly write: ContractWrite; readonly said: readonly string[] }

/** Writes what `plan` says, and prints it with the transaction. */
export async function actAsOwner(
  call: OperatorCall,
  plan: (contract: OwnerContract) => OwnerAct | Promise<OwnerAct>,
): Promise<void> {
  const contract = await openContract(call)
  const { write, said } = await plan(contract)
  const receipt = await contract.write(write)
  for (const line of [...said, receiptLine(receipt)]) call.print(line)
}

/** A verb that is one transaction of the owner. `plan` reads the arguments before anything is opened. */
function ownerVerb(
  verb: Pick<OperatorVerb, 'name' | 'summary' | 'example'> & Partial<OperatorVerb>,
  plan: (call: OperatorCall) => (contract: OwnerContract) => OwnerAct | Promise<OwnerAct>,
): OperatorVerb {
  return {
    needs: ['OWNER_KEY', 'ACCESS_CONTRACT'],
    ...verb,
    run: (call) => actAsOwner(call, plan(call)),
  }
}

/** Existing subscribers keep their terms. */
export const setOfferVerb = ownerVerb(
  {
    name: 'set-offer',
    usage: '--price-hbar N --period-seconds N --calls N [--slot-seconds N] [--json] [--at-a-loss]',
    summary: 'set price, period and quota of purchases from now on',
    example: 'set-offer --price-hbar 3 --period-seconds 3600 --calls 1000',
    options: {
      'price-hbar': 'text',
      'period-seconds': 'text',
      calls: 'text',
      'slot-seconds': 'text',
      ...OFFER_REPORT_OPTIONS,
    },
  },
  (call) => {
    const priceTinybar = neededHbarOption(call, 'price-hbar')
    requirePrice(priceTinybar)
    const periodSeconds = countOption(call, 'period-seconds')
    const calls = countOption(call, 'calls')
    if (periodSeconds === undefined || calls === undefined)
      throw new BadUsage('An offer has all three: --price-hbar, --period-seconds, --calls.')
    const slotSeconds = slotSecondsFrom(call, periodSeconds)
    return async (contract) => {
      const terms = { priceTinybar, periodSeconds, callsAllowed: calls, slotSeconds }
      await askLedger(async () => {
        const arming = await readArming(contract)
        await reportOffer(call, contract.facts, { terms, arming })
      })
      return {
        write: {
          functionName: 'setOffer',
          args: [priceTinybar, periodSeconds, calls, slotSeconds],
          gas: SET_OFFER_GAS,
        },
        said: [
          `From now on one period of ${periodSeconds} s with ${calls} calls costs ${formatHbar(priceTinybar)}; windows end every ${slotSeconds} s.`,
          'Whoever was challenged before may pay the previous price for 10 minutes more.',
        ],
      }
    }
  },
)

const SET_ARMING_GAS = 100_000n
/** Hundredths of a US cent, as the contract keeps the price of a scheduled call: two decimals of a cent. */
const CENTS = /^(\d{1,3})(?:\.(\d{1,2}))?$/

/** Sets the expected cost of a scheduled call, and the revenue from which the contract arms one (A19, A20). */
export const setArmingVerb = ownerVerb(
  {
    name: 'set-arming',
    usage: '--schedule-cents N --floor-percent N',
    summary: 'set what scheduling a call costs in US cents, and the least that a renewal must earn',
    example: 'set-arming --schedule-cents 12 --floor-percent 100',
    options: { 'schedule-cents': 'text', 'floor-percent': 'text' },
  },
  (call) => {
    const [, whole, decimals = ''] = CENTS.exec(call.text('schedule-cents') ?? '') ?? []
    const percent = call.text('floor-percent') ?? ''
    if (whole === undefined || !/^\d{1,5}$/.test(percent))
      throw new BadUsage(
        'Say both: --schedule-cents from 1 to 100 with at most 2 decimals, --floor-percent from 0 to 10000.',
      )
    const scheduleCost = Number(`${whole}${decimals.padEnd(2, '0')}`)
    const floor = Number(percent)
    return () => ({
      write: { functionName: 'setArming', args: [scheduleCost, floor], gas: SET_ARMING_GAS },
      said: [
        `From now on a scheduled call is reckoned at ${scheduleCost / 100} US cents.`,
        floor === 0
          ? 'Renewals are armed whatever they earn.'
          : `A renewal is armed when it earns at least ${floor} % of what it costs.`,
      ],
    })
  },
)

/** A number that the contract's 32 bits hold. */
const OFFER_NUMBER = /^\d{1,9}$/

/** Ends an offer that was a mistake, or has become one (A26). */
export const retireOfferVerb = ownerVerb(
  {
    name: 'retire-offer',
    usage: 'N',
    summary: 'take no new money at the terms of offer N; windows that are paid for go on',
    example: 'retire-offer 3',
    wordsMax: 1,
  },
  (call) => {
    const [word = ''] = call.words
    if (!OFFER_NUMBER.test(word))
      throw new BadUsage('Say which offer: its number, as `status` shows it.')
    return async ({ contract, relay }) => {
      const [currentId] = await askLedger(() =>
        readView(relay, { contract, functionName: 'currentOffer' }),
      )
      return {
        write: { functionName: 'retireOffer', args: [Number(word)], gas: RETIRE_GAS },
        said: [
          `Offer ${word} takes no new money; windows that are paid for go on.`,
          'Whoever was challenged before may pay its price for 10 minutes more.',
          ...(currentId === Number(word)
            ? ['It is the current one: nothing is sold until access-operator set-offer.']
            : []),
        ],
      }
    }
  },
)

export const pauseVerb = ownerVerb(
  {
    name: 'pause',
    summary: 'stop new sales; open windows go on renewing',
    example: 'pause',
  },
  () => () => ({
    write: { functionName: 'pauseSales', args: [true], gas: PAUSE_GAS },
    said: ['Sales are paused. Open windows go on renewing, and settled payments are still opened.'],
  }),
)

export const resumeVerb = ownerVerb(
  { name: 'resume', summary: 'take sales up again', example: 'resume' },
  () => () => ({
    write: { functionName: 'pauseSales', args: [false], gas: PAUSE_GAS },
    said: ['Sales are open.'],
  }),
)

export const fundVerb = ownerVerb(
  {
    name: 'fund',
    usage: '--hbar N',
    summary: 'add to the gas reserve, from the owner',
    example: 'fund --hbar 50',
    options: { hbar: 'text' },
  },
  (call) => {
    const valueTinybar = neededHbarOption(call, 'hbar')
    return () => ({
      write: { functionName: 'fundReserve', args: [], valueTinybar, gas: FUND_GAS },
      said: [`The reserve has ${formatHbar(valueTinybar)} more.`],
    })
  },
)

export const withdrawVerb = ownerVerb(
  {
    name: 'withdraw',
    usage: 'earnings|reserve [--hbar N] [--to 0x…]',
    summary: 'take out earnings or free reserve, all of it unless --hbar says less',
    example: 'withdraw earnings --hbar 10',
    options: { hbar: 'text', to: 'text' },
    wordsMax: 1,
  },
  (call) => {
    const [source] = call.words
    if (source !== 'earnings' && source !== 'reserve')
      throw new BadUsage('Say what to withdraw: `earnings` or `reserve`.')
    const wanted = hbarOption(call, 'hbar')
    const toText = call.text('to')
    const receiver = toText === undefined ? undefined : addressFrom(toText, '--to')
    return async ({ contract, owner, relay }) => {
      const to = receiver ?? owner
      const books = await askLedger(() => readView(relay, { contract, functionName: 'books' }))
      const available = source === 'earnings' ? books.earnedTinybar : books.reserveTinybar
      const amount = wanted ?? available
      if (amount === 0n)
        throw new OperatorRefusal(`There is nothing to withdraw: ${source} 0 HBAR.`)
      return {
        write: {
          functionName: source === 'earnings' ? 'withdrawEarnings' : 'withdrawReserve',
          args: [to, amount],
          gas: WITHDRAW_GAS,
        },
        said: [`${formatHbar(amount)} of the ${source} went to ${to}.`],
      }
    }
  },
)

/** A verb that arms the renewal of an agent's slot. Anybody may; here the owner pays the gas. */
function armingVerb(functionName: 'reap' | 'poke', summary: string, said: string): OperatorVerb {
  const example = `${functionName} 0x4a9358eb7c4df3c05ba74e87b6e9af262024281c`
  return ownerVerb(
    { name: functionName, usage: '0x<agent>', summary, example, wordsMax: 1 },
    (call) => {
      const agent = addressFrom(call.words[0], 'The agent')
      return async ({ relay, contract }) => ({
        write: {
          functionName,
          args: [agent],
          gas: await askLedger(() => readArmingGas(relay, contract)),
        },
        said: [said.replace('AGENT', agent)],
      })
    },
  )
}

export const reapVerb = armingVerb(
  'reap',
  'give up a schedule that is over 30 s overdue and arm the renewal anew',
  'The overdue schedule of AGENT is given up and its lock is free.',
)

export const pokeVerb = armingVerb(
  'poke',
  'arm the renewal of a funded window that has none',
  'The slot of AGENT is brought up to date, and armed where it earns enough and the reserve pays for it.',
)
