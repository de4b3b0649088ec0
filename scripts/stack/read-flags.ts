import { type ParseArgsConfig, parseArgs } from 'node:util'

/** Reads a script's flags. `--help` prints the help and ends with 0; an unknown flag ends with 2 and says where help is. */
export function readFlags<const Options extends NonNullable<ParseArgsConfig['options']>>(
  options: Options,
  help: string,
) {
  if (process.argv.includes('--help')) {
    console.log(help)
    return process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : String(error)}\nThe flags that there are: --help`,
    )
    return process.exit(2)
  }
}
