export {
  BadUsage,
  type CommandCall,
  type CommandTerminal,
  type CommandVerb,
  EXIT,
  type ExitCode,
} from './command-verb.ts'
export { lifetimeOption } from './lifetime-option.ts'
export { processTerminal } from './process-terminal.ts'
export { readVariables } from './read-variables.ts'
export { type Command, runCommand } from './run-command.ts'
