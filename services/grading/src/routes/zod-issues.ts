import type { RequestIssue } from '@tallystick/service-kit'
import type { z } from 'zod'

type Path = readonly PropertyKey[]

const fieldOf = (start: string, path: Path): string =>
  path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    start,
  )

/** Of a union's branches the one that came furthest: its issues say more than "one of". */
function closestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]) {
  return branches.find((branch) =>
    branch.every(({ code, path }) => code === 'unrecognized_keys' || path.length > 0),
  )
}

/** What a schema found, in the house's form: each field at fault, a field too many by its own name. */
export function requestIssuesOf(
  issues: readonly z.core.$ZodIssue[],
  start: string,
): readonly RequestIssue[] {
  return issues.flatMap((issue): readonly RequestIssue[] => {
    const field = fieldOf(start, issue.path)
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => ({ field: `${field}.${key}`, expected: 'no such field' }))
    const branch = issue.code === 'invalid_union' ? closestBranch(issue.errors) : undefined
    return branch === undefined
      ? [{ field, expected: issue.message }]
      : requestIssuesOf(branch, field)
  })
}
