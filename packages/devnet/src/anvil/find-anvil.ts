import { accessSync, constants } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'

/** There is no `anvil` to run: neither the npm package for this platform nor one on PATH. */
export class AnvilMissing extends Error {
  override name = 'AnvilMissing'
}

/**
 * The path of the real anvil program: the one of the npm package, else the first on `pathVariable`.
 * Never the npm launcher, which would leave its child behind when killed.
 * @throws AnvilMissing with what to install
 */
export function findAnvil(pathVariable = process.env['PATH'] ?? ''): string {
  return fromPackage() ?? fromPath(pathVariable) ?? fail()
}

function fromPackage(): string | undefined {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const outer = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    return createRequire(outer).resolve(`@foundry-rs/anvil-${process.platform}-${cpu}/bin/anvil`)
  } catch {
    return undefined
  }
}

function fromPath(pathVariable: string): string | undefined {
  return pathVariable
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'anvil'))
    .find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function fail(): never {
  throw new AnvilMissing(
    `No anvil for ${process.platform}-${process.arch}: npm carries none for this platform and there is none on PATH. ` +
      'Install Foundry (https://getfoundry.sh) and run again.',
  )
}
