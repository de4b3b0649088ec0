// Compiles everything, tests included, into out/.
import { forge } from './foundry.ts'

const run = forge(['build'])
process.stdout.write(run.stdout)
process.stderr.write(run.stderr)
process.exitCode = run.exitCode
