// Changes inside expressions: operators, literals, conditions.
import type { Edit, Operator } from './mutant.ts'
import { type SourceFile, textAt, textOf } from './source-file.ts'
import { child, optionalChild, type Range, rangeOf, type SyntaxNode } from './syntax-tree.ts'

const ARITHMETIC: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '/',
  '<<': '>>',
  '>>': '<<',
  '|': '&',
  '&': '|',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
}

/** For each comparison: the other side of its bound, then its opposite. */
const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '==': ['!='],
  '!=': ['=='],
}

const LOGIC: Readonly<Record<string, string>> = { '&&': '||', '||': '&&' }

const edit = (operator: Operator, range: Range, replacement: string): Edit => ({
  operator,
  range,
  replacement,
})

/** The operator's position: solc does not give it, but `gap` contains nothing else. */
function operatorRange(file: SourceFile, operator: string, gap: Range): Range {
  const before = textAt(file, gap).indexOf(operator)
  if (before < 0) throw new Error(`no ${operator} in ${file.path} at ${gap.start}`)
  const start = gap.start + Buffer.byteLength(textAt(file, gap).slice(0, before))
  return { start, end: start + operator.length }
}

function ofBinaryOperation(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const operator = String(node['operator'])
  const left = rangeOf(child(node, 'leftExpression'))
  const right = rangeOf(child(node, 'rightExpression'))
  const at = operatorRange(file, operator, { start: left.end, end: right.start })
  const logic = LOGIC[operator]
  if (logic !== undefined) {
    return [
      edit('boolean', at, logic),
      edit('boolean', { start: left.start, end: right.start }, ''),
      edit('boolean', { start: left.end, end: right.end }, ''),
    ]
  }
  const arithmetic = ARITHMETIC[operator]
  if (arithmetic !== undefined) return [edit('arithmetic', at, arithmetic)]
  return (COMPARISONS[operator] ?? []).map((other) => edit('comparison', at, other))
}

function ofAssignment(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const operator = String(node['operator'])
  const other = ARITHMETIC[operator]
  if (other === undefined) return []
  const start = rangeOf(child(node, 'leftHandSide')).end
  const end = rangeOf(child(node, 'rightHandSide')).start
  const at = operatorRange(file, operator, { start, end })
  return [edit('arithmetic', at, other), edit('arithmetic', at, '=')]
}

function ofUnaryOperation(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const operator = String(node['operator'])
  const at = operatorRange(file, operator, rangeOf(node))
  if (operator === '!') return [edit('boolean', at, '')]
  const other = ARITHMETIC[operator]
  if (operator === '-' || other === undefined) return []
  return [edit('arithmetic', at, other)]
}

function ofLiteral(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const range = rangeOf(node)
  if (node['kind'] === 'bool') {
    return [edit('boolean', range, node['value'] === 'true' ? 'false' : 'true')]
  }
  if (node['kind'] !== 'number') return []
  const value = BigInt(textOf(file, node).replaceAll('_', ''))
  const more = edit('bound ± 1', range, String(value + 1n))
  return value === 0n ? [more] : [more, edit('bound ± 1', range, String(value - 1n))]
}

/** `type(T).max` */
function ofMemberAccess(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const text = textOf(file, node)
  return /^type\(\w+\)\.max$/u.test(text) ? [edit('bound ± 1', rangeOf(node), `(${text} - 1)`)] : []
}

/** Negated, unless the condition is a comparison or a negation: their own edits already cover that. */
function ofCondition(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  const condition = optionalChild(node, 'condition')
  const operator = String(condition?.['operator'])
  if (condition === undefined || operator in COMPARISONS || operator === '!') return []
  return [edit('boolean', rangeOf(condition), `!(${textOf(file, condition)})`)]
}

/** The changes to this node itself, not to those below it. */
export function expressionEdits(file: SourceFile, node: SyntaxNode): readonly Edit[] {
  switch (node.nodeType) {
    case 'BinaryOperation':
      return ofBinaryOperation(file, node)
    case 'Assignment':
      return ofAssignment(file, node)
    case 'UnaryOperation':
      return ofUnaryOperation(file, node)
    case 'Literal':
      return ofLiteral(file, node)
    case 'MemberAccess':
      return ofMemberAccess(file, node)
    case 'IfStatement':
    case 'Conditional':
      return ofCondition(file, node)
    default:
      return []
  }
}

/** A constant doubled and halved: time units, gas figures, bit positions. */
export function constantEdits(file: SourceFile, declaration: SyntaxNode): readonly Edit[] {
  const type = optionalChild(declaration, 'typeName')?.['name']
  if (typeof type !== 'string' || !/^u?int\d*$/u.test(type)) return []
  const value = child(declaration, 'value')
  const text = textOf(file, value)
  const isLiteral = value.nodeType === 'Literal'
  const number = isLiteral ? BigInt(text.replaceAll('_', '')) : 0n
  const replacements = isLiteral
    ? [String(number * 2n), String(number / 2n)] // solc would make a fraction of 109 / 2
    : [`(${text}) * 2`, `(${text}) / 2`]
  return replacements
    .filter((changed) => changed !== text)
    .map((changed) => edit('constant × 2, ÷ 2', rangeOf(value), changed))
}
