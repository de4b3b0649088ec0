// What `npm run setup` wants of a machine, said before npm and pnpm fail on it in their own words. Old Nodes read this file.
const { accessSync, constants, existsSync, mkdirSync } = require('node:fs')
const { homedir } = require('node:os')

/** The oldest on which npm and pnpm install the rest. */
const NODE_MIN = [20, 19]

function findFault() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
    return `Tallystick is installed with Node ${NODE_MIN.join('.')} or later, and this is ${process.versions.node}: install a newer one from https://nodejs.org, then run npm start again.`
  if (existsSync('node_modules/.bin/pnpm')) return undefined
  try {
    mkdirSync(homedir(), { recursive: true })
    accessSync(homedir(), constants.W_OK)
    return undefined
  } catch {
    return `npm keeps what it fetches in HOME, and ${homedir()} cannot be written to: name another folder, such as HOME=$PWD/.local/home npm start`
  }
}

const fault = findFault()
if (fault !== undefined) {
  console.error(fault)
  process.exit(1)
}
