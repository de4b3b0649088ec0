// What every service's variables and errors keep (S3, S5), whatever they are. A service's own suite calls these, so that what
// fails names the service.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { type Environment, environmentTable, readConfig } from './config.ts'

/** Stands in every bad and every secret value, and may be seen nowhere. */
const UNSEEN = /hunter2/i

/** S3: how a service reads its environment. */
export function testConfig(options: {
  readonly schema: z.ZodObject
  /** Variables that are enough. */
  readonly good: Environment
  /** What a service has with these alone. */
  readonly defaults: object
  /** Bad values, "hunter2" among them. */
  readonly bad: Environment
  /** The variables that are named for them; without it, just those. */
  readonly named?: readonly string[]
  /** Good values of the variables that hold secrets. */
  readonly secrets: Environment
}): void {
  const { schema, good, defaults, bad, named = Object.keys(bad), secrets } = options
  describe('S3: the environment', () => {
    test('a few variables are enough', () => {
      expect(readConfig(schema, good)).toMatchObject({ kind: 'valid', config: defaults })
    })

    test('every bad variable is named at once, and no value is shown', () => {
      const reading = readConfig(schema, { ...good, ...bad })
      const problems = reading.kind === 'valid' ? [] : reading.problems
      const variables = problems.map(({ variable }) => variable)
      expect(variables.toSorted()).toEqual([...named].toSorted())
      expect(JSON.stringify(reading)).not.toMatch(UNSEEN)
    })

    test('no secret can be printed', () => {
      const reading = readConfig(schema, { ...good, ...secrets })
      if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.problems))
      const printed = JSON.stringify(reading.config)
      for (const secret of Object.values(secrets)) expect(printed).not.toContain(secret)
    })

    test('every variable is described', () => {
      const rows = environmentTable(schema).trim().split('\n')
      expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([])
    })
  })
}

/** S5: a service's literal errors, and the table of them in its README. */
export function testErrors(
  errors: Readonly<Record<string, { readonly status: number; readonly meaning: string }>>,
  readme: URL,
  /** Errors of the kit that the README lists besides, as "400 code". */
  others: readonly string[] = [],
): void {
  describe('S5: errors.ts', () => {
    test('the README has every literal error beside its status, and no other', () => {
      const rows = [...readFileSync(readme, 'utf8').matchAll(/^\| ([45]\d\d) \| ([^|]*) \|/gm)]
      const listed = rows.flatMap(([, status, codes = '']) =>
        [...codes.matchAll(/`([a-z_]+)`/g)].map(([, code]) => `${status} ${code}`),
      )
      const literal = Object.entries(errors).map(([code, { status }]) => `${status} ${code}`)
      expect(listed.toSorted()).toEqual([...literal, ...others].toSorted())
    })

    test('every literal error is a snake_case code with its status and meaning', () => {
      for (const [code, { status, meaning }] of Object.entries(errors)) {
        expect(code).toMatch(/^[a-z][a-z_]*$/)
        expect(status).toBeGreaterThanOrEqual(400)
        expect(meaning).toMatch(/^[\S].+\.$/)
      }
    })
  })
}
