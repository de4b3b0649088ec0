/**
 * Judges what payers saw of processes that all got their payments, and what the chain and the store have of them, without having
 * taken part: each payment is charged once at most, has its effect if it is charged and only then, and is answered alike.
 */

/** A payment as its payer saw it; times by one clock, milliseconds. */
export type PaymentSeen = {
  /** As the chain and the store name it. */
  readonly id: string
  readonly startMs: number
  /** The first definite answer of any process; undefined if there is none. */
  readonly firstMs: number | undefined
  /** The definite answers; a process that had none to give is missing. Equal texts are the same answer. */
  readonly answers: readonly { readonly status: number; readonly text: string }[]
}

/** A call of somebody who has paid. */
export type CallSeen = { readonly id: string; readonly status: number }

export type Books = {
  readonly payments: readonly PaymentSeen[]
  /** Calls that began after a payment of that id was answered as served. */
  readonly calls: readonly CallSeen[]
  /** Ids, one for each time that the chain moved the price. */
  readonly charges: readonly string[]
  /** Ids, one for each time that what was paid for was done. */
  readonly effects: readonly string[]
}

/** Sentences about what is wrong; none if the books hold. */
export function checkPayments({ calls, charges, effects, payments }: Books): readonly string[] {
  const ids = new Set(payments.map(({ id }) => id))
  const answers = Map.groupBy(payments, ({ id }) => id)
  const [charged, done] = [countEach(charges), countEach(effects)]
  const strange = [...charges, ...effects].filter((id) => !ids.has(id))
  return [
    ...strange.map((id) => `${id} is no payment of anybody`),
    ...[...ids].flatMap((id) =>
      checkPayment({
        charged: charged.get(id) ?? 0,
        done: done.get(id) ?? 0,
        answers: (answers.get(id) ?? []).flatMap((payment) => payment.answers),
      }).map((fault) => `${id} ${fault}`),
    ),
    ...calls
      .filter(({ status }) => status === 402)
      .map(({ id }) => `${id} has paid and is asked to pay again`),
  ]
}

function countEach(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...Map.groupBy(ids, (id) => id)].map(([id, all]) => [id, all.length]))
}

function checkPayment({
  answers,
  charged,
  done,
}: Pick<PaymentSeen, 'answers'> & {
  readonly charged: number
  readonly done: number
}): readonly string[] {
  const served = new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text))
  const refusals = answers.filter(({ status }) => status !== 200)
  const faults: string[] = []
  if (charged > 1) faults.push(`is charged ${charged} times`)
  if (done > 1) faults.push(`is done ${done} times`)
  if (charged > 0 && done === 0) faults.push('is charged and not done')
  if (charged === 0 && done > 0) faults.push('is done and not charged')
  if (charged === 0 && served.size > 0) faults.push('is served and not charged')
  if (charged > 0 && served.size === 0) faults.push('is charged and not served')
  if (served.size > 1) faults.push(`has ${served.size} answers`)
  if (charged > 0)
    for (const { status, text } of refusals)
      faults.push(`is charged and refused: ${status} ${text}`)
  return faults
}
