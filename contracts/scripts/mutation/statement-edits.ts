// Whole statements removed.
import type { Edit, Operator } from './mutant.ts'
import { type SourceFile, statementRange } from './source-file.ts'
import { child, children, optionalChild, rangeOf, type SyntaxNode } from './syntax-tree.ts'

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
