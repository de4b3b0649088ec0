/** Names that say nothing to a stranger: `…Of` for what acts or is returned, and participles for what a value is. */
import type { SourceFile } from './source-files.ts'

const DECLARED =
  /^\s*(?:export )?(?:async )?(?:function|const|let) (\w*[a-z]Of|of|one|told|held|kept|given|asked)\b/gm
/** A standard's word: the ERC-20 call, and JSON Schema's. */
const STANDARD: ReadonlySet<string> = new Set(['balanceOf', 'oneOf'])

export const wornNames = (files: readonly SourceFile[]): readonly string[] =>
  files.flatMap(({ path, text }) =>
    [...text.matchAll(DECLARED)].flatMap(([, name = '']) =>
      STANDARD.has(name) ? [] : `${path}: ${name}`,
    ),
  )
