// `npm run demo`: plays the story on the stack that `npm start` runs, or on its own if there is none.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { playStory } from './demo/play-story.ts'
import { createLocalStack } from './stack/local-stack.ts'
import { freePorts } from './stack/ports.ts'
import { readFlags } from './stack/read-flags.ts'
import { findStack, type StackDescription, stackFile } from './stack/stack-file.ts'
import { whenToldToEnd } from './stack/when-told-to-end.ts'

const HELP = `npm run demo: an agent's story, told on the stack that npm start runs, or on its own if there is none

  npm run demo -- [--stack FILE]

  --stack FILE            the description of a stack that runs elsewhere (.local/stack.json)

Example: npm run demo`

const { stack: file } = readFlags({ stack: { type: 'string' } }, HELP)

const say = (line: string): void => console.log(line)

async function playOn(stack: StackDescription): Promise<number> {
  try {
    await playStory(stack, say)
    say(
      '\nThe end. The agent paid once; after that it signed its guard, proofs of its key and the cancellation, but no payment and no renewal.',
    )
    return 0
  } catch (error) {
    console.error(
      `\nThe story broke off: ${error instanceof Error ? error.message : String(error)}`,
    )
    return 1
  }
}

async function playOnOwnStack(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-demo-'))
  const stack = createLocalStack({
    ports: await freePorts(),
    logFolder: join(folder, 'logs'),
    dataFolder: join(folder, 'data'),
    isWatching: false,
    onStep: (step) => say(`  ${step} ...`),
  })
  whenToldToEnd(async () => {
    await stack.stop()
    process.exit(130)
  })
  const play = async (): Promise<number> => {
    try {
      return await playOn(await stack.start())
    } catch (error) {
      console.error(error instanceof Error ? error.message : error)
      return 1
    } finally {
      await stack.stop()
    }
  }
  const code = await play()
  if (code === 0) rmSync(folder, { recursive: true })
  else console.error(`The logs are in ${join(folder, 'logs')}.`)
  return code
}

const found = findStack(file ?? stackFile)
if (found.kind === 'running') {
  say(`On the stack that runs at ${found.description.access.baseUrl}.`)
  process.exitCode = await playOn(found.description)
} else if (file !== undefined) {
  console.error(`--stack ${file}: no stack of it runs; npm start starts one.`)
  process.exitCode = 2
} else {
  say('No stack is running here; starting one for this story.')
  process.exitCode = await playOnOwnStack()
}
