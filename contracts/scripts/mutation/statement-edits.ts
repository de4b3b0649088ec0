// Changes of whole statements: removed or reordered.
import { areIndependent } from './independence.ts'
import type { Edit, Operator } from './mutant.ts'
import { onOneLine, type SourceFile, statementRange, textAt } from './source-file.ts'
import { child, children, optionalChild, rangeOf, type SyntaxNode } from './syntax-tree.ts'

/** Longest part shown of a swapped statement, characters. */
const SHOWN_MAX = 60

const isRevert = (node: SyntaxNode | undefined): boolean =>
  node?.nodeType === 'RevertStatement' ||
  (node?.nodeType === 'Block' && children(node, 'statements').every(isRevert))

function removalOf(statement: SyntaxNode, parent: SyntaxNode | undefined): Operator | undefined {
  switch (statement.nodeType) {
    case 'EmitStatement':
      return 'event removed'
    case 'RevertStatement':
      return parent?.nodeType === 'Block' && children(parent, 'statements').length === 1
        ? 'revert removed'
        : undefined
    case 'IfStatement':
      return isRevert(child(statement, 'trueBody')) ? 'revert removed' : 'statement removed'
    case 'Return':
      return parent?.nodeType === 'IfStatement' ? undefined : 'statement removed'
    case 'ExpressionStatement':
      if (parent?.nodeType === 'ForStatement') return undefined // its step: without it the loop never ends
      return child(statement, 'expression').nodeType === 'Assignment'
        ? 'assignment removed'
        : 'statement removed'
    default:
      return undefined
  }
}

/** A declaration without its value. */
function withoutValue(statement: SyntaxNode): readonly Edit[] {
  const [declaration, ...others] = children(statement, 'declarations')
  if (!declaration || others.length > 0 || !optionalChild(statement, 'initialValue')) return []
  const range = { start: rangeOf(declaration).end, end: rangeOf(statement).end }
  return [{ operator: 'assignment removed', range, replacement: '' }]
}

/** The statement removed, if it can be. */
export function removalEdits(
  file: SourceFile,
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
): readonly Edit[] {
  if (node.nodeType === 'VariableDeclarationStatement') return withoutValue(node)
  if (node.nodeType === 'ModifierInvocation') {
    if (node['kind'] !== 'modifierInvocation') return []
    return [{ operator: 'modifier removed', range: rangeOf(node), replacement: '' }]
  }
  const operator = removalOf(node, parent)
  if (operator === undefined) return []
  return [{ operator, range: statementRange(file, node), replacement: '{}' }]
}

const shorten = (text: string): string =>
  text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`

/** Swapped neighbours of a block, if the swap may make a difference. */
export function orderEdits(file: SourceFile, block: SyntaxNode): readonly Edit[] {
  if (block.nodeType !== 'Block' && block.nodeType !== 'UncheckedBlock') return []
  const statements = children(block, 'statements')
  return statements.slice(1).flatMap((second, index) => {
    const first = statements[index]
    if (!first || areIndependent(first, second)) return []
    const [one, other] = [statementRange(file, first), statementRange(file, second)]
    const [oneText, otherText] = [textAt(file, one), textAt(file, other)]
    const between = textAt(file, { start: one.end, end: other.start })
    return [
      {
        operator: 'order',
        range: { start: one.start, end: other.end },
        replacement: `${otherText}${between}${oneText}`,
        shown: `${shorten(onOneLine(oneText))} ⇄ ${shorten(onOneLine(otherText))}`,
      },
    ]
  })
}
