import { type Range, rangeOf, type SyntaxNode } from './syntax-tree.ts'

/** One Solidity file: its text, and its syntax tree. */
export type SourceFile = {
  /** Path from the package's folder. */
  readonly path: string
  readonly text: string
  readonly tree: SyntaxNode
}

/** The text between two bytes. */
export const textAt = (file: SourceFile, { start, end }: Range): string =>
  Buffer.from(file.text).subarray(start, end).toString()

/** A node's text, as in the file. */
export const textOf = (file: SourceFile, node: SyntaxNode): string => textAt(file, rangeOf(node))

/** A statement's range with its semicolon, which solc leaves out of most statements. */
export function statementRange(file: SourceFile, statement: SyntaxNode): Range {
  const { start, end } = rangeOf(statement)
  const [semicolon] = /^\s*;/u.exec(textAt(file, { start: end, end: end + 200 })) ?? ['']
  return { start, end: end + semicolon.length }
}

/** One line for people: comments are removed and white space is collapsed. */
export const onOneLine = (text: string): string =>
  text.replaceAll(/\/\/[^\n]*/gu, '').replaceAll(/\s+/gu, ' ')

/** Line of a byte, from 1. */
export const lineAt = (file: SourceFile, byte: number): number =>
  textAt(file, { start: 0, end: byte }).split('\n').length
