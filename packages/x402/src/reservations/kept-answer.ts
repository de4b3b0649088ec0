/**
 * How a paid answer is kept: as JSON, beside the settlement that paid for it. An answer that is JSON text already stands in
 * it unchanged, and is cut out of it again: a text of megabytes is neither parsed nor written a second time.
 */
import type { PaymentForJob } from '../gate/paid-job.ts'
import type { Settlement } from '../payment.ts'

/** An answer with the settlement that paid for it. */
export type PaidAnswer = {
  readonly answer: unknown
  readonly settlement: Settlement
}

/** Whether a job's answers are JSON text. */
export type AnswerForm = Pick<PaymentForJob['job'], 'answersJson'>

const ANSWER = '{"answer":'
const SETTLEMENT = ',"settlement":'

/** What a store keeps: the same text for an answer as for its JSON. */
export function keptAnswer(
  { answer, settlement }: PaidAnswer,
  { answersJson }: AnswerForm,
): string {
  return answersJson
    ? `${ANSWER}${String(answer)}${SETTLEMENT}${JSON.stringify(settlement)}}`
    : JSON.stringify({ answer, settlement })
}

/** Reads what `keptAnswer` wrote. */
export function readKeptAnswer(kept: string, { answersJson }: AnswerForm): PaidAnswer {
  if (!answersJson) return JSON.parse(kept) as PaidAnswer
  // A string of JSON holds no bare quotes, so this finds members. Behind one that lies deeper, more than one brace is left.
  for (let at = kept.lastIndexOf(SETTLEMENT); at > 0; at = kept.lastIndexOf(SETTLEMENT, at - 1)) {
    const settlement = settlementIn(kept.slice(at + SETTLEMENT.length, -1))
    if (settlement !== undefined) return { answer: kept.slice(ANSWER.length, at), settlement }
  }
  throw new Error('a kept answer has no settlement')
}

function settlementIn(text: string): Settlement | undefined {
  try {
    return JSON.parse(text) as Settlement
  } catch {
    return undefined
  }
}
