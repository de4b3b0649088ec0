import type { StackDescription } from './stack-file.ts'

/** The page to open and the first requests to copy for grading. */
export function describeGrading({ agents, grading }: StackDescription): string {
  const [agent] = agents
  return `GRADING: the truth table, free (its matches are made up)

  curl -X POST ${grading.baseUrl}/api/calibration

  Grade a pick for a cent as ${agent?.name ?? 'an agent'} (what follows # stays in the browser):

  ${grading.baseUrl}/try#key=${agent?.privateKey ?? ''}`
}
