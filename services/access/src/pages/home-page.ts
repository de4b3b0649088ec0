import type { Page } from '@tallystick/service-kit/pages'
import { formatHbar } from '@tallystick/x402/hedera'
import type { Offer } from '../domain/access-contract.ts'
import type { AccessParts } from '../domain/access-parts.ts'
import { purchaseTinybar } from '../domain/sales-terms.ts'
import type { SellerAccount } from '../domain/seller-account.ts'
import { ACCESS_FRAME } from './access-frame.ts'
import { firstRequestCode } from './first-request.ts'

type HomePageDeps = Pick<AccessParts, 'contract' | 'network' | 'payTo' | 'periodsPerPurchase'> & {
  readonly accessUrl: string
  readonly statusUrl: string
  /** Earnings and costs as far as they were read; never waits for the ledger. */
  readonly sellerAccount: () => SellerAccount | undefined
  readonly counts: () => { readonly windowsOpened: number; readonly callsGranted: number }
}

function offerFigures(offer: Offer | undefined, periodsPerPurchase: number) {
  if (offer === undefined) return [{ label: 'On sale', value: 'could not be read' }]
  return [
    { label: 'One payment', value: formatHbar(purchaseTinybar(offer, periodsPerPurchase)) },
    { label: 'Buys', value: `${periodsPerPurchase} periods of ${offer.periodSeconds} s` },
    { label: 'Calls in a period', value: String(offer.callsAllowed) },
  ]
}

function accountFigures(account: SellerAccount | undefined) {
  if (account?.isComplete !== true) return [{ label: 'Earned so far', value: 'being read' }]
  const { earnedTinybar, profitTinybar } = account
  return [
    { label: 'Earned so far', value: formatHbar(earnedTinybar) },
    { label: 'Spent on gas so far', value: formatHbar(earnedTinybar - profitTinybar) },
  ]
}

/** The page at `/`: what this is, live figures, an agent's first request to copy (S4). */
export async function homePage(deps: HomePageDeps): Promise<Page> {
  const { contract, counts, periodsPerPurchase } = deps
  // If the ledger is down, the page only lacks some figures.
  const [offers, renewals] = await Promise.all([
    contract.offers().catch(() => []),
    contract.renewalsReserveCanArm().catch(() => undefined),
  ])
  const offer = offers.at(-1)
  const { windowsOpened, callsGranted } = counts()
  return {
    ...ACCESS_FRAME,
    path: '/',
    title: 'Tallystick access',
    heading: 'Pay once and stay in',
    lead: 'A metered data feed that is paid for once. The payment opens a window on the ledger for an agent, an EVM address; when the window closes, the network itself renews it, with no second signature, until the balance ends or the agent cancels.',
    figures: [
      ...offerFigures(offer, periodsPerPurchase),
      { label: 'Network', value: deps.network },
      { label: 'Contract', value: contract.address ?? 'not deployed' },
      { label: 'Paid to', value: deps.payTo },
      { label: 'Renewals that the reserve can arm', value: String(renewals ?? 'unknown') },
      ...accountFigures(deps.sellerAccount()),
      { label: 'Purchases since start', value: String(windowsOpened) },
      { label: 'Calls served since start', value: String(callsGranted) },
    ],
    requests: [
      {
        title: 'An agent’s first request',
        code: firstRequestCode({
          url: deps.accessUrl,
          network: deps.network,
          contract: contract.address ?? 'the contract',
          amount:
            offer === undefined
              ? 'tinybar of a purchase'
              : String(purchaseTinybar(offer, periodsPerPurchase)),
        }),
      },
      {
        title: 'What it costs, without paying',
        code: `curl -i '${deps.accessUrl}?agent=0x00000000000000000000000000000000000a6e17'`,
      },
      {
        title: 'The state of a subscription, free',
        code: `curl '${deps.statusUrl}?agent=0x00000000000000000000000000000000000a6e17'`,
      },
    ],
  }
}
