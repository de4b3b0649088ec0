/**
 * How a paid answer is kept: as JSON, beside the settlement that paid for it. An answer that is already JSON text
 * goes in unchanged and is cut out again: a text of megabytes is neither parsed nor serialised a second time.
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

/** The text that a store keeps: the same for an answer and its JSON. */
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
  // A JSON string holds no bare quotes, so this finds only members. After a nested one, more than one brace is left.
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
