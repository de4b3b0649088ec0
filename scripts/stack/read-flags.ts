import { type ParseArgsConfig, parseArgs } from 'node:util'
import { explainUnknownOption, readVersion } from '@tallystick/service-kit/command'

/**
 * Reads a script's flags. `--help` prints the help, `--version` the version, and both end with 0; an unknown flag ends with 2, is
 * named with the one that was meant, and says where help is.
 */
export function readFlags<const Options extends NonNullable<ParseArgsConfig['options']>>(
  options: Options,
  help: string,
) {
  const question = process.argv.find((argument) => ['--help', '-h', '--version'].includes(argument))
  if (question !== undefined) {
    console.log(question === '--version' ? `tallystick ${readVersion()}` : help)
    return process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    const unknown = explainUnknownOption(options, process.argv.slice(2))
    const reason = unknown || (error instanceof Error ? error.message : String(error))
    console.error(`${reason.trim()}\nThe flags that there are: --help`)
    return process.exit(2)
  }
}
