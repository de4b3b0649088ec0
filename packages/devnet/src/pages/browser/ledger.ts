/** Fills the tables of the ledger's page from the mirror node, every two seconds. */
import { element, fetchInTime, pageElement } from '@tallystick/service-kit/browser'

/** As often as an idle ledger closes a block. */
const POLL_MS = 2_000

/** Rows of a table: enough to see what has just happened. */
const ROWS = 10

/** Of accounts, of which a fresh ledger has sixteen. */
const ACCOUNT_ROWS = 25

const TINYBAR_PER_HBAR = 100_000_000

type Transfer = { readonly amount: number }
type Block = {
  readonly number: number
  readonly count: number
  readonly gas_used: number
  readonly timestamp: { readonly to: string }
}
type Transaction = {
  readonly transaction_id: string
  readonly name: string
  readonly result: string
  readonly consensus_timestamp: string
  readonly transfers: readonly Transfer[]
}
type Schedule = {
  readonly schedule_id: string
  readonly payer_account_id: string | null
  readonly expiration_time: string
  readonly executed_timestamp: string | null
  readonly deleted: boolean
}
type Token = {
  readonly token_id: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
}
type Account = {
  readonly account: string
  readonly evm_address: string
  readonly balance: { readonly balance: number }
}

const number = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 8 })

const hbar = (tinybar: number): string => number.format(tinybar / TINYBAR_PER_HBAR)

/** `14:03:05` of a consensus timestamp, in this browser's zone, with the whole date as its title. */
function time(timestamp: string): HTMLElement {
  const date = new Date(Number(timestamp.split('.')[0]) * 1_000)
  const attributes = { datetime: date.toISOString(), title: date.toLocaleString('en-GB') }
  return element('time', attributes, date.toLocaleTimeString('en-GB'))
}

const link = (path: string, words: string): HTMLElement =>
  element('a', { href: `/api/v1/${path}` }, words)

/** What a transaction moved: the sum of what accounts gained, fees included. */
const moved = (transfers: readonly Transfer[]): string =>
  hbar(transfers.reduce((sum, { amount }) => sum + Math.max(0, amount), 0))

function describeState({ deleted, executed_timestamp: executed }: Schedule): HTMLElement | string {
  if (deleted) return 'deleted'
  return executed === null ? 'waits' : element('span', {}, 'ran at ', time(executed))
}

type Cell = HTMLElement | string | { readonly figure: string }

function row([head, ...cells]: readonly [HTMLElement, ...Cell[]]): HTMLElement {
  const rest = cells.map((cell) =>
    typeof cell === 'object' && 'figure' in cell
      ? element('td', { class: 'number' }, cell.figure)
      : element('td', {}, cell),
  )
  return element('tr', {}, element('th', { scope: 'row' }, head), ...rest)
}

async function read<Row>(path: string, name: string): Promise<readonly Row[]> {
  const answer = await fetchInTime(`/api/v1/${path}`)
  if (!answer.ok) throw new Error(`The mirror node answered ${answer.status}.`)
  return ((await answer.json()) as Record<string, readonly Row[]>)[name] ?? []
}

function fill(id: string, rows: readonly HTMLElement[]): void {
  pageElement(id).replaceChildren(...rows)
  pageElement(`${id}-none`).hidden = rows.length > 0
}

async function refresh(): Promise<void> {
  const newest = `limit=${ROWS}&order=desc`
  const [blocks, transactions, schedules, tokens, accounts] = await Promise.all([
    read<Block>(`blocks?${newest}`, 'blocks'),
    read<Transaction>(`transactions?${newest}`, 'transactions'),
    read<Schedule>(`schedules?${newest}`, 'schedules'),
    read<Token>(`tokens?${newest}`, 'tokens'),
    read<Account>(`accounts?limit=${ACCOUNT_ROWS}&order=desc`, 'accounts'),
  ])
  fill(
    'blocks',
    blocks.map((block) =>
      row([
        link(`blocks/${block.number}`, number.format(block.number)),
        { figure: number.format(block.count) },
        { figure: number.format(block.gas_used) },
        time(block.timestamp.to),
      ]),
    ),
  )
  fill(
    'transactions',
    transactions.map((each) =>
      row([
        link(`transactions/${each.transaction_id}`, each.transaction_id),
        each.name,
        each.result,
        { figure: moved(each.transfers) },
        time(each.consensus_timestamp),
      ]),
    ),
  )
  fill(
    'schedules',
    schedules.map((each) =>
      row([
        link(`schedules/${each.schedule_id}`, each.schedule_id),
        each.payer_account_id ?? '',
        time(each.expiration_time),
        describeState(each),
      ]),
    ),
  )
  fill(
    'tokens',
    tokens.map((each) =>
      row([
        link(`tokens/${each.token_id}`, each.token_id),
        each.name,
        each.symbol,
        { figure: String(each.decimals) },
      ]),
    ),
  )
  fill(
    'accounts',
    accounts.map((each) =>
      row([
        link(`accounts/${each.account}`, each.account),
        element('code', {}, each.evm_address),
        { figure: hbar(each.balance.balance) },
      ]),
    ),
  )
}

/** Says so while the ledger does not answer; what the tables show is then old. */
async function follow(): Promise<void> {
  const state = pageElement('state')
  try {
    await refresh()
    if (state.textContent !== '') state.textContent = ''
  } catch {
    const words = 'The ledger does not answer. The tables show what it last said.'
    if (state.textContent !== words) state.textContent = words
  }
  setTimeout(() => void follow(), POLL_MS)
}

void follow()
