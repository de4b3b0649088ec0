/**
 * A message with a result, in pieces: an audit's result holds its megabytes twice, as text and as a value, and is not
 * written in one go.
 */
import type { ToolResult } from '@tallystick/x402/mcp'
import { WRITTEN_PER_STEP } from '../tracker/steps.ts'

/** A value whose JSON is written already. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The text of an answer to a request; `result` comes from a tool or another method. */
export function* messagePieces(id: string | number | null, result: object): Generator<string> {
  yield `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
  let before = '{'
  for (const [name, member] of Object.entries(result)) {
    yield `${before}"${name}":`
    if (member instanceof JsonText) yield* slicesOf(member.text)
    else if (name === 'content') yield* contentPieces(member as ToolResult['content'])
    else yield JSON.stringify(member)
    before = ','
  }
  yield before === '{' ? '{}}' : '}}'
}

function* contentPieces(content: ToolResult['content']): Generator<string> {
  for (const [place, { text, type }] of content.entries()) {
    yield `${place === 0 ? '[' : ','}{"type":"${type}","text":"`
    for (const slice of slicesOf(text)) yield JSON.stringify(slice).slice(1, -1)
    yield '"}'
  }
  yield ']'
}

/** The first half of a character that takes two. */
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00

function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const to = from + WRITTEN_PER_STEP
    // Half a character alone could be neither escaped nor encoded.
    const end = isHighSurrogate(text.charCodeAt(to - 1)) ? to + 1 : to
    yield text.slice(from, end)
    from = end
  }
}
