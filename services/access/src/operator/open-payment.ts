import { createSendingClient } from '../adapters/ledger-client.ts'
import { createViemContractSender } from '../adapters/viem-contract-sender.ts'
import { keyOf } from './operator-config.ts'
import { type OperatorCall, OperatorRefusal } from './operator-verb.ts'
import { findCredit, judge, openPaymentsDesk } from './payments-desk.ts'

/** Opens one pending payment now, from payTo's key, as the service's sweep would. */
export async function openPayment(call: OperatorCall): Promise<void> {
  const desk = openPaymentsDesk(call.config, call.clock)
  const { outcome } = await judge(desk, await findCredit(desk, call.words[1]))
  if (outcome.kind === 'opened') {
    throw new OperatorRefusal(`It was opened before, for ${outcome.agent}.`)
  }
  if (outcome.kind === 'refunded') throw new OperatorRefusal('It was refunded and stays closed.')
  if (outcome.kind === 'refused') {
    throw new OperatorRefusal(`It cannot be opened: ${outcome.reason}. Refund it instead.`)
  }
  const sender = createViemContractSender({
    client: createSendingClient(call.config.LEDGER_RPC_URL),
    chainId: call.config.LEDGER_CHAIN_ID,
    contract: desk.contract,
    privateKey: keyOf(call.config, 'PAY_TO_KEY'),
    clock: call.clock,
  })
  try {
    const opened = await sender.openPaid(outcome.purchase.order)
    if (opened.kind === 'refused') {
      throw new OperatorRefusal(`The contract refuses: ${opened.reason}.`)
    }
    if (opened.kind === 'already-used') {
      throw new OperatorRefusal(`It was opened in the meantime, for ${opened.agent}.`)
    }
    const { agent } = outcome.purchase.order
    call.print(
      opened.isTopUp ? `The balance of ${agent} is topped up.` : `The window of ${agent} is open.`,
    )
    call.print(`Transaction ${opened.transactionHash}`)
  } finally {
    await sender.close()
  }
}
