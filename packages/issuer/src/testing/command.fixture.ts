// `tallystick-issuer` with a terminal of its own.
import { type Environment, systemClock } from '@tallystick/service-kit'
import { runAdmin } from '../run-admin.ts'

export async function runIssuerCommand(line: string, typed = '', environment: Environment = {}) {
  const printed: string[] = []
  const print = (text: string): void => void printed.push(text)
  async function* stdin() {
    yield Buffer.from(typed)
  }
  const code = await runAdmin({
    arguments: line.split(' '),
    environment,
    clock: systemClock,
    stdin: stdin(),
    print,
    printError: print,
  })
  return { code, text: printed.join('\n') }
}
