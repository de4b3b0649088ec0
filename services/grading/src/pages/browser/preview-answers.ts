/**
 * The reader's answers to the questions of a free look. They are kept by bet and by the answer's words, and looked at
 * again after every look, so that they survive another answer and never send what an earlier reading offered.
 */
import type { PreviewAnswer, PreviewRow, RowOption } from '../../wire/coverage.ts'
import type { Look } from './page-api.ts'

/** By bet, the words of each answer in turn: one answer may lead to another question. */
type Answers = ReadonlyMap<string, readonly string[]>

/** A row with the answers that led to it. */
export type ShownRow = PreviewRow & { readonly chosen?: readonly string[] }

/** The answer that is always there. */
export const LEAVE_OUT = 'Leave it out'

/** Which match, which market, and whether the price was right: more questions than a row can have. */
const ANSWERS_MAX = 4

export const betName = ({ line, pick, written = '' }: PreviewRow): string =>
  `${line ?? ''} ${pick ?? ''} ${written}`

export const rowOptions = ({ cause }: PreviewRow): readonly RowOption[] =>
  cause?.kind === 'question' ? (cause.options ?? []) : []

/** The next answer to a row that is still a question, if the reader gave it. */
function nextAnswer(row: ShownRow, answers: Answers, round: number): string | undefined {
  return (row.chosen ?? []).length === round ? answers.get(betName(row))?.[round] : undefined
}

const describeSend = (row: PreviewRow, label: string | undefined): RowOption['send'] =>
  rowOptions(row).find((option) => option.label === label)?.send

/** The rows with the reader's answers; each answer is one more look at what it would send. */
export async function answerRows(
  rows: readonly PreviewRow[],
  answers: Answers,
  look: (picks: readonly unknown[]) => Promise<Look<PreviewAnswer>>,
): Promise<Look<readonly ShownRow[]>> {
  let shown: readonly ShownRow[] = rows
  for (let round = 0; round < ANSWERS_MAX; round += 1) {
    const askedRows = shown.flatMap((row, place) => {
      const label = nextAnswer(row, answers, round)
      const send = describeSend(row, label)
      return label === undefined || send === undefined ? [] : [{ label, place, send }]
    })
    const left = shown.map((row) =>
      nextAnswer(row, answers, round) === LEAVE_OUT && rowOptions(row).length > 0
        ? { ...row, chosen: [...(row.chosen ?? []), LEAVE_OUT] }
        : row,
    )
    shown = left
    if (askedRows.length === 0) break
    const found = await look(askedRows.map(({ send }) => send))
    if (found.kind !== 'seen') return found
    const seen = new Map(
      askedRows.map((row, index) => [row.place, { ...row, row: found.answer.rows[index] }]),
    )
    shown = left.map((row, place) => {
      const answered = seen.get(place)
      if (answered?.row === undefined) return row
      const { line, pick, written } = row
      return {
        ...answered.row,
        line,
        pick,
        written,
        chosen: [...(row.chosen ?? []), answered.label],
      }
    })
  }
  return { kind: 'seen', answer: shown }
}

export const isLeftOut = ({ chosen = [] }: ShownRow): boolean => chosen.at(-1) === LEAVE_OUT

/** What a row is for its reader. */
export function groupRow(row: ShownRow): 'graded' | 'question' | 'not_gradable' {
  if (isLeftOut(row)) return 'not_gradable'
  if (row.status === 'gradable') return 'graded'
  return rowOptions(row).length > 0 ? 'question' : 'not_gradable'
}

/** A bet's name in a list of picks: the service takes it once. */
const sentName = ({ market, odds, placed_at, selection }: Record<string, unknown>): string =>
  JSON.stringify([market, selection, odds, placed_at])

/** What an audit of the rows sends: the graded ones, and the others that the reader keeps; each bet once. */
export function picksToSend(rows: readonly ShownRow[], isUngradedKept: boolean) {
  const sent = rows.flatMap((row) => {
    const isKept = isUngradedKept && row.status === 'ungraded' && !isLeftOut(row)
    return row.send !== undefined && (groupRow(row) === 'graded' || isKept) ? [row.send] : []
  })
  return [...new Map(sent.map((pick) => [sentName(pick), pick])).values()]
}
